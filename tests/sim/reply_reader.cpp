#include "sim/reply_reader.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace pillion::sim {

namespace {

constexpr std::string_view line_end = "\r\n";

bool read_number(std::string_view text, std::size_t& to, int base) {
    const auto got = std::from_chars(text.data(), text.data() + text.size(), to, base);
    return got.ec == std::errc{} && got.ptr == text.data() + text.size();
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

}  // namespace

bool reply_reader::feed(std::string_view bytes) {
    rest_.append(bytes);
    while (fault_ == nullptr && step()) {
    }
    return fault_ == nullptr;
}

bool reply_reader::finish() {
    if (state_ == state::to_end) {
        return end_reply();
    }
    return idle();
}

// True when it got further.
bool reply_reader::step() {
    switch (state_) {
        case state::head: {
            const std::size_t end = rest_.find("\r\n\r\n");
            if (end == rest_.npos) {
                return false;
            }
            const std::string text = rest_.substr(0, end + 2);
            rest_.erase(0, end + 4);
            return read_head(text) && begin_body();
        }
        case state::sized:
        case state::chunk: {
            const std::size_t bytes = std::min(left_, rest_.size());
            take_body(std::string_view(rest_).substr(0, bytes));
            rest_.erase(0, bytes);
            left_ -= bytes;
            if (left_ > 0) {
                return false;
            }
            if (state_ == state::sized) {
                return end_reply();
            }
            state_ = state::chunk_end;
            return true;
        }
        case state::chunk_size:
            return read_chunk_size();
        case state::chunk_end:
        case state::last: {
            if (rest_.size() < line_end.size()) {
                return false;
            }
            if (!rest_.starts_with(line_end)) {
                return bad("a chunk does not end where it should");
            }
            rest_.erase(0, line_end.size());
            if (state_ == state::last) {
                return end_reply();
            }
            state_ = state::chunk_size;
            return true;
        }
        case state::to_end:
            take_body(rest_);
            rest_.clear();
            return false;
    }
    return false;
}

bool reply_reader::read_head(std::string_view text) {
    std::size_t status = 0;
    if (!text.starts_with("HTTP/1.1 ") || !read_number(text.substr(9, 3), status, 10)) {
        return bad("no status line");
    }
    head_ = {};
    head_.status = static_cast<int>(status);
    text.remove_prefix(text.find(line_end) + 2);
    while (!text.empty()) {
        const std::size_t end = text.find(line_end);
        const std::size_t colon = text.find(": ");
        if (end == text.npos || colon == text.npos || colon > end) {
            return bad("a header line without a colon");
        }
        std::string name(text.substr(0, colon));
        std::transform(name.begin(), name.end(), name.begin(), lower);
        if (!head_.fields.emplace(name, text.substr(colon + 2, end - colon - 2)).second) {
            return bad("a header twice");
        }
        text.remove_prefix(end + 2);
    }
    return true;
}

bool reply_reader::begin_body() {
    if (head_.status == 100) {
        return true;
    }
    to_.on_head(head_);
    const std::string_view sized = head_.get("content-length");
    if (!sized.empty()) {
        if (!read_number(sized, left_, 10)) {
            return bad("Content-Length is no number");
        }
        state_ = state::sized;
    } else if (head_.get("transfer-encoding") == "chunked") {
        state_ = state::chunk_size;
    } else if (head_.status == 202 || head_.status == 204) {
        return end_reply();
    } else {
        state_ = state::to_end;
    }
    return true;
}

bool reply_reader::read_chunk_size() {
    const std::size_t end = rest_.find(line_end);
    if (end == rest_.npos) {
        return false;
    }
    if (!read_number(std::string_view(rest_).substr(0, end), left_, 16)) {
        return bad("the size of a chunk is no number");
    }
    rest_.erase(0, end + 2);
    state_ = left_ == 0 ? state::last : state::chunk;
    return true;
}

void reply_reader::take_body(std::string_view bytes) {
    if (!head_.streamed()) {
        body_.append(bytes);
        return;
    }
    for (const char c : bytes) {
        if (c != '\n') {
            line_ += c;
            continue;
        }
        take_line(line_);
        line_.clear();
    }
}

void reply_reader::take_line(std::string_view line) {
    if (line.empty()) {
        to_.on_event(std::exchange(event_, {}));
        return;
    }
    const std::size_t colon = line.find(':');
    std::string_view value = colon == line.npos ? std::string_view() : line.substr(colon + 1);
    if (value.starts_with(" ")) {
        value.remove_prefix(1);
    }
    const std::string_view name = line.substr(0, colon);
    if (name == "data") {
        event_.data.append(event_.has_data ? "\n" : "").append(value);
        event_.has_data = true;
    } else if (name == "id") {
        event_.id = value;
    } else if (name == "event") {
        event_.name = value;
    } else if (!name.empty() && name != "retry") {
        bad("an unknown field in an event");
    }
}

bool reply_reader::end_reply() {
    state_ = state::head;
    if (!line_.empty() || event_.has_data) {
        return bad("a stream ended within an event");
    }
    event_ = {};
    to_.on_end(head_, std::exchange(body_, {}));
    return true;
}

}  // namespace pillion::sim
