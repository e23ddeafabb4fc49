// limit_tables: what is counted for each address and each principal, for all shards together.
//
// Both tables have a fixed number of places in sets of eight; a key belongs to one set. They never
// grow: a newcomer takes a place nobody needs. Keys are keyed hashes (base/hash.hpp), so nobody can
// choose addresses that meet in one set.
//
// bucket_table: when all buckets of a set are in use the one that is nearest to full changes hands
// as it is. The newcomer inherits what is missing from it (as in the space-saving algorithm of
// Metwally, Agrawal and El Abbadi): spraying addresses never gets anybody more than the rate.
// count_table: a place is free when its count is 0; who finds none is not counted (the cap over all
// holds nevertheless).
//
// Tolerance: exact on one thread. Two threads that see a key for the first time at the same moment
// may give it two places, until one of them is empty.
// Thread-safety: any thread, without locks.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/limits.hpp"
#include "base/zeroed_array.hpp"
#include "mcp/token_bucket.hpp"

namespace pillion::mcp {

class bucket_table {
 public:
    // REQUIRES: a power of two, at least 8.
    explicit bucket_table(std::size_t places = limits::rate_buckets);

    // token_bucket::take() on the bucket of `key`. REQUIRES: key != 0.
    std::int64_t take(std::uint64_t key, const bucket_rate& rate, std::int64_t now_ns) noexcept;

 private:
    static constexpr std::size_t ways = 8;
    struct place {
        std::atomic<std::uint64_t> key{0};
        token_bucket bucket;
    };
    token_bucket& bucket_of(std::uint64_t key) noexcept;

    std::size_t sets_;
    base::zeroed_array<std::array<place, ways>> places_;
};

class count_table {
 public:
    // REQUIRES: a power of two, at least 8.
    explicit count_table(std::size_t places = limits::rate_buckets);

    // One that is counted; gives itself back.
    class hold {
     public:
        hold() noexcept = default;
        hold(hold&& other) noexcept : word_(std::exchange(other.word_, nullptr)) {}
        hold& operator=(hold&& other) noexcept {
            release();
            word_ = std::exchange(other.word_, nullptr);
            return *this;
        }
        ~hold() { release(); }
        void release() noexcept {
            if (word_ != nullptr) {
                std::exchange(word_, nullptr)->fetch_sub(1, std::memory_order_release);
            }
        }
        bool held() const noexcept { return word_ != nullptr; }

     private:
        friend class count_table;
        std::atomic<std::uint64_t>* word_ = nullptr;
    };

    // False when `max` are counted for `key` already. REQUIRES: key != 0.
    bool add(std::uint64_t key, std::size_t max, hold& out) noexcept;
    // How many are counted for `key`.
    std::size_t count(std::uint64_t key) const noexcept;

 private:
    static constexpr std::size_t ways = 8;
    // The upper bits of the key over the count, so that one exchange changes both.
    static constexpr unsigned count_bits = 24;
    static constexpr std::uint64_t count_mask = (std::uint64_t{1} << count_bits) - 1;
    using set = std::array<std::atomic<std::uint64_t>, ways>;

    static std::uint64_t tag_of(std::uint64_t key) noexcept;
    set& set_of(std::uint64_t key) const noexcept;

    std::size_t sets_;
    base::zeroed_array<set> words_;
};

}  // namespace pillion::mcp
