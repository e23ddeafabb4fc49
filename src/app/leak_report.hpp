// leak_report: what was still held when a shard ended. All zero, or we have a bug; tests read it.
//
// Thread-safety: one shard fills its own, the main thread adds them up after joining.
#pragma once

#include <cstddef>

#include "io/reactor.hpp"

namespace pillion::app {

struct leak_report {
    std::size_t frames = 0;
    std::size_t ops = 0;
    std::size_t buffers = 0;
    std::size_t chunks = 0;

    leak_report() noexcept {}  // NOLINT(modernize-use-equals-default): no aggregate

    // Counts what `loop` and this thread hold now.
    void add(io::reactor& loop) noexcept;
    void add(const leak_report& other) noexcept;
    bool clean() const noexcept { return frames + ops + buffers + chunks == 0; }
    // One line on stderr: "pillion: shutdown complete frames=0 …".
    void print(bool json) const noexcept;
};

}  // namespace pillion::app
