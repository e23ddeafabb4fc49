#include "reply_reader.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/limits.hpp"

namespace pillion::load {

namespace {

bool is_event_stream_type(std::string_view type) noexcept {
    return base::equals_ignore_case(base::trim_ows(type.substr(0, type.find(';'))),
                                    "text/event-stream");
}

}  // namespace

reply_reader::reply_reader(base::chunk_pool& pool, std::size_t answer_bytes_max, message_sink& sink)
    : sink_(&sink),
      bytes_max_(answer_bytes_max),
      head_(pool),
      body_(pool),
      stream_(answer_bytes_max) {}

void reply_reader::begin() noexcept {
    // Given back, so that ten thousand connections hold nothing between two answers.
    base::chunk_pool::give(head_.take());
    base::chunk_pool::give(body_.take());
    scanned_ = 0;
    in_body_ = false;
    events_ = false;
    keep_alive_ = true;
    status_ = 0;
}

reply_state reply_reader::feed(char* data, std::size_t size) noexcept {
    return in_body_ ? feed_body(data, size) : feed_head(data, size);
}

reply_state reply_reader::feed_head(char* data, std::size_t size) noexcept {
    std::size_t scanned = 0;
    if (!head_.empty()) {
        // Never more than one head and one piece of input.
        scanned = scanned_;
        head_.reserve(size + limits::padding);
        head_.append({data, size});
        data = head_.data();
        size = head_.size();
    }
    while (size > 0) {
        http::response_head head;
        const http::parse_outcome outcome =
            http::parse_response_head(data, size, scanned, false, head);
        if (outcome.state == http::parse_state::failed) {
            return reply_state::malformed;
        }
        scanned_ = size;
        if (outcome.state == http::parse_state::need_more) {
            break;
        }
        data += head.bytes;
        size -= head.bytes;
        scanned = 0;
        // Another protocol, which nobody asked for (RFC 9110 §15.2.2).
        if (head.status == 101) {
            return reply_state::malformed;
        }
        // Any other 1xx: the answer is still to come.
        if (head.status >= 200) {
            if (!take_head(head)) {
                return reply_state::too_large;
            }
            return feed_body(data, size);
        }
    }
    if (head_.empty()) {
        head_.reserve(size + limits::padding);
        head_.append({data, size});
    } else if (size < head_.size()) {
        // Behind an interim head.
        base::byte_buffer rest(head_.pool());
        rest.reserve(size + limits::padding);
        rest.append({data, size});
        head_ = std::move(rest);
    }
    scanned_ = size;
    return reply_state::need_more;
}

// False when the body is announced to be too large.
bool reply_reader::take_head(http::response_head& head) {
    in_body_ = true;
    status_ = head.status;
    keep_alive_ = head.keep_alive;
    kind_ = head.body;
    left_ = head.content_length;
    chunks_ = http::chunk_decoder(bytes_max_);
    events_ = is_event_stream_type(head.get(http::header_id::content_type));
    if (events_) {
        stream_.reset();
        // Its events are bounded one by one.
        chunks_ = http::chunk_decoder(UINT64_MAX);
    }
    session_.assign(head.get(http::header_id::mcp_session_id));
    return kind_ != http::body_kind::length || events_ || left_ <= bytes_max_;
}

reply_state reply_reader::feed_body(char* data, std::size_t size) noexcept {
    switch (kind_) {
        case http::body_kind::none:
            return size > 0 ? reply_state::malformed : take(data, 0, true);
        case http::body_kind::length: {
            if (size > left_) {
                return reply_state::malformed;
            }
            left_ -= size;
            return take(data, size, left_ == 0);
        }
        case http::body_kind::chunked: {
            const http::chunk_outcome outcome = chunks_.feed(data, size, data);
            if (outcome.state == http::parse_state::failed) {
                return outcome.status == 413 ? reply_state::too_large : reply_state::malformed;
            }
            const bool last = outcome.state == http::parse_state::complete;
            if (last && outcome.consumed < size) {
                return reply_state::malformed;
            }
            return take(data, outcome.produced, last);
        }
        case http::body_kind::until_close:
            break;
    }
    return take(data, size, false);
}

reply_state reply_reader::end() noexcept {
    if (in_body_ && kind_ == http::body_kind::until_close) {
        return take(nullptr, 0, true);
    }
    return reply_state::malformed;
}

reply_state reply_reader::take(char* data, std::size_t size, bool last) noexcept {
    if (events_) {
        const reply_state state = take_events({data, size});
        return state == reply_state::need_more && last ? reply_state::complete : state;
    }
    if (last && body_.empty()) {
        sink_->on_message(data, size);
        return reply_state::complete;
    }
    if (size > bytes_max_ - body_.size()) {
        return reply_state::too_large;
    }
    if (size > 0) {
        // A known length is reserved at once.
        const std::uint64_t more = kind_ == http::body_kind::length ? left_ : 0;
        body_.reserve(size + static_cast<std::size_t>(more) + limits::padding);
        body_.append({data, size});
    }
    if (!last) {
        return reply_state::need_more;
    }
    sink_->on_message(body_.data(), body_.size());
    return reply_state::complete;
}

reply_state reply_reader::take_events(std::string_view bytes) noexcept {
    while (!bytes.empty()) {
        const http::sse_step step = stream_.feed(bytes);
        bytes.remove_prefix(step.consumed);
        if (step.state == http::sse_state::too_large) {
            return reply_state::too_large;
        }
        if (step.state != http::sse_state::event) {
            break;
        }
        const std::string& text = stream_.event().data;
        // Priming events hold an id and nothing else (2025-11-25).
        if (!text.empty()) {
            body_.clear();
            body_.reserve(text.size() + limits::padding);
            body_.append(text);
            sink_->on_message(body_.data(), body_.size());
        }
    }
    return reply_state::need_more;
}

}  // namespace pillion::load
