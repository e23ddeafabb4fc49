// limit_counters: how often what limit refused something, for the metrics of one shard.
//
// Thread: its shard writes; whoever renders metrics asks that shard.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pillion::base {
class metrics_page;
}

namespace pillion::mcp {

// A caller's own limits (-32003, HTTP 429).
enum class limited_by : std::uint8_t {
    principal,      // requests a second of a principal
    address,        // … of an anonymous address
    handshake,      // initialize, subscriptions/listen, GET /sse
    tool,           // calls a second of a tool
    in_flight,      // requests under way of a principal or an address
    connections,    // of an address
    subscriptions,  // of a session
    streams,        // of a session
    count_,
};

// Overload of the server or a tool (-32006, HTTP 503).
enum class shed_by : std::uint8_t {
    requests,    // too many under way
    loop_lag,    // the turns of the loop take too long
    tool_queue,  // too many wait for a tool
    deadline,    // a call would have waited for its tool beyond its deadline
    count_,
};

// For the label of a metric; lives for ever.
constexpr std::string_view name_of(limited_by kind) noexcept {
    constexpr std::string_view names[] = {"principal", "address",     "handshake",     "tool",
                                          "in_flight", "connections", "subscriptions", "streams"};
    return names[static_cast<std::size_t>(kind)];
}
constexpr std::string_view name_of(shed_by kind) noexcept {
    constexpr std::string_view names[] = {"requests", "loop_lag", "tool_queue", "deadline"};
    return names[static_cast<std::size_t>(kind)];
}

class limit_counters {
 public:
    void note(limited_by kind) noexcept { ++limited_[static_cast<std::size_t>(kind)]; }
    void note(shed_by kind) noexcept { ++shed_[static_cast<std::size_t>(kind)]; }
    std::uint64_t operator[](limited_by kind) const noexcept {
        return limited_[static_cast<std::size_t>(kind)];
    }
    void collect(base::metrics_page& to) const;
    std::uint64_t operator[](shed_by kind) const noexcept {
        return shed_[static_cast<std::size_t>(kind)];
    }

 private:
    std::array<std::uint64_t, static_cast<std::size_t>(limited_by::count_)> limited_{};
    std::array<std::uint64_t, static_cast<std::size_t>(shed_by::count_)> shed_{};
};

}  // namespace pillion::mcp
