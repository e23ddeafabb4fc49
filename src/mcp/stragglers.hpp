// stragglers: requests whose handlers were asked to stop and have not ended when their grace period
// was over. They run on, with their memory, because a suspended coroutine is never destroyed; here
// they are counted, so that a handler that does this with every call cannot pile them up for ever.
//
// A request is in it from add() to remove(). Thread: its shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "mcp/reply_channel.hpp"

namespace pillion::mcp {

class stragglers {
 public:
    // Counts it, and says so in the log.
    void add(request& r) noexcept;
    // Its handler has ended. REQUIRES: r.straggling.
    void remove(request& r) noexcept;

    // How many there are at present, and how many there ever were.
    std::size_t now() const noexcept { return now_; }
    std::uint64_t total() const noexcept { return total_; }
    // Those of the handler that `r` is for.
    std::size_t of(const request& r) const noexcept;

 private:
    // By definition, which lives as long as a request of it.
    std::unordered_map<const void*, std::size_t> by_handler_;
    std::size_t now_ = 0;
    std::uint64_t total_ = 0;
};

}  // namespace pillion::mcp
