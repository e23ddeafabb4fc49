// caller: who a request is charged to: a principal where one is known, else the address it came
// from. Keys are keyed hashes, 0 where there is none; they say nothing outside this process.
//
// Thread-safety: a value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pillion::http {
class exchange;
}

namespace pillion::mcp {

// The scopes of a caller, where they go to another shard, and when they end.
struct granted {
    std::string scopes;  // with blanks between them
    bool limited = false;
    std::int64_t ends_s = INT64_MAX;
};

struct caller {
    std::uint64_t address = 0;
    std::uint64_t principal = 0;  // 0: anonymous
    std::string_view name;        // of the principal; lives as long as its owner says
    // What it may use: the scopes it was granted, with blanks between them, where it is limited to
    // some; else everything. Lives like the name.
    std::string_view scopes;
    bool limited = false;
    // This machine: loopback, a unix socket, stdio. Budgets that nobody configured leave it alone.
    bool local = true;
    // When what it is known by ends, in seconds since 1970: no stream of its goes on beyond.
    std::int64_t ends_s = INT64_MAX;

    bool anonymous() const noexcept { return principal == 0; }
    std::uint64_t key() const noexcept { return principal != 0 ? principal : address; }

    // The peer of a connection by its address without port; empty for sockets without addresses and
    // for pipes, which count as one. An IPv6 address stands for its /64, which is what one customer
    // gets (RFC 6177); one that maps IPv4 stands for that.
    static caller at(std::string_view address) noexcept;
    // Who has authenticated, which stays where it is. REQUIRES: not empty.
    void set_principal(std::string_view who) noexcept;
    void limit_to(std::string_view granted) noexcept {
        scopes = granted;
        limited = true;
    }
    void unlimit() noexcept {
        scopes = {};
        limited = false;
    }
    // The other end of a connection, for as long as that lives.
    static caller of(const http::exchange& connection) noexcept;
};

}  // namespace pillion::mcp
