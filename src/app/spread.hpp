// spread: evens out the connections of one listening address over the shards.
//
// The system deals connections out by a hash of their addresses, or to whichever shard is awake
// first, so that one shard may get most of them, and a connection stays where it is served. A shard
// that has accepted one too many passes it on before it reads a byte.
//
// Counts are of this moment and may be a little old: they even out over the next connections.
// Owned by whoever makes the shards; outlives them. Thread-safety: any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

namespace pillion::app {

class spread {
 public:
    // Serves what others have accepted. Thread: its shard.
    class taker {
     public:
        virtual void take(int fd) noexcept = 0;

     protected:
        ~taker() = default;
    };

    explicit spread(std::size_t shards) : all_(shards) {}

    // From now on a shard takes connections of others; after close() no more than those that are
    // coming already; leave() says that its taker is gone. Thread: the shard.
    void open(std::size_t shard, taker& by) noexcept {
        all_[shard].by = &by;
        all_[shard].open.store(true);
    }
    void close(std::size_t shard) noexcept { all_[shard].open.store(false); }
    void leave(std::size_t shard) noexcept {
        close(shard);
        all_[shard].by = nullptr;
    }
    // Null: gone. Thread: the shard.
    taker* taker_of(std::size_t shard) const noexcept { return all_[shard].by; }

    // What a shard serves now; it keeps that number itself.
    std::atomic<std::size_t>& held(std::size_t shard) noexcept { return all_[shard].held; }
    // What others have passed to it and it has not got yet.
    std::size_t coming(std::size_t shard) const noexcept { return all_[shard].coming.load(); }

    // Where a connection is served that shard `at` has accepted: there, or where it is counted as
    // coming from now on.
    std::size_t place(std::size_t at) noexcept;
    // It came, or it never will.
    void arrived(std::size_t shard) noexcept { all_[shard].coming.fetch_sub(1); }

    // By how many a shard may be ahead of the one that has the fewest: few enough that 64 on two
    // shards are 28 and 36 at most, and that who has only a few passes none on.
    static constexpr std::size_t lead_max(std::size_t least) noexcept { return 4 + least / 8; }

 private:
    // A cache line each: all but place() is a shard's own business.
    struct alignas(64) part {
        std::atomic<std::size_t> held{0};
        std::atomic<std::size_t> coming{0};
        std::atomic<bool> open{false};
        taker* by = nullptr;
    };
    std::size_t load(const part& p) const noexcept {
        return p.held.load(std::memory_order_relaxed) + p.coming.load(std::memory_order_relaxed);
    }

    std::vector<part> all_;
};

}  // namespace pillion::app
