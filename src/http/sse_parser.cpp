#include "http/sse_parser.hpp"

#include "base/ascii.hpp"

namespace pillion::http {

void sse_parser::reset() noexcept {
    last_id_.clear();
    retry_ms_.reset();
    go_on();
}

void sse_parser::go_on() noexcept {
    for (std::string* const text : {&line_, &data_, &type_}) {
        text->clear();
    }
    id_ = last_id_;
    first_line_ = true;
    skip_lf_ = false;
}

void sse_parser::release() noexcept {
    std::string().swap(event_.data);
    for (std::string* const text : {&line_, &data_}) {
        if (text->empty()) {  // else the next one has begun
            std::string().swap(*text);
        }
    }
}

void sse_parser::take_field(std::string_view name, std::string_view value) {
    if (name == "data") {
        data_.append(value);
        data_.push_back('\n');
    } else if (name == "event") {
        type_.assign(value);
    } else if (name == "id") {
        if (value.find('\0') == std::string_view::npos) {
            id_.assign(value);
        }
    } else if (name == "retry") {
        std::uint64_t ms = 0;
        if (base::parse_decimal(value, ms)) {
            retry_ms_ = ms;
        }
    }
}

bool sse_parser::dispatch() {
    last_id_ = id_;
    if (data_.empty()) {  // a block without any data line is no event
        type_.clear();
        return false;
    }
    data_.pop_back();  // the LF behind its last line
    event_.id = last_id_;
    event_.type = type_.empty() ? "message" : type_;
    event_.data.swap(data_);
    data_.clear();
    type_.clear();
    return true;
}

bool sse_parser::take_line(std::string_view line) {
    if (first_line_) {
        first_line_ = false;
        if (line.starts_with("\xEF\xBB\xBF")) {
            line.remove_prefix(3);
        }
    }
    if (line.empty()) {
        return dispatch();
    }
    const std::size_t colon = line.find(':');
    if (colon == 0) {
        return false;  // a comment
    }
    if (colon == std::string_view::npos) {
        take_field(line, {});
        return false;
    }
    std::string_view value = line.substr(colon + 1);
    if (value.starts_with(' ')) {  // one space only
        value.remove_prefix(1);
    }
    take_field(line.substr(0, colon), value);
    return false;
}

sse_step sse_parser::feed(std::string_view bytes) {
    std::size_t at = 0;
    while (at < bytes.size()) {
        if (skip_lf_) {
            skip_lf_ = false;
            if (bytes[at] == '\n') {
                ++at;
                continue;
            }
        }
        const std::size_t end = bytes.find_first_of("\r\n", at);
        const std::string_view piece = bytes.substr(at, end - at);
        if (line_.size() + piece.size() + data_.size() > event_bytes_max_) {
            return {sse_state::too_large, at};
        }
        line_.append(piece);
        if (end == std::string_view::npos) {
            return {sse_state::need_more, bytes.size()};
        }
        skip_lf_ = bytes[end] == '\r';
        at = end + 1;
        const bool dispatched = take_line(line_);
        line_.clear();
        if (dispatched) {
            return {sse_state::event, at};
        }
    }
    return {sse_state::need_more, bytes.size()};
}

}  // namespace pillion::http
