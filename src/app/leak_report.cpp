#include "app/leak_report.hpp"

#include <cstdio>

#include "base/log.hpp"
#include "coro/frame_pool.hpp"

namespace pillion::app {

void leak_report::add(io::reactor& loop) noexcept {
    frames += coro::frame_pool::live();
    ops += loop.ops().in_flight();
    buffers += loop.ops().buffers_lent();
    chunks += loop.chunks().live();
}

void leak_report::add(const leak_report& other) noexcept {
    frames += other.frames;
    ops += other.ops;
    buffers += other.buffers;
    chunks += other.chunks;
}

void leak_report::print(bool json) const noexcept {
    if (json) {
        log::info("shutdown.complete", {log::kv("frames", frames), log::kv("ops", ops),
                                        log::kv("buffers", buffers), log::kv("chunks", chunks)});
        return;
    }
    std::fprintf(stderr, "pillion: shutdown complete frames=%zu ops=%zu buffers=%zu chunks=%zu\n",
                 frames, ops, buffers, chunks);
}

}  // namespace pillion::app
