// call: one request of an agent: look the host up, connect to one of its addresses after the other,
// speak TLS, ask, read the answer. Owned by its agent; deletes itself when nothing of it is in
// flight any more. Thread: its loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/intrusive_list.hpp"
#include "client/agent.hpp"
#include "client/answer_reader.hpp"
#include "client/lookup.hpp"
#include "io/op.hpp"
#include "io/tcp_stream.hpp"
#include "io/timer_wheel.hpp"
#include "tls/tls_stream.hpp"

namespace pillion::client {

class call final : public base::list_hook<>,
                   private io::stream_reader,
                   private tls::handshake_listener {
 public:
    call(agent& of, question what, agent::receiver then);
    call(const call&) = delete;
    call& operator=(const call&) = delete;

    // `may`: false ends it at once, since there are too many.
    void start(bool may);
    // Ends it; nobody hears.
    void abandon() noexcept;

 private:
    // What is in flight.
    enum class stage : std::uint8_t { waiting, looking_up, connecting, talking, over };
    struct findings;
    struct connect_op : io::transfer_op {
        explicit connect_op(call& c) noexcept : transfer_op(&call::on_connect), owner(&c) {}
        call* owner;
    };

    ~call() = default;
    void on_data(char* data, std::size_t bytes) noexcept override;
    void on_eof() noexcept override;
    void on_drained() noexcept override {}
    void on_closed(int os_errno) noexcept override;
    void on_handshake(bool resumed) noexcept override;
    static void on_connect(io::op& self, const io::completion& what) noexcept;
    static void on_timer(io::timer& self, void* owner) noexcept;
    static void on_attempt(io::timer& self, void* owner) noexcept;

    void look_up();
    void found(findings& what);
    void connect_next() noexcept;
    void connected(std::int32_t res) noexcept;
    void fail_soon(std::string_view fault) noexcept;
    void open_stream(int fd);
    void send_request();
    void take(answer_reader::state how);
    void finish(std::string_view fault);
    void end() noexcept;

    agent& agent_;
    question what_;
    agent::receiver then_;  // empty once it has heard, or must not
    answer_reader reader_;
    address_list addresses_;
    std::size_t next_address_ = 0;
    std::shared_ptr<tls::client_context> context_;
    int fd_ = -1;  // while connecting
    connect_op connect_{*this};
    std::optional<io::tcp_stream> plain_;
    std::optional<tls::tls_stream> secure_;
    io::stream* stream_ = nullptr;  // one of the two
    io::timer timer_{&call::on_timer, this};
    io::timer attempt_{&call::on_attempt, this};
    std::string_view pending_;  // what the timer will say
    stage stage_ = stage::waiting;
    bool shaking_ = false;  // a TLS handshake is under way
};

}  // namespace pillion::client
