#include "client/url.hpp"

#include <arpa/inet.h>
#include <algorithm>

#include "base/ascii.hpp"
#include "http/authority.hpp"

namespace pillion::client {

namespace {

constexpr std::string_view http_scheme = "http://";
constexpr std::string_view https_scheme = "https://";

bool begins_with(std::string_view text, std::string_view scheme) noexcept {
    return base::equals_ignore_case(text.substr(0, scheme.size()), scheme);
}

// RFC 9112 §3.2.1: what stands in a request line.
bool is_target(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return out;
}

}  // namespace

bool looks_like_url(std::string_view text) noexcept {
    return begins_with(text, http_scheme) || begins_with(text, https_scheme);
}

bool url::is_loopback() const noexcept {
    in_addr four{};
    in6_addr six{};
    if (::inet_pton(AF_INET, host.c_str(), &four) == 1) {
        return ntohl(four.s_addr) >> 24U == 127;
    }
    if (::inet_pton(AF_INET6, host.c_str(), &six) == 1) {
        return IN6_IS_ADDR_LOOPBACK(&six);
    }
    return host == "localhost";
}

std::optional<url> parse_url(std::string_view text, std::string& fault) {
    const auto refuse = [&fault](const char* why) {
        fault = why;
        return std::nullopt;
    };
    if (text.size() > url::bytes_max) {
        return refuse("the URL is too long");
    }
    url made;
    if (!looks_like_url(text)) {
        return refuse("it is no http:// or https:// URL");
    }
    made.secure = begins_with(text, https_scheme);
    text.remove_prefix(made.secure ? https_scheme.size() : http_scheme.size());
    const std::size_t end = std::min(text.find_first_of("/?#"), text.size());
    made.authority = lower(text.substr(0, end));
    if (made.authority.find('@') != made.authority.npos) {
        return refuse("a URL must not hold a user or a password");
    }
    http::authority parts;
    if (!http::parse_authority(made.authority, parts) || (parts.has_port && parts.port == 0)) {
        return refuse("the URL has no host, or not a plain one");
    }
    made.port = parts.has_port ? parts.port : made.secure ? std::uint16_t{443} : std::uint16_t{80};
    const bool bracketed = parts.host.starts_with('[');
    made.host = bracketed ? parts.host.substr(1, parts.host.size() - 2) : parts.host;
    in6_addr six{};
    if (bracketed && ::inet_pton(AF_INET6, made.host.c_str(), &six) != 1) {
        return refuse("the URL has no host, or not a plain one");
    }
    const std::string_view rest = text.substr(end);
    if (rest.find('#') != rest.npos) {
        return refuse("a URL of a server has no fragment");
    }
    if (!is_target(rest)) {
        return refuse("the path of the URL holds a blank or a control character");
    }
    if (!rest.empty()) {
        made.target = rest.starts_with('/') ? std::string(rest) : "/" + std::string(rest);
    }
    return made;
}

std::optional<url> resolve_url(const url& base, std::string_view reference, std::string& fault) {
    if (looks_like_url(reference)) {
        return parse_url(reference, fault);
    }
    std::string text(base.secure ? https_scheme : http_scheme);
    if (reference.starts_with("//")) {
        text.erase(text.size() - 2);
        return parse_url(text.append(reference), fault);
    }
    text += base.authority;
    const std::string_view path = std::string_view(base.target).substr(0, base.target.find('?'));
    if (reference.starts_with('?')) {
        text += path;
    } else if (!reference.starts_with('/')) {
        text += path.substr(0, path.rfind('/') + 1);
    }
    return parse_url(text.append(reference), fault);
}

}  // namespace pillion::client
