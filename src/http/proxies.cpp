#include "http/proxies.hpp"

#include <arpa/inet.h>
#include <algorithm>
#include <cstring>

#include "base/ascii.hpp"
#include "http/head.hpp"
#include "http/origin.hpp"

namespace pillion::http {

namespace {

constexpr std::size_t mapped_bytes = 12;  // before an IPv4 address that IPv6 maps (RFC 4291 §2.5.5)

// What stands behind the last comma.
std::string_view last_of_list(std::string_view value) noexcept {
    const std::size_t comma = value.rfind(',');
    return base::trim_ows(comma == value.npos ? value : value.substr(comma + 1));
}

std::string_view only(const request_head& head, std::string_view name) noexcept {
    return head.count(name) == 1 ? last_of_list(head.find(name)) : std::string_view();
}

std::string_view scheme_of(std::string_view text) noexcept {
    return base::equals_ignore_case(text, "https")  ? std::string_view("https")
           : base::equals_ignore_case(text, "http") ? std::string_view("http")
                                                    : std::string_view();
}

// host[:port], and nothing that could end a header or a quoted string.
std::string_view host_of(std::string_view text) noexcept {
    char entry[8 + 262] = "https://";
    if (text.empty() || text.size() > 261) {
        return {};
    }
    text.copy(entry + 8, text.size());
    return is_valid_origin_entry({entry, 8 + text.size()}) ? text : std::string_view();
}

// "192.0.2.1", "192.0.2.1:80", "[2001:db8::1]:80", "2001:db8::1".
std::string_view address_of(std::string_view text) noexcept {
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        return end == text.npos ? std::string_view() : text.substr(1, end - 1);
    }
    const std::size_t colon = text.find(':');
    const bool has_port = colon != text.npos && text.find(':', colon + 1) == text.npos;
    return has_port ? text.substr(0, colon) : text;
}

// Pairs of one element (RFC 7239 §4); quoted strings hold no escapes that we would need.
forwarded read_element(std::string_view value) noexcept {
    forwarded out;
    while (!value.empty()) {
        const std::size_t end = std::min(value.find(';'), value.size());
        const std::string_view pair = base::trim_ows(value.substr(0, end));
        value.remove_prefix(std::min(end + 1, value.size()));
        const std::size_t equals = pair.find('=');
        if (equals == pair.npos) {
            continue;
        }
        const std::string_view name = pair.substr(0, equals);
        std::string_view text = pair.substr(equals + 1);
        if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
            text = text.substr(1, text.size() - 2);
        }
        if (base::equals_ignore_case(name, "proto")) {
            out.scheme = scheme_of(text);
        } else if (base::equals_ignore_case(name, "host")) {
            out.host = host_of(text);
        } else if (base::equals_ignore_case(name, "for")) {
            out.address = address_of(text);
        }
    }
    return out;
}

}  // namespace

forwarded forwarded_of(const request_head& head) noexcept {
    if (const std::uint8_t count = head.count("forwarded"); count > 0) {
        return count == 1 ? read_element(last_of_list(head.find("forwarded"))) : forwarded();
    }
    forwarded out;
    out.scheme = scheme_of(only(head, "x-forwarded-proto"));
    out.host = host_of(only(head, "x-forwarded-host"));
    out.address = address_of(only(head, "x-forwarded-for"));
    return out;
}

bool proxy_list::read_address(std::string_view text, address& to) noexcept {
    char zero_ended[INET6_ADDRSTRLEN] = {};
    if (text.size() >= sizeof zero_ended) {
        return false;
    }
    text.copy(zero_ended, text.size());
    to = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return ::inet_pton(AF_INET, zero_ended, to.data() + mapped_bytes) == 1 ||
           ::inet_pton(AF_INET6, zero_ended, to.data()) == 1;
}

bool proxy_list::read(std::string_view text, network& to) {
    const std::size_t slash = text.find('/');
    const std::string_view begin = text.substr(0, slash);
    const unsigned most = begin.find(':') == begin.npos ? 32 : 128;
    if (!read_address(begin, to.begin)) {
        return false;
    }
    to.bits = 128;
    if (slash != text.npos) {
        std::uint64_t bits = 0;
        if (!base::parse_decimal(text.substr(slash + 1), bits) || bits > most) {
            return false;
        }
        to.bits = static_cast<unsigned>(bits) + 128 - most;
    }
    return true;
}

bool proxy_list::is_valid(std::string_view text) {
    network ignored;
    return text == "unix" || read(text, ignored);
}

void proxy_list::add(std::string_view text) {
    network one;
    if (text == "unix") {
        unix_ = true;
    } else if (read(text, one)) {
        networks_.push_back(one);
    }
}

bool proxy_list::trusts(std::string_view peer_address) const noexcept {
    if (peer_address.empty()) {
        return unix_;
    }
    address peer;
    if (networks_.empty() || !read_address(peer_address.substr(0, peer_address.find('%')), peer)) {
        return false;
    }
    return std::any_of(networks_.begin(), networks_.end(), [&](const network& one) {
        const std::size_t whole = one.bits / 8;
        const unsigned rest = one.bits % 8;
        const auto mask = static_cast<unsigned char>(0xff00U >> rest);
        return std::memcmp(peer.data(), one.begin.data(), whole) == 0 &&
               (rest == 0 || ((peer[whole] ^ one.begin[whole]) & mask) == 0);
    });
}

std::string_view proxy_list::client_of(const request_head& head,
                                       std::string_view peer_address) const noexcept {
    std::string_view client = peer_address;
    const bool standard = head.count("forwarded") > 0;
    const std::string_view name = standard ? "forwarded" : "x-forwarded-for";
    std::string_view hops = head.count(name) == 1 ? head.find(name) : std::string_view();
    for (int i = 0; i < hops_max && !hops.empty() && trusts(client); ++i) {
        const std::string_view hop = last_of_list(hops);
        const std::string_view told = standard ? read_element(hop).address : address_of(hop);
        address ignored;
        if (!read_address(told, ignored)) {
            break;
        }
        client = told;
        const std::size_t comma = hops.rfind(',');
        hops = hops.substr(0, comma == hops.npos ? 0 : comma);
    }
    return client;
}

}  // namespace pillion::http
