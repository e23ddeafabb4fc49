// url: where a request of ours goes: the parts of an http or https URL (RFC 3986, RFC 9110 §4.2),
// read strictly: no user information, no fragment, nothing that two programs could read in two
// ways.
//
// Thread-safety: a value; plain functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pillion::client {

struct url {
    static constexpr std::size_t bytes_max = 2048;

    bool secure = true;
    std::string host;       // a name in lower case, or an address without brackets
    std::string authority;  // as the Host field has it
    std::uint16_t port = 443;
    std::string target = "/";  // path and query

    // Scheme, host and port (RFC 6454).
    bool has_origin_of(const url& other) const noexcept {
        return secure == other.secure && host == other.host && port == other.port;
    }
    // This machine: 127.0.0.0/8, ::1 and "localhost".
    bool is_loopback() const noexcept;
    // Whether nobody between us and there can read or change what is said: https, or http that does
    // not leave this machine.
    bool is_private() const noexcept { return secure || is_loopback(); }
};

// nullopt with a fault, a constant that repeats nothing of the text.
std::optional<url> parse_url(std::string_view text, std::string& fault);

// What a reference in an answer from `base` leads to (RFC 3986 §4.2, without the resolution of "."
// and "..").
std::optional<url> resolve_url(const url& base, std::string_view reference, std::string& fault);

// Whether `text` begins as an http or https URL does, whatever follows.
bool looks_like_url(std::string_view text) noexcept;

}  // namespace pillion::client
