// lookup: what a request of ours needs and what may block: the addresses of a host, the trusted
// authorities of this machine, a TLS context (a bundle of authorities takes milliseconds to parse).
//
// Thread-safety: plain functions for helper threads.
#pragma once

#include <sys/socket.h>
#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "client/url.hpp"
#include "tls/context.hpp"

namespace pillion::client {

struct address {
    sockaddr_storage to{};
    socklen_t bytes = 0;
};

struct address_list {
    static constexpr std::size_t room = 8;
    std::array<address, room> all;
    std::size_t count = 0;
};

// The addresses of a host, none when there are none. `numeric`: of one that is an address itself;
// then nothing blocks.
address_list addresses_of(const url& where, bool numeric);

// That of a unix socket; none when its name is too long.
address_list address_of_socket(const std::string& path);

// The authorities that this machine trusts (PEM), from where distributions keep them. False when
// there are none.
bool read_system_authorities(std::string& to);
// The same, read once for all: a bundle is a quarter of a megabyte. Empty: there are none.
std::shared_ptr<const std::string> system_authorities();

// How https is spoken with a host; null when the authorities are no good.
std::shared_ptr<tls::client_context> context_for(const std::string& host,
                                                 const std::string& authorities);
// The same without a look at its certificate: it may be anybody.
std::shared_ptr<tls::client_context> context_for_anybody(const std::string& host);

}  // namespace pillion::client
