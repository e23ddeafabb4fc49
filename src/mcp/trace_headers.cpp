#include "mcp/trace_headers.hpp"

#include <algorithm>

namespace pillion::mcp {

namespace {

using http::header_id;

constexpr std::size_t traceparent_bytes = 55;

bool is_lower_hex(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_id(std::string_view text) noexcept {
    return is_lower_hex(text) && text.find_first_not_of('0') != text.npos;
}

bool is_key_char(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '*' ||
           c == '/';
}

// A name, or tenant "@" system (§3.3.1.3.1); Level 2 lets both begin with a digit.
bool is_key(std::string_view key) noexcept {
    const std::size_t at = key.find('@');
    const auto part = [](std::string_view text, std::size_t most) {
        return !text.empty() && text.size() <= most &&
               std::all_of(text.begin(), text.end(), is_key_char) && text.front() != '_' &&
               text.front() != '-' && text.front() != '*' && text.front() != '/';
    };
    return at == key.npos ? part(key, 256)
                          : part(key.substr(0, at), 241) && part(key.substr(at + 1), 14);
}

bool is_value(std::string_view value) noexcept {
    return !value.empty() && value.size() <= 256 && value.back() != ' ' &&
           std::all_of(value.begin(), value.end(),
                       [](char c) { return c >= ' ' && c <= '~' && c != ',' && c != '='; });
}

std::string_view trimmed(std::string_view text) noexcept {
    constexpr std::string_view blanks = " \t";
    const std::size_t begin = text.find_first_not_of(blanks);
    return begin == text.npos ? std::string_view{}
                              : text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

// Several fields of that name are one list (§3.3.1.1).
std::string_view joined_tracestate(request& r) noexcept {
    const http::request_head& head = *r.head;
    if (head.count(header_id::tracestate) < 2) {
        return r.memory.dup(head.get(header_id::tracestate));
    }
    base::byte_buffer all(r.memory.pool());
    for (const http::header field : head.headers()) {
        if (field.name == http::header_name(header_id::tracestate)) {
            all.append(all.empty() ? "" : ",");
            all.append(field.value);
        }
    }
    return r.memory.dup(all.view());
}

}  // namespace

bool is_valid_traceparent(std::string_view text) noexcept {
    if (text.size() < traceparent_bytes || text[2] != '-' || text[35] != '-' || text[52] != '-') {
        return false;
    }
    const std::string_view version = text.substr(0, 2);
    const std::string_view more = text.substr(traceparent_bytes);
    // In `_meta` it is any text, and it goes on as a field.
    constexpr std::size_t more_max = 256;
    const bool fits =
        more.empty() ||
        (version != "00" && more.front() == '-' && more.size() <= more_max &&
         std::all_of(more.begin(), more.end(), [](char c) { return c > ' ' && c <= '~'; }));
    return fits && is_lower_hex(version) && version != "ff" && is_id(text.substr(3, 32)) &&
           is_id(text.substr(36, 16)) && is_lower_hex(text.substr(53, 2));
}

bool is_valid_tracestate(std::string_view text) noexcept {
    constexpr std::size_t members_max = 32;
    std::size_t members = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(','), text.size());
        const std::string_view member = trimmed(text.substr(0, end));
        text.remove_prefix(end < text.size() ? end + 1 : end);
        if (member.empty()) {
            continue;
        }
        const std::size_t equals = member.find('=');
        if (++members > members_max || equals == member.npos || !is_key(member.substr(0, equals)) ||
            !is_value(member.substr(equals + 1))) {
            return false;
        }
    }
    return members > 0;
}

trace_context read_trace(request& r) noexcept {
    trace_context trace;
    const json::view in_meta = r.meta.traceparent;
    if (in_meta.is_string() && is_valid_traceparent(in_meta.str())) {
        trace.traceparent = in_meta.str();
        trace.tracestate = r.meta.tracestate.str();
    } else if (r.head != nullptr && r.head->count(header_id::traceparent) == 1 &&
               is_valid_traceparent(r.head->get(header_id::traceparent))) {
        // The head dies before the request does.
        trace.traceparent = r.memory.dup(r.head->get(header_id::traceparent));
        if (r.head->has(header_id::tracestate)) {
            trace.tracestate = joined_tracestate(r);
        }
    }
    if (!is_valid_tracestate(trace.tracestate)) {
        trace.tracestate = {};
    }
    return trace;
}

}  // namespace pillion::mcp
