// URIs and IRIs (RFC 3986, RFC 3987) and URI templates (RFC 6570).
#include <algorithm>

#include "base/ascii.hpp"
#include "schema/code_set.hpp"
#include "schema/format_checks.hpp"

namespace pillion::schema_check::formats {

namespace {

enum class alphabet : std::uint8_t { uri, iri };

// ucschar of RFC 3987 §2.2; private use only in queries.
bool is_ucschar(std::uint32_t c, bool in_query) noexcept {
    if (c < 0xA0 || (c >= 0xD800 && c < 0xF900) || (c >= 0xFDD0 && c < 0xFDF0) ||
        (c & 0xFFFE) == 0xFFFE || (c >= 0xFFF0 && c < 0x10000)) {
        return in_query && c >= 0xE000 && c < 0xF900;
    }
    return c < 0xE1000 ? c < 0xE0000 : c < 0xF0000 || (in_query && c < 0x10FFFE);
}

bool is_escape(std::string_view text, std::size_t at) noexcept {
    return text.size() - at > 2 && base::hex_digit(text[at + 1]) >= 0 &&
           base::hex_digit(text[at + 2]) >= 0;
}

// unreserved, sub-delims, percent escapes and what `more` lists.
bool is_made_of(std::string_view text, std::string_view more, alphabet of,
                bool in_query = false) noexcept {
    constexpr std::string_view always = "-._~!$&'()*+,;=";
    for (std::size_t at = 0; at < text.size();) {
        const char c = text[at];
        if (c == '%') {
            if (!is_escape(text, at)) {
                return false;
            }
            at += 3;
        } else if (static_cast<unsigned char>(c) >= 0x80) {
            if (of == alphabet::uri || !is_ucschar(decode_utf8(text, at), in_query)) {
                return false;
            }
        } else {
            if (!base::is_alnum(c) && always.find(c) == always.npos && more.find(c) == more.npos) {
                return false;
            }
            ++at;
        }
    }
    return true;
}

bool is_ip_literal(std::string_view text) noexcept {
    if (text.size() < 2 || (text[0] != 'v' && text[0] != 'V')) {
        return is_ipv6(text);
    }
    const std::size_t point = text.find('.');
    const auto is_hex = [](char c) { return base::hex_digit(c) >= 0; };
    return point != text.npos && point > 1 && point + 1 < text.size() &&
           std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(point),
                       is_hex) &&
           text.find('%') == text.npos && is_made_of(text.substr(point + 1), ":", alphabet::uri);
}

bool is_authority(std::string_view text, alphabet of) noexcept {
    const std::size_t at = text.find('@');
    if (at != text.npos) {
        if (!is_made_of(text.substr(0, at), ":", of)) {
            return false;
        }
        text.remove_prefix(at + 1);
    }
    std::string_view host = text;
    std::string_view port;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == text.npos || !is_ip_literal(text.substr(1, end - 1))) {
            return false;
        }
        port = text.substr(end + 1);
        host = {};
        if (!port.empty() && port[0] != ':') {
            return false;
        }
    } else {
        host = text.substr(0, text.find(':'));
        port = text.substr(host.size());
    }
    port.remove_prefix(port.empty() ? 0 : 1);
    return is_made_of(host, {}, of) && std::all_of(port.begin(), port.end(), base::is_digit);
}

// The part behind the scheme.
bool is_hierarchy(std::string_view text, alphabet of) noexcept {
    const std::size_t hash = std::min(text.find('#'), text.size());
    if (hash < text.size() && !is_made_of(text.substr(hash + 1), ":@/?", of)) {
        return false;
    }
    text = text.substr(0, hash);
    const std::size_t question = std::min(text.find('?'), text.size());
    if (question < text.size() && !is_made_of(text.substr(question + 1), ":@/?", of, true)) {
        return false;
    }
    text = text.substr(0, question);
    if (text.starts_with("//")) {
        text.remove_prefix(2);
        const std::size_t slash = std::min(text.find('/'), text.size());
        if (!is_authority(text.substr(0, slash), of)) {
            return false;
        }
        text.remove_prefix(slash);
    }
    return is_made_of(text, ":@/", of);
}

std::size_t scheme_size(std::string_view text) noexcept {
    const std::size_t colon = text.find(':');
    const bool good =
        colon != text.npos && colon > 0 && base::is_alpha(text[0]) &&
        std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(colon),
                    [](char c) { return base::is_alnum(c) || c == '+' || c == '-' || c == '.'; });
    return good ? colon + 1 : 0;
}

bool is_absolute(std::string_view text, alphabet of) noexcept {
    const std::size_t scheme = scheme_size(text);
    return scheme > 0 && is_hierarchy(text.substr(scheme), of);
}

// A colon in the first segment of a relative path would make it a scheme (RFC 3986 §4.2).
bool is_reference(std::string_view text, alphabet of) noexcept {
    const std::string_view first = text.substr(0, text.find_first_of("/?#"));
    return is_absolute(text, of) || (first.find(':') == first.npos && is_hierarchy(text, of));
}

// One varname with its modifier (RFC 6570 §2.3, §2.4).
bool is_varspec(std::string_view text) noexcept {
    if (text.ends_with('*')) {
        text.remove_suffix(1);
    } else if (const std::size_t colon = text.find(':'); colon != text.npos) {
        const std::string_view length = text.substr(colon + 1);
        if (length.empty() || length.size() > 4 || length[0] == '0' ||
            !std::all_of(length.begin(), length.end(), base::is_digit)) {
            return false;
        }
        text = text.substr(0, colon);
    }
    bool dot = true;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '.' ? dot : c != '_' && !base::is_alnum(c) && (c != '%' || !is_escape(text, at))) {
            return false;
        }
        dot = c == '.';
        at += c == '%' ? 2 : 0;
    }
    return !dot;
}

bool is_expression(std::string_view text) noexcept {
    constexpr std::string_view operators = "+#./;?&";
    if (!text.empty() && operators.find(text[0]) != operators.npos) {
        text.remove_prefix(1);
    }
    for (;;) {
        const std::size_t comma = std::min(text.find(','), text.size());
        if (!is_varspec(text.substr(0, comma))) {
            return false;
        }
        if (comma == text.size()) {
            return true;
        }
        text.remove_prefix(comma + 1);
    }
}

}  // namespace

bool is_uri(std::string_view text) noexcept { return is_absolute(text, alphabet::uri); }
bool is_uri_reference(std::string_view text) noexcept { return is_reference(text, alphabet::uri); }
bool is_iri(std::string_view text) noexcept { return is_absolute(text, alphabet::iri); }
bool is_iri_reference(std::string_view text) noexcept { return is_reference(text, alphabet::iri); }

bool is_uri_template(std::string_view text) noexcept {
    constexpr std::string_view never = "\"<>\\^`}|";
    for (std::size_t at = 0; at < text.size();) {
        const auto c = static_cast<unsigned char>(text[at]);
        if (c == '{') {
            const std::size_t end = text.find('}', at);
            if (end == text.npos || !is_expression(text.substr(at + 1, end - at - 1))) {
                return false;
            }
            at = end + 1;
        } else if (c >= 0x80) {
            if (!is_ucschar(decode_utf8(text, at), true)) {
                return false;
            }
        } else if (c <= ' ' || c == 0x7F || never.find(text[at]) != never.npos ||
                   (c == '%' && !is_escape(text, at))) {
            return false;
        } else {
            ++at;
        }
    }
    return true;
}

}  // namespace pillion::schema_check::formats
