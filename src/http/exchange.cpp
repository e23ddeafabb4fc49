#include "http/exchange.hpp"

#include <utility>

#include "http/connection.hpp"
#include "http/server.hpp"

namespace pillion::http {

const request_head& exchange::head() const noexcept { return *owner_.head_; }

std::string_view exchange::body() const noexcept { return owner_.body_view(); }

base::chunk* exchange::take_body() noexcept { return owner_.take_body(); }

std::string_view exchange::peer() const noexcept { return owner_.stream_->peer(); }

std::string_view exchange::peer_address() const noexcept { return owner_.stream_->peer_address(); }

std::string_view exchange::peer_principal() const noexcept {
    return owner_.stream_->peer_principal();
}

std::string_view exchange::request_id() const noexcept { return owner_.request_id(); }

io::reactor& exchange::loop() noexcept { return owner_.server_.loop(); }

void* exchange::tag() const noexcept { return owner_.tag_; }

void exchange::set_tag(void* tag, void (*free_tag)(void*) noexcept) noexcept {
    if (owner_.free_tag_ != nullptr) {
        owner_.free_tag_(owner_.tag_);
    }
    owner_.tag_ = tag;
    owner_.free_tag_ = free_tag;
}

void exchange::listen(exchange_listener* listener) noexcept {
    owner_.listener_ = listener;
    if (owner_.eof_ && !owner_.eof_told_) {
        // It missed the news; the coroutine tells it.
        owner_.wake();
    }
}

void exchange::respond(std::uint16_t status, std::string_view content_type, base::byte_buffer body,
                       const extra_header* extra, std::size_t extra_count) noexcept {
    owner_.respond(status, content_type, std::move(body), extra, extra_count);
}

void exchange::respond(std::uint16_t status, std::string_view content_type, base::byte_buffer body,
                       base::chunk& rest, const extra_header* extra,
                       std::size_t extra_count) noexcept {
    owner_.respond(status, content_type, std::move(body), extra, extra_count, &rest);
}

void exchange::respond_empty(std::uint16_t status, const extra_header* extra,
                             std::size_t extra_count) noexcept {
    base::byte_buffer body(owner_.server_.loop().chunks(), head_gap);
    owner_.respond(status, {}, std::move(body), extra, extra_count);
}

void exchange::begin_sse(const extra_header* extra, std::size_t extra_count) noexcept {
    owner_.begin_sse(extra, extra_count);
}

bool exchange::streaming() const noexcept { return owner_.streaming_; }

bool exchange::send_named_event(std::string_view event, std::string_view data) noexcept {
    return owner_.send_named_event(event, data);
}

bool exchange::send_event(base::byte_buffer data, std::string_view id,
                          std::int64_t retry_ms) noexcept {
    return owner_.send_event(std::move(data), id, retry_ms);
}

void exchange::end_sse() noexcept { owner_.end_sse(); }

void exchange::abort() noexcept { owner_.abort(); }

void exchange::abandon() noexcept { owner_.abandon(); }

void exchange::close_after() noexcept { owner_.close_ = true; }

void exchange::admit_again() const noexcept { owner_.admit_again(); }

bool exchange::open() const noexcept { return owner_.open_; }

}  // namespace pillion::http
