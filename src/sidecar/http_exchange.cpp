#include "sidecar/http_exchange.hpp"

#include <utility>

#include "base/assert.hpp"
#include "sidecar/large_text.hpp"

namespace pillion::sidecar {

namespace {

// Where the server does not say how long to wait (WHATWG HTML §9.2.3), and the most it may say.
constexpr std::int64_t wait_ms = 1000;
constexpr std::int64_t wait_ms_max = 60'000;

bool is_event_stream(std::string_view type) {
    constexpr std::string_view name = "text/event-stream";
    return type.size() >= name.size() &&
           std::equal(name.begin(), name.end(), type.begin(), [](char a, char b) {
               return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b + 32) : b);
           });
}

}  // namespace

http_exchange::~http_exchange() {
    most_ = std::max(most_, message.text.size());
    for (std::string* const text : {&body_, &message.text}) {
        std::string().swap(*text);
    }
    events_.reset();
    events_.release();
    freed(most_);
}

void http_exchange::ask(client::question what) {
    PILLION_ASSERT(number_ == 0 && !over_);
    has_events_ = false;
    body_.clear();
    events_.go_on();
    what.sink = this;
    number_ = agent_.ask(std::move(what), [this](client::answer got) {
        number_ = 0;
        listener_.on_over(*this, got);
    });
}

void http_exchange::ask_again() {
    const std::int64_t said_ms = static_cast<std::int64_t>(
        std::min<std::uint64_t>(events_.retry_ms().value_or(0), wait_ms_max));
    const std::int64_t base_ms = said_ms > 0 ? said_ms : wait_ms;
    loop_.arm_in_ms(timer_, std::min(base_ms << std::min(tries_, 6), wait_ms_max));
    ++tries_;
}

void http_exchange::drop() noexcept {
    over_ = true;
    timer_.cancel();
    if (number_ != 0) {
        agent_.cancel(std::exchange(number_, 0));
    }
}

void http_exchange::on_head(const client::answer& head) {
    has_events_ = head.status / 100 == 2 && is_event_stream(head.content_type);
    listener_.on_head(*this, head);
}

void http_exchange::on_piece(std::string_view text) {
    if (has_events_) {
        tries_ = 0;  // comments are signs of life, too (WHATWG HTML §9.2.7)
        return read_events(text);
    }
    if (text.size() > bytes_max_ - body_.size()) {
        return give_up();
    }
    body_.append(text);
    most_ = std::max(most_, body_.size());
}

void http_exchange::read_events(std::string_view text) {
    while (!over_) {
        const http::sse_step step = events_.feed(text);
        if (step.state == http::sse_state::too_large) {
            return give_up();
        }
        if (step.state == http::sse_state::need_more) {
            return;
        }
        text.remove_prefix(step.consumed);
        const std::size_t bytes = events_.event().data.size();
        most_ = std::max(most_, bytes);
        listener_.on_event(*this, events_.event());
        if (bytes > kept_text_bytes) {  // the stream may go on for long
            events_.release();
            freed(bytes);
        }
    }
}

void http_exchange::give_up() {
    most_ = bytes_max_;
    agent_.cancel(std::exchange(number_, 0));
    client::answer got;
    got.fault = client::agent::too_large;
    listener_.on_over(*this, got);
}

}  // namespace pillion::sidecar
