// token_watch: no stream goes on beyond the token that opened it. A request is judged once, but a
// stream that listens may last for days: whoever's token has ended comes back with a new one
// (REVISIONS §14: every request has a token; STANDARD row 53).
//
// One timer for all streams of a shard, armed while one of them has a token that ends. Calls are
// none of these: one that was allowed runs to its end. Thread: its shard.
#pragma once

#include <cstdint>
#include <string_view>

#include "io/reactor.hpp"
#include "mcp/hub.hpp"

namespace pillion::mcp {

class token_watch {
 public:
    token_watch(hub& of, io::reactor& loop) noexcept;
    token_watch(const token_watch&) = delete;
    token_watch& operator=(const token_watch&) = delete;

    // `one` hears on_token_end() when it is `ends_s` (seconds since 1970), unless it has left the
    // hub by then; INT64_MAX: never. The later word counts.
    void watch(change_listener& one, std::int64_t ends_s) noexcept;
    // Nobody is told any more.
    void stop() noexcept { timer_.cancel(); }

 private:
    static void on_timer(io::timer& self, void* owner) noexcept;
    void arm() noexcept;

    hub& hub_;
    io::reactor& loop_;
    io::timer timer_;
    std::int64_t next_s_ = INT64_MAX;
};

// The line in the log of a stream that has ended so.
void log_token_end(std::string_view peer) noexcept;

}  // namespace pillion::mcp
