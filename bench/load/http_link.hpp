// http_link: requests over one HTTP/1 connection: TCP, TLS over TCP, or unix.
//
// Steady state: no heap, one send for each request. Thread: its shard.
#pragma once

#include <optional>

#include "io/reactor.hpp"
#include "io/tcp_stream.hpp"
#include "link.hpp"
#include "target.hpp"
#include "tls/tls_stream.hpp"

namespace pillion::load {

class http_link final : public link,
                        private io::stream_reader,
                        private message_sink,
                        private tls::handshake_listener {
 public:
    http_link(io::reactor& loop, const target& to, std::size_t answer_bytes_max, link_user& user);
    http_link(const http_link&) = delete;
    http_link& operator=(const http_link&) = delete;
    ~http_link() override = default;

    void open() noexcept override;
    void cancel_open() noexcept override;
    bool send(std::string_view begin, std::size_t id_at, std::uint64_t id,
              std::string_view end) noexcept override;
    void close() noexcept override;
    std::uint16_t status() const noexcept override { return reader_.status(); }
    const std::string& session() const noexcept override { return reader_.session(); }
    const std::string& path() const noexcept override { return to_.path; }
    bool resumed() const noexcept override { return resumed_; }
    bool can_resume() const noexcept override;
    std::string_view tls_fault() const noexcept override { return tls_fault_; }
    // Of the message that is told: empty when it is no event of a stream.
    std::string_view event_type() const noexcept { return reader_.event_type(); }
    // Whether that is a message of MCP. Events of other types are a server's own affair.
    bool is_message() const noexcept { return event_type().empty() || event_type() == "message"; }
    // Events of other types are told as well, and what comes is no answer to what was sent.
    void tell_all_events() noexcept { all_events_ = true; }

 private:
    void on_data(char* data, std::size_t bytes) noexcept override;
    void on_eof() noexcept override;
    void on_drained() noexcept override {}
    void on_closed(int os_errno) noexcept override;
    void on_message(char* text, std::size_t size) noexcept override;
    void on_handshake(bool resumed) noexcept override;

    static void on_connect(io::op& self, const io::completion& what) noexcept;
    void connected(std::int32_t res) noexcept;
    void replied(reply_state how) noexcept;

    struct connect_op : io::transfer_op {
        explicit connect_op(http_link& l) noexcept
            : transfer_op(&http_link::on_connect), owner(&l) {}
        http_link* owner;
    };

    io::reactor& loop_;
    const target& to_;
    link_user& user_;
    int fd_ = -1;            // while connecting
    bool waiting_ = false;   // for a reply
    bool answered_ = false;  // … which holds the answer
    bool closing_ = false;   // perhaps with a goodbye on its way
    bool shaking_ = false;   // hands, at the begin of TLS: on_open() is owed
    int shaking_fault_ = 0;  // … and what it will say
    bool all_events_ = false;
    bool resumed_ = false;  // those hands were known
    std::string tls_fault_;
    connect_op connect_{*this};
    std::optional<io::tcp_stream> plain_;
    std::optional<tls::tls_stream> secure_;
    io::stream* stream_ = nullptr;  // one of the two
    reply_reader reader_;
};

}  // namespace pillion::load
