#include "http/head.hpp"

#include <cstring>

#include "base/assert.hpp"

namespace pillion::http {

namespace {

constexpr std::array<std::string_view, header_ids> names = {
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "content-type",
    "content-encoding",
    "accept",
    "expect",
    "origin",
    "authorization",
    "upgrade",
    "user-agent",
    "x-request-id",
    "x-api-key",
    "x-forwarded-for",
    "traceparent",
    "tracestate",
    "mcp-session-id",
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
    "last-event-id",
    "x-request-timeout-ms",
    "access-control-request-method",
    "access-control-request-headers",
};

// Compares against a name of the same, constant length: a few word compares instead of a call.
template <header_id Id>
bool is(const char* text) noexcept {
    constexpr std::string_view name = names[static_cast<std::size_t>(Id)];
    return std::memcmp(text, name.data(), name.size()) == 0;
}

template <header_id First, header_id... Rest>
header_id pick(const char* text) noexcept {
    if (is<First>(text)) {
        return First;
    }
    if constexpr (sizeof...(Rest) > 0) {
        return pick<Rest...>(text);
    } else {
        return header_id::count;
    }
}

}  // namespace

header_id find_header_id(std::string_view lower_name) noexcept {
    using enum header_id;
    const char* text = lower_name.data();
    switch (lower_name.size()) {
        case 4:
            return pick<host>(text);
        case 6:
            return pick<accept, origin, expect>(text);
        case 7:
            return pick<upgrade>(text);
        case 8:
            return pick<mcp_name>(text);
        case 9:
            return pick<x_api_key>(text);
        case 10:
            return pick<mcp_method, user_agent, connection, tracestate>(text);
        case 11:
            return pick<traceparent>(text);
        case 12:
            return pick<content_type, x_request_id>(text);
        case 13:
            return pick<authorization, last_event_id>(text);
        case 14:
            return pick<content_length, mcp_session_id>(text);
        case 15:
            return pick<x_forwarded_for>(text);
        case 16:
            return pick<content_encoding>(text);
        case 17:
            return pick<transfer_encoding>(text);
        case 20:
            return pick<mcp_protocol_version, x_request_timeout_ms>(text);
        case 29:
            return pick<access_control_request_method>(text);
        case 30:
            return pick<access_control_request_headers>(text);
        default:
            return header_id::count;
    }
}

std::string_view header_name(header_id id) noexcept {
    PILLION_ASSERT(id < header_id::count);
    return names[static_cast<std::size_t>(id)];
}

std::string_view head_fields::find(std::string_view lower_name) const noexcept {
    for (std::size_t i = 0; i < size_; ++i) {
        if (view(names_[i]) == lower_name) {
            return view(values_[i]);
        }
    }
    return {};
}

std::uint8_t head_fields::count(std::string_view lower_name) const noexcept {
    std::uint8_t found = 0;
    for (std::size_t i = 0; i < size_; ++i) {
        found = static_cast<std::uint8_t>(found + (view(names_[i]) == lower_name ? 1 : 0));
    }
    return found;
}

void head_fields::reset_fields(const char* base, std::size_t most) noexcept {
    base_ = base;
    most_ = static_cast<std::uint8_t>(most);
    size_ = 0;
    first_.fill(0);
    counts_.fill(0);
}

}  // namespace pillion::http
