#include "client/answer_reader.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/limits.hpp"

namespace pillion::client {

namespace {

// Nobody needs more; each is bounded by itself.
constexpr std::size_t interim_heads_max = 8;

// A number of at most six digits; -1: it is none.
std::int64_t seconds_of(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    return whole && text.size() <= 6 && value >= 0 ? value : -1;
}

// "timeout=5, max=100", in any order.
std::int64_t kept_of(std::string_view field) {
    constexpr std::string_view name = "timeout=";
    const std::size_t at = field.find(name);
    if (at == field.npos) {
        return -1;
    }
    const std::string_view rest = field.substr(at + name.size());
    return seconds_of(rest.substr(0, rest.find_first_of(", ;")));
}

}  // namespace

answer_reader::state answer_reader::feed(char* data, std::size_t size) {
    if (in_body_) {
        return feed_body(data, size);
    }
    // The parser refuses a head that is too large, so never more than one and a piece of input.
    head_.reserve(size + limits::padding);
    head_.append({data, size});
    return feed_head();
}

answer_reader::state answer_reader::feed_head() {
    for (;;) {
        http::response_head head;
        const http::parse_outcome outcome =
            http::parse_response_head(head_.data(), head_.size(), scanned_, to_head_, head);
        if (outcome.state == http::parse_state::failed) {
            return state::malformed;
        }
        scanned_ = head_.size();
        if (outcome.state == http::parse_state::need_more) {
            return state::need_more;
        }
        if (head.status >= 200) {
            return take_head(head);
        }
        // Another protocol, which nobody asked for (RFC 9110 §15.2.2).
        if (head.status == 101 || ++interim_ > interim_heads_max) {
            return state::malformed;
        }
        base::byte_buffer rest(head_.pool());
        rest.reserve(head_.size() + limits::padding);
        rest.append(head_.view().substr(head.bytes));
        head_ = std::move(rest);
        scanned_ = 0;
        if (head_.empty()) {
            return state::need_more;
        }
    }
}

answer_reader::state answer_reader::take_head(const http::response_head& head) {
    in_body_ = true;
    status_ = head.status;
    kind_ = head.body;
    left_ = head.content_length;
    content_type_ = head.find("content-type");
    keep_alive_ = head.keep_alive;
    retry_after_s_ = std::clamp<std::int64_t>(seconds_of(head.find("retry-after")), 0, 86'400);
    kept_s_ = kept_of(head.find("keep-alive"));
    if (!wanted_.empty()) {
        field_ = head.find(wanted_);
    }
    if (kind_ == http::body_kind::length && left_ > bytes_max_) {
        return state::too_large;
    }
    return feed_body(head_.data() + head.bytes, head_.size() - head.bytes);
}

answer_reader::state answer_reader::feed_body(char* data, std::size_t size) {
    switch (kind_) {
        case http::body_kind::none:
            return size > 0 ? state::malformed : state::complete;
        case http::body_kind::length:
            if (size > left_) {
                return state::malformed;
            }
            left_ -= size;
            return take(data, size, left_ == 0);
        case http::body_kind::chunked: {
            const http::chunk_outcome outcome = chunks_.feed(data, size, data);
            if (outcome.state == http::parse_state::failed) {
                return outcome.status == 413 ? state::too_large : state::malformed;
            }
            const bool last = outcome.state == http::parse_state::complete;
            if (last && outcome.consumed < size) {
                return state::malformed;
            }
            return take(data, outcome.produced, last);
        }
        case http::body_kind::until_close:
            break;
    }
    return take(data, size, false);
}

answer_reader::state answer_reader::take(const char* data, std::size_t size, bool last) {
    if (size > bytes_max_ - body_.size()) {
        return state::too_large;
    }
    body_.append(data, size);
    return last ? state::complete : state::need_more;
}

answer_reader::state answer_reader::end() const noexcept {
    return in_body_ && kind_ == http::body_kind::until_close ? state::complete : state::malformed;
}

}  // namespace pillion::client
