#include "http/authority.hpp"

#include <array>

#include "base/ascii.hpp"

namespace pillion::http {

namespace {

constexpr std::array<bool, 256> host_chars = [] {
    std::array<bool, 256> table{};
    for (std::size_t i = 0; i < 128; ++i) {
        const char c = static_cast<char>(i);
        table[i] = base::is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
    }
    return table;
}();

// The length of the host at the front of `text`; 0 when there is no valid one.
std::size_t host_length(std::string_view text) noexcept {
    if (text.empty()) {
        return 0;
    }
    std::size_t at = 0;
    if (text.front() != '[') {
        while (at < text.size() && host_chars[static_cast<unsigned char>(text[at])]) {
            ++at;
        }
        return at;
    }
    bool colon = false;
    for (at = 1; at < text.size() && text[at] != ']'; ++at) {
        colon = colon || text[at] == ':';
        if (base::hex_digit(text[at]) < 0 && text[at] != ':' && text[at] != '.') {
            return 0;
        }
    }
    return colon && at < text.size() ? at + 1 : 0;
}

}  // namespace

bool parse_authority(std::string_view text, authority& out) noexcept {
    const std::size_t length = host_length(text);
    if (length == 0) {
        return false;
    }
    out = authority{};
    out.host = text.substr(0, length);
    if (length == text.size()) {
        return true;
    }
    if (text[length] != ':') {
        return false;
    }
    const std::string_view digits = text.substr(length + 1);
    if (digits.empty()) {
        return true;
    }
    std::uint64_t port = 0;
    if (digits.size() > 5 || !base::parse_decimal(digits, port) || port > UINT16_MAX) {
        return false;
    }
    out.port = static_cast<std::uint16_t>(port);
    out.has_port = true;
    return true;
}

}  // namespace pillion::http
