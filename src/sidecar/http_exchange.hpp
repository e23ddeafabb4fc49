// http_exchange: one request of a link over HTTP and its answer: a body that is collected, or
// events that are handed on as they come. It can be asked again, which is how a broken stream goes
// on.
//
// Ownership: its link's, which may let go of it in every call; it is destroyed later.
// Thread: its loop's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "client/agent.hpp"
#include "http/sse_parser.hpp"
#include "io/reactor.hpp"
#include "io/timer_wheel.hpp"
#include "sidecar/http_message.hpp"

namespace pillion::sidecar {

class http_exchange;

class exchange_listener {
 public:
    virtual void on_head(http_exchange& of, const client::answer& head) = 0;
    virtual void on_event(http_exchange& of, const http::sse_event& event) = 0;
    // The answer is over, or there is none; `got` has no body.
    virtual void on_over(http_exchange& of, const client::answer& got) = 0;
    // The time of ask_again() has come.
    virtual void on_again(http_exchange& of) = 0;

 protected:
    ~exchange_listener() = default;
};

class http_exchange final : private client::answer_sink {
 public:
    // A message to post; a stream that is only read has none.
    http_exchange(io::reactor& loop, client::agent& agent, exchange_listener& listener,
                  std::size_t bytes_max, http_message what)
        : message(std::move(what)),
          loop_(loop),
          agent_(agent),
          listener_(listener),
          bytes_max_(bytes_max),
          events_(bytes_max) {}
    http_exchange(const http_exchange&) = delete;
    http_exchange& operator=(const http_exchange&) = delete;
    ~http_exchange();

    // REQUIRES: nothing is under way.
    void ask(client::question what);
    // Calls on_again() in a while, longer each time in a row that nothing came.
    void ask_again();
    // Ends it; its listener hears nothing any more.
    void drop() noexcept;

    bool over() const noexcept { return over_; }
    bool is_stream() const noexcept { return message.text.empty(); }
    // The answer is a stream of events.
    bool has_events() const noexcept { return has_events_; }
    const std::string& last_event_id() const noexcept { return events_.last_event_id(); }
    // How often it was asked again without a word since.
    int tries() const noexcept { return tries_; }
    const std::string& body() const noexcept { return body_; }

    http_message message;

 private:
    void on_head(const client::answer& head) override;
    void on_piece(std::string_view text) override;
    void read_events(std::string_view text);
    void give_up();

    io::reactor& loop_;
    client::agent& agent_;
    exchange_listener& listener_;
    std::size_t bytes_max_;
    http::sse_parser events_;
    std::string body_;
    std::size_t most_ = 0;      // the largest text that came
    std::uint64_t number_ = 0;  // of the agent's call; 0: none
    int tries_ = 0;
    bool has_events_ = false;
    bool over_ = false;
    io::timer timer_{[](io::timer&, void* owner) noexcept {
                         auto& me = *static_cast<http_exchange*>(owner);
                         me.listener_.on_again(me);
                     },
                     this};
};

}  // namespace pillion::sidecar
