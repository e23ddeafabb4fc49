#include "http/origin.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "http/authority.hpp"

namespace pillion::http {

namespace {

using base::equals_ignore_case;

// An origin taken apart (RFC 6454 §6.2), its port made explicit for the schemes that have one.
struct origin_parts {
    std::string_view scheme;
    authority where;
    bool web = false;  // http or https
};

bool parse_origin(std::string_view text, origin_parts& out) noexcept {
    const std::size_t mark = text.find("://");
    if (mark == 0 || mark == std::string_view::npos) {
        return false;
    }
    out.scheme = text.substr(0, mark);
    const bool plain_scheme = base::is_alpha(out.scheme.front()) &&
                              std::all_of(out.scheme.begin(), out.scheme.end(), [](char c) {
                                  return base::is_alnum(c) || c == '+' || c == '-' || c == '.';
                              });
    if (!plain_scheme || !parse_authority(text.substr(mark + 3), out.where)) {
        return false;
    }
    const bool secure = equals_ignore_case(out.scheme, "https");
    out.web = secure || equals_ignore_case(out.scheme, "http");
    if (out.web && !out.where.has_port) {
        out.where.port = secure ? 443 : 80;
        out.where.has_port = true;
    }
    return true;
}

bool is_loopback_name(std::string_view host) noexcept {
    return host == "127.0.0.1" || host == "[::1]" || equals_ignore_case(host, "localhost");
}

std::string lower_copy(std::string_view text) {
    std::string copy(text);
    std::transform(copy.begin(), copy.end(), copy.begin(), base::to_lower);
    return copy;
}

}  // namespace

origin_policy::origin_policy(std::string_view listen_host, std::uint16_t port, bool loopback,
                             std::span<const std::string> allowed_origins,
                             std::span<const std::string> allowed_hosts)
    : own_host_(lower_copy(listen_host)),
      port_(port),
      any_host_(!loopback && allowed_hosts.empty()) {
    if (own_host_.find(':') != std::string::npos && own_host_.front() != '[') {
        own_host_ = "[" + own_host_ + "]";
    }
    for (const std::string& text : allowed_hosts) {
        authority where;
        if (parse_authority(text, where)) {
            hosts_.push_back({"", lower_copy(where.host), where.port, where.has_port});
        }
    }
    for (const std::string& text : allowed_origins) {
        origin_parts parts;
        any_origin_ = any_origin_ || text == "*";
        null_origin_ = null_origin_ || text == "null";
        if (parse_origin(text, parts)) {
            origins_.push_back({lower_copy(parts.scheme), lower_copy(parts.where.host),
                                parts.where.port, parts.where.has_port});
        }
    }
}

bool origin_policy::is_own_name(std::string_view host) const noexcept {
    return is_loopback_name(host) || equals_ignore_case(host, own_host_);
}

bool origin_policy::host_allowed(std::string_view host) const noexcept {
    authority where;
    if (!parse_authority(host, where)) {
        return false;
    }
    if (any_host_ || is_own_name(where.host)) {
        return true;
    }
    // A client leaves the port out that its URL's scheme implies (RFC 9110 §7.2), and a proxy in
    // front may speak another scheme than we do.
    const auto is_port = [&where](std::uint16_t port) {
        return where.has_port ? port == where.port : port == 80 || port == 443;
    };
    const bool configured = std::any_of(hosts_.begin(), hosts_.end(), [&](const entry& e) {
        return equals_ignore_case(e.host, where.host) && (!e.has_port || is_port(e.port));
    });
    // A page of a listed origin may well be served by the proxy in front of us.
    return configured || std::any_of(origins_.begin(), origins_.end(), [&](const entry& e) {
               return equals_ignore_case(e.host, where.host);
           });
}

bool origin_policy::origin_allowed(std::string_view origin) const noexcept {
    if (any_origin_) {
        return true;
    }
    if (origin == "null") {
        return null_origin_;
    }
    origin_parts parts;
    if (!parse_origin(origin, parts)) {
        return false;
    }
    if (parts.web && parts.where.port == port_ && is_own_name(parts.where.host)) {
        return true;
    }
    return std::any_of(origins_.begin(), origins_.end(), [&](const entry& e) {
        return equals_ignore_case(e.scheme, parts.scheme) &&
               equals_ignore_case(e.host, parts.where.host) && e.has_port == parts.where.has_port &&
               e.port == parts.where.port;
    });
}

bool is_valid_host_entry(std::string_view text) noexcept {
    authority where;
    return parse_authority(text, where);
}

bool is_valid_origin_entry(std::string_view text) noexcept {
    origin_parts parts;
    return text == "*" || text == "null" || parse_origin(text, parts);
}

}  // namespace pillion::http
