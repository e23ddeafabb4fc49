// sse_link: HTTP+SSE of 2024-11-05 (REVISIONS §4): a stream that brings all messages, begun by GET,
// and a second connection for what is sent, to where the first event of the stream says.
//
// A connection for sending that the server has ended is made anew when it is needed; the end of the
// stream is the end of the link. Thread: its shard.
#pragma once

#include <string>

#include "http_link.hpp"
#include "link.hpp"

namespace pillion::load {

class sse_link final : public link {
 public:
    // `opening` is the request for the stream.
    sse_link(io::reactor& loop, const target& to, std::string opening, std::size_t answer_bytes_max,
             link_user& user);
    sse_link(const sse_link&) = delete;
    sse_link& operator=(const sse_link&) = delete;
    ~sse_link() override = default;

    void open() noexcept override;
    void cancel_open() noexcept override;
    bool send(std::string_view begin, std::size_t id_at, std::uint64_t id,
              std::string_view end) noexcept override;
    void close() noexcept override;
    bool keeps_sessions() const noexcept override { return false; }
    std::string_view tls_fault() const noexcept override {
        return stream_.tls_fault().empty() ? post_.tls_fault() : stream_.tls_fault();
    }
    std::string_view fault_text() const noexcept override {
        return fault_text_.empty() ? tls_fault() : fault_text_;
    }
    const std::string& session() const noexcept override { return none_; }
    const std::string& path() const noexcept override { return path_; }

 private:
    // One of the two connections.
    struct side final : link_user {
        side(sse_link& l, bool is_stream) : owner(l), stream(is_stream) {}
        void on_open(int os_errno) noexcept override { owner.opened(stream, os_errno); }
        bool on_message(char* text, std::size_t size) noexcept override {
            return stream && owner.heard(text, size);
        }
        void on_reply(const reply_end& how) noexcept override { owner.replied(stream, how); }
        void on_lost() noexcept override { owner.lost(stream); }
        void on_closed(int os_errno) noexcept override { owner.closed(stream, os_errno); }
        void on_bytes(std::size_t in, std::size_t out) noexcept override {
            owner.user_.on_bytes(in, out);
        }
        sse_link& owner;
        bool stream;
    };
    enum class state : std::uint8_t { none, opening, open, closing };

    void opened(bool stream, int os_errno) noexcept;
    bool heard(char* text, std::size_t size) noexcept;
    void replied(bool stream, const reply_end& how) noexcept;
    void lost(bool stream) noexcept;
    void closed(bool stream, int os_errno) noexcept;
    void end_reply(const reply_end& how) noexcept;
    void post() noexcept;
    void give_up(int os_errno) noexcept;
    void give_up(std::string why) noexcept;
    void close_both() noexcept;

    const target& to_;
    link_user& user_;
    std::string opening_;
    std::string path_;
    std::string none_;
    std::string fault_text_;
    side stream_user_{*this, true};
    side post_user_{*this, false};
    http_link stream_;
    http_link post_;
    state stream_is_ = state::none;
    state post_is_ = state::none;
    bool usable_ = false;   // on_open(0) was told
    bool leaving_ = false;  // on_closed(), or on_open() with failure_, is owed
    int failure_ = 0;
    bool waiting_ = false;  // for a reply: for both
    bool accepted_ = false;
    bool answered_ = false;
    // What is sent, or will be once there is a connection for it.
    bool unsent_ = false;
    std::string begin_;
    std::size_t id_at_ = 0;
    std::uint64_t id_ = 0;
    std::string_view end_;
};

}  // namespace pillion::load
