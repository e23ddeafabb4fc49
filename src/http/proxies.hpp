// proxies: whom we believe what the client's side of a connection looked like: the proxies that the
// operator named, and nobody else, since anybody can write such fields.
//
// Thread-safety: immutable once filled.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pillion::http {

struct request_head;

// What a proxy says; empty where it says nothing, or nothing that can be.
struct forwarded {
    std::string_view scheme;   // "http" or "https"
    std::string_view host;     // with a port, where it has one
    std::string_view address;  // of whom the proxy speaks for, without brackets and port
};

// The last hop of Forwarded (RFC 7239 §4), which the proxy before us has added; where there is
// none, that of X-Forwarded-Proto, -Host and -For. A field that comes twice is none.
forwarded forwarded_of(const request_head& head) noexcept;

class proxy_list {
 public:
    // Whether `text` is an address ("::1"), a network ("10.0.0.0/8") or "unix".
    static bool is_valid(std::string_view text);
    // REQUIRES: is_valid().
    void add(std::string_view text);

    bool empty() const noexcept { return networks_.empty() && !unix_; }
    // Whether the other end of a connection is one of them, by its address without port; empty: a
    // unix socket.
    bool trusts(std::string_view peer_address) const noexcept;
    // Whom a connection's request comes from: its other end, or where that is one of them, the last
    // hop that is none, as Forwarded or X-Forwarded-For tell.
    std::string_view client_of(const request_head& head,
                               std::string_view peer_address) const noexcept;

 private:
    static constexpr int hops_max = 16;
    using address = std::array<unsigned char, 16>;  // IPv4 as IPv6 maps it
    struct network {
        address begin{};
        unsigned bits = 0;
    };
    static bool read_address(std::string_view text, address& to) noexcept;
    static bool read(std::string_view text, network& to);

    std::vector<network> networks_;
    bool unix_ = false;
};

}  // namespace pillion::http
