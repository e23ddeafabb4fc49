#include "mcp/limit_tables.hpp"

#include "base/assert.hpp"

namespace pillion::mcp {

namespace {

std::size_t sets_for(std::size_t places, std::size_t ways) noexcept {
    PILLION_ASSERT(places >= ways && (places & (places - 1)) == 0);
    return places / ways;
}

}  // namespace

bucket_table::bucket_table(std::size_t places) : sets_(sets_for(places, ways)), places_(sets_) {}

token_bucket& bucket_table::bucket_of(std::uint64_t key) noexcept {
    std::array<place, ways>& all = places_[key & (sets_ - 1)];
    for (;;) {
        place* fullest = nullptr;
        for (place& p : all) {
            if (p.key.load(std::memory_order_relaxed) == key) {
                return p.bucket;
            }
            if (fullest == nullptr || p.bucket.full_at() < fullest->bucket.full_at()) {
                fullest = &p;
            }
        }
        std::uint64_t before = fullest->key.load(std::memory_order_relaxed);
        if (before == key ||
            fullest->key.compare_exchange_strong(before, key, std::memory_order_relaxed)) {
            return fullest->bucket;
        }
        // Somebody else took it, perhaps for the same key.
    }
}

std::int64_t bucket_table::take(std::uint64_t key, const bucket_rate& rate,
                                std::int64_t now_ns) noexcept {
    return bucket_of(key).take(rate, now_ns);
}

count_table::count_table(std::size_t places) : sets_(sets_for(places, ways)), words_(sets_) {}

std::uint64_t count_table::tag_of(std::uint64_t key) noexcept {
    const std::uint64_t tag = key & ~count_mask;
    return tag != 0 ? tag : count_mask + 1;
}

// By bits that the tag leaves out.
count_table::set& count_table::set_of(std::uint64_t key) const noexcept {
    return words_[key & (sets_ - 1)];
}

bool count_table::add(std::uint64_t key, std::size_t max, hold& out) noexcept {
    const std::uint64_t tag = tag_of(key);
    set& all = set_of(key);
    for (;;) {
        std::atomic<std::uint64_t>* at = nullptr;
        std::uint64_t seen = 0;
        for (std::atomic<std::uint64_t>& word : all) {
            const std::uint64_t now = word.load(std::memory_order_relaxed);
            if ((now & ~count_mask) == tag) {
                at = &word;
                seen = now;
                break;
            }
            if (at == nullptr && (now & count_mask) == 0) {
                at = &word;
                seen = now;
            }
        }
        if (at == nullptr) {
            return true;
        }
        const std::uint64_t counted = seen & count_mask;
        if (counted >= max) {
            return false;
        }
        if (at->compare_exchange_weak(seen, tag | (counted + 1), std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
            out.release();
            out.word_ = at;
            return true;
        }
    }
}

std::size_t count_table::count(std::uint64_t key) const noexcept {
    for (const std::atomic<std::uint64_t>& word : set_of(key)) {
        const std::uint64_t now = word.load(std::memory_order_relaxed);
        if ((now & ~count_mask) == tag_of(key)) {
            return now & count_mask;
        }
    }
    return 0;
}

}  // namespace pillion::mcp
