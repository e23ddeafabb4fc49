// connection: one connection of an agent to a server, over TLS where it is asked for. It carries
// one request after the other; between two it rests with the agent, for a short while. Owned by its
// agent; deletes itself when nothing of it is in flight any more. Thread: its loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/intrusive_list.hpp"
#include "client/agent.hpp"
#include "io/tcp_stream.hpp"
#include "io/timer_wheel.hpp"
#include "tls/tls_stream.hpp"

namespace pillion::client {

// Who has a request on it. May let it go in every call.
class connection_user {
 public:
    // The handshake is over: it takes requests.
    virtual void on_ready() noexcept = 0;
    virtual void on_data(char* data, std::size_t bytes) noexcept = 0;
    virtual void on_eof() noexcept = 0;
    // It has gone; the last call. `fault`: a constant.
    virtual void on_lost(std::string_view fault) noexcept = 0;

 protected:
    ~connection_user() = default;
};

class connection final : public base::list_hook<>,
                         private io::stream_reader,
                         private tls::handshake_listener {
 public:
    // Takes a connected socket, which leads to where `what` goes. `with`: null for plain HTTP.
    connection(agent& of, int fd, const question& what, std::shared_ptr<tls::client_context> with,
               connection_user& user);
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;

    // Once. True: it is ready; else on_ready() will say so.
    bool start();
    // Whether a request may go over it.
    bool leads_to(const question& what) const noexcept;
    void write(base::chunk* bytes) noexcept { stream_->write(bytes); }

    // The user has its answer: the next one may have it for `rest_ms`. No more than the agent
    // keeps: it is closed otherwise.
    void rest(std::int64_t rest_ms) noexcept;
    // The agent has a new user for it.
    void wake(connection_user& user) noexcept;
    // Whether it, which rests, may carry a request: one that may be repeated can meet the server's
    // end of it and does no harm; another needs one that has just been in use and that the server
    // keeps, which it has shown by a second answer or by not closing it at once.
    bool takes(bool repeatable, std::int64_t now_ns) const noexcept;
    // The user has done with it, or nobody wants it.
    void close() noexcept;
    // Ends one that is closing at once.
    void cut() noexcept;
    // Closed, and its last bytes are on their way.
    bool parting() const noexcept { return parting_; }

 private:
    ~connection();
    void on_data(char* data, std::size_t bytes) noexcept override;
    void on_eof() noexcept override;
    void on_drained() noexcept override {}
    void on_closed(int os_errno) noexcept override;
    void on_handshake(bool resumed) noexcept override;
    static void on_timer(io::timer& self, void* owner) noexcept;

    agent& agent_;
    connection_user* user_;  // null while it rests, and when it closes
    const std::string authority_;
    const std::string socket_;
    std::shared_ptr<tls::client_context> context_;
    std::optional<io::tcp_stream> plain_;
    std::optional<tls::tls_stream> secure_;
    io::stream* stream_ = nullptr;  // one of the two
    io::timer timer_{&connection::on_timer, this};
    std::int64_t rests_since_ns_ = 0;
    std::size_t answers_ = 0;  // it has carried
    bool shaking_ = false;     // a TLS handshake is under way
    bool parting_ = false;
};

}  // namespace pillion::client
