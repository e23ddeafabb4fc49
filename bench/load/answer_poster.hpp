// answer_poster: the way of a client's answers to requests of the server over HTTP: messages of
// their own (2025-11-25, "Sending Messages to the Server"), on a connection beside the one whose
// reply is waited for. Made when there is something to answer, kept for the next time.
//
// What becomes of an answer is the server's business and no part of what is measured: one that
// cannot be sent is dropped. Thread: its shard; allocates.
#pragma once

#include <cstddef>
#include <deque>
#include <string>

#include "http_link.hpp"

namespace pillion::load {

class answer_poster final : private link_user {
 public:
    // `user` hears of the bytes.
    answer_poster(io::reactor& loop, const target& to, std::size_t answer_bytes_max,
                  link_user& user)
        : user_(user), link_(loop, to, answer_bytes_max, *this) {}
    answer_poster(const answer_poster&) = delete;
    answer_poster& operator=(const answer_poster&) = delete;
    // REQUIRES: is_gone(), or post() was never called.
    ~answer_poster() = default;

    // Sends this HTTP request behind those before it; a server that asks for more than it takes
    // answers to is left without.
    void post(std::string request) noexcept;
    // Ends the connection, for good; a second time: soon.
    void leave() noexcept;
    bool is_gone() const noexcept { return is_ == state::none && leaving_; }

    static constexpr std::size_t waiting_max = 16;

 private:
    enum class state : std::uint8_t { none, opening, open, closing };

    void on_open(int os_errno) noexcept override;
    bool on_message(char*, std::size_t) noexcept override { return false; }
    void on_reply(const reply_end& how) noexcept override;
    void on_lost() noexcept override;
    void on_closed(int os_errno) noexcept override;
    void on_bytes(std::size_t in, std::size_t out) noexcept override { user_.on_bytes(in, out); }
    void go_on() noexcept;
    void close() noexcept;

    link_user& user_;
    http_link link_;
    state is_ = state::none;
    bool leaving_ = false;
    bool sent_ = false;    // the first of those that wait
    bool served_ = false;  // this connection has taken one
    std::deque<std::string> waiting_;
};

}  // namespace pillion::load
