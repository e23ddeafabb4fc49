#include "mcp/caller.hpp"

#include <arpa/inet.h>
#include <cstring>

#include "base/hash.hpp"
#include "http/exchange.hpp"

namespace pillion::mcp {

namespace {

// Never 0, which means none. The kind keeps an address and a principal of the same bytes apart.
std::uint64_t key_of(char kind, const void* bytes, std::size_t size) noexcept {
    base::hash_key key = base::process_hash_key();
    key.k1 ^= static_cast<unsigned char>(kind);
    const std::uint64_t hash = base::siphash13({static_cast<const char*>(bytes), size}, key);
    return hash != 0 ? hash : 1;
}

}  // namespace

caller caller::at(std::string_view address) noexcept {
    caller made;
    char text[INET6_ADDRSTRLEN] = {};
    if (address.empty() || address.size() >= sizeof text) {
        made.address = key_of('l', "", 0);
        return made;
    }
    address.copy(text, address.size());
    // What stands behind a % names an interface of ours (RFC 4007 §11).
    text[address.substr(0, address.find('%')).size()] = '\0';
    unsigned char bytes[16] = {};
    if (::inet_pton(AF_INET, text, bytes) == 1) {
        made.address = key_of('4', bytes, 4);
        made.local = bytes[0] == 127;
        return made;
    }
    if (::inet_pton(AF_INET6, text, bytes) == 1) {
        constexpr unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
        if (std::memcmp(bytes, mapped, sizeof mapped) == 0) {
            made.address = key_of('4', bytes + 12, 4);
            made.local = bytes[12] == 127;
            return made;
        }
        constexpr unsigned char loopback[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
        made.address = key_of('6', bytes, 8);
        made.local = std::memcmp(bytes, loopback, sizeof loopback) == 0;
        return made;
    }
    made.address = key_of('t', address.data(), address.size());
    made.local = false;
    return made;
}

void caller::set_principal(std::string_view who) noexcept {
    principal = key_of('p', who.data(), who.size());
    name = who;
}

caller caller::of(const http::exchange& connection) noexcept {
    caller made = at(connection.peer_address());
    if (const std::string_view who = connection.peer_principal(); !who.empty()) {
        made.set_principal(who);
    }
    return made;
}

}  // namespace pillion::mcp
