// host[:port] as it stands in Host fields, request targets and origins (RFC 3986 §3.2).
//
// Pure functions; the views point into the argument. Any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace pillion::http {

// An authority taken apart. An IPv6 literal keeps its brackets: "[::1]".
struct authority {
    std::string_view host;
    std::uint16_t port = 0;
    bool has_port = false;  // false also for "host:", which RFC 3986 §6.2.3 calls equal to "host"
};

// Splits `text` into `out`. False for anything that is no plain host with an optional port up to
// 65535: user information, an empty host (RFC 9110 §4.2.1 has us refuse it), bytes outside
// letters, digits and "-._~", an IPv6 literal with other bytes than hex digits, ':' and '.'.
// RFC 3986 would let a name hold '%' and sub-delimiters; no host name does, and ',' or ';' in a
// Host are read differently by different proxies.
bool parse_authority(std::string_view text, authority& out) noexcept;

}  // namespace pillion::http
