// Who may talk to this server: the rules for Host and Origin that keep web pages from reaching a
// local server by DNS rebinding.
//
// Host. A server bound to a loopback address answers to localhost, 127.0.0.1 and [::1] with any
// port (port forwarders change it), to its own address, and to the names configured or listed as
// origins. A server bound to another address is reached by names it cannot know: without
// configured names any valid Host passes, with them only those, its own address and the loopback
// names do. There the Origin rule carries the protection.
//
// Origin. http and https origins whose host and port are the server's own pass (loopback names
// count as own with the server's port), and those that are listed: scheme and host compare without
// case, a default port equals none. `null` passes only when listed, everything only when `*` is.
// Requests without Origin do not come from a page; the caller lets them pass.
//
// Thread-safety: immutable after construction; share it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pillion::http {

class origin_policy {
 public:
    // `listen_host` is an address or name as configured ("127.0.0.1", "::1", "0.0.0.0"), `port` the
    // bound one, `loopback` whether only this machine reaches it (io::is_loopback).
    // `allowed_origins` are origins such as "https://app.example:8443", "null" or "*";
    // `allowed_hosts` names with an optional port (without one any port passes; 80 and 443 equal
    // none). An entry that is none of these is never matched, see is_valid_origin_entry.
    origin_policy(std::string_view listen_host, std::uint16_t port, bool loopback,
                  std::span<const std::string> allowed_origins,
                  std::span<const std::string> allowed_hosts = {});

    // Whether the value of a Host field (or the authority of an absolute target) is acceptable;
    // refusals are 403, or 421 where a client asked for another name.
    bool host_allowed(std::string_view host) const noexcept;

    // Whether the value of an Origin field is acceptable; a refusal is 403.
    bool origin_allowed(std::string_view origin) const noexcept;

 private:
    struct entry {
        std::string scheme;  // lower case; empty for a host entry
        std::string host;    // lower case, IPv6 in brackets
        std::uint16_t port = 0;
        bool has_port = false;
    };

    bool is_own_name(std::string_view host) const noexcept;

    std::vector<entry> origins_;
    std::vector<entry> hosts_;
    std::string own_host_;
    std::uint16_t port_;
    bool any_host_;
    bool any_origin_ = false;
    bool null_origin_ = false;
};

// True when `text` can stand in the list of allowed hosts: host[:port]. For a configuration check.
bool is_valid_host_entry(std::string_view text) noexcept;
// The same for the list of allowed origins: "*", "null" or scheme://host[:port].
bool is_valid_origin_entry(std::string_view text) noexcept;

}  // namespace pillion::http
