// buffer_ring: what the kernel is shown, and in which order. The test is the kernel.
#include "io/buffer_ring.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "base/limits.hpp"

namespace pillion::io {
namespace {

class kernel {
 public:
    explicit kernel(buffer_ring& ring) : ring_(ring) {}

    std::size_t left() const { return static_cast<std::uint16_t>(entries()[0].reserved - head_); }
    // Takes the next one.
    std::uint16_t take() {
        EXPECT_GT(left(), 0U);
        const uring_abi::ring_buffer& e = entries()[head_ % ring_.entries()];
        EXPECT_EQ(e.address,
                  static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(ring_.buffer(e.id))));
        EXPECT_EQ(e.bytes + limits::padding, 4096U);
        ++head_;
        EXPECT_EQ(ring_.took(e.id, 1, false), ring_.buffer(e.id));
        return e.id;
    }
    std::vector<std::uint16_t> take(std::size_t count) {
        std::vector<std::uint16_t> all;
        while (all.size() < count) {
            all.push_back(take());
        }
        return all;
    }

 private:
    const uring_abi::ring_buffer* entries() const {
        return reinterpret_cast<const uring_abi::ring_buffer*>(
            static_cast<std::uintptr_t>(ring_.address()));
    }
    buffer_ring& ring_;
    std::uint16_t head_ = 0;
};

// A turn in which `count` are taken and given back.
void turn(buffer_ring& ring, kernel& k, std::size_t count) {
    for (const std::uint16_t id : k.take(count)) {
        ring.give(id);
    }
    ring.publish();
}

TEST(buffer_ring, few_are_shown_and_the_same_ones_go_round) {
    buffer_ring ring(256, 4096, buffer_ring::use::one_receive);
    ASSERT_TRUE(ring.ok());
    ring.publish();
    kernel k(ring);
    EXPECT_EQ(k.left(), ring.shown());
    std::set<std::uint16_t> used;
    for (int i = 0; i < 1000; ++i) {
        const auto taken = k.take(20);
        used.insert(taken.begin(), taken.end());
        for (const std::uint16_t id : taken) {
            ring.give(id);
        }
        ring.publish();
        EXPECT_EQ(k.left(), ring.shown());
    }
    EXPECT_EQ(used.size(), ring.shown());
}

TEST(buffer_ring, what_was_given_back_last_comes_first) {
    buffer_ring ring(256, 4096, buffer_ring::use::one_receive);
    ring.publish();
    kernel k(ring);
    const auto taken = k.take(3);
    for (const std::uint16_t id : taken) {
        ring.give(id);
    }
    ring.publish();
    k.take(ring.shown() - 3);
    EXPECT_EQ(k.take(3), (std::vector<std::uint16_t>{taken[2], taken[1], taken[0]}));
}

TEST(buffer_ring, who_runs_out_is_shown_more_up_to_all) {
    buffer_ring ring(256, 4096, buffer_ring::use::one_receive);
    ring.publish();
    kernel k(ring);
    std::size_t shown = ring.shown();
    for (int i = 0; i < 5; ++i) {
        const auto taken = k.take(k.left());
        // However many receives meet it.
        ring.look_at(-ENOBUFS);
        ring.look_at(-ENOBUFS);
        for (const std::uint16_t id : taken) {
            ring.give(id);
        }
        ring.publish();
        shown = std::min<std::size_t>(2 * shown, 256);
        EXPECT_EQ(ring.shown(), shown);
        EXPECT_EQ(k.left(), shown);
    }
    const auto all = k.take(256);
    EXPECT_EQ(std::set<std::uint16_t>(all.begin(), all.end()).size(), 256U);
    EXPECT_EQ(k.left(), 0U);
}

TEST(buffer_ring, shows_less_when_that_has_done_for_long) {
    buffer_ring ring(256, 4096, buffer_ring::use::one_receive);
    ring.publish();
    kernel k(ring);
    for (int i = 0; i < 3; ++i) {
        ring.look_at(-ENOBUFS);
        ring.publish();
    }
    ASSERT_EQ(ring.shown(), 256U);
    // Once in a while many.
    for (int i = 0; i < 20'000; ++i) {
        turn(ring, k, i % 3000 == 0 ? 70 : 5);
    }
    EXPECT_EQ(ring.shown(), 256U);
    for (int i = 0; i < 40'000; ++i) {
        turn(ring, k, 5);
        ASSERT_GE(k.left(), ring.shown());
    }
    EXPECT_EQ(ring.shown(), ring.shown_min());
}

TEST(buffer_ring, a_small_one_is_shown_whole) {
    buffer_ring ring(4, 4096, buffer_ring::use::one_receive);
    ring.publish();
    kernel k(ring);
    for (int i = 0; i < 10'000; ++i) {
        EXPECT_EQ(k.left(), 4U);
        turn(ring, k, static_cast<std::size_t>(i % 5));
    }
}

// Before Linux 6.15 completions may come in another order than that of the ring.
TEST(buffer_ring, one_for_each_receive_needs_no_order) {
    buffer_ring ring(8, 4096, buffer_ring::use::one_receive);
    ring.publish();
    const auto* entries = reinterpret_cast<const uring_abi::ring_buffer*>(
        static_cast<std::uintptr_t>(ring.address()));
    std::uint16_t head = 0;
    for (int turns = 0; turns < 1000; ++turns) {
        std::vector<std::uint16_t> taken;
        for (int i = 0; i < 5; ++i) {
            taken.push_back(entries[head++ % 8].id);
        }
        EXPECT_EQ(std::set<std::uint16_t>(taken.begin(), taken.end()).size(), 5U);
        std::rotate(taken.begin(), taken.begin() + 1 + turns % 4, taken.end());
        for (const std::uint16_t id : taken) {
            EXPECT_EQ(ring.took(id, 100, false), ring.buffer(id));
        }
        ring.publish();
        // What the kernel may take is not lent.
        ASSERT_EQ(static_cast<std::uint16_t>(entries[0].reserved - head), 3U);
        for (std::uint16_t at = head; at != entries[0].reserved; ++at) {
            EXPECT_EQ(std::count(taken.begin(), taken.end(), entries[at % 8].id), 0);
        }
        for (const std::uint16_t id : taken) {
            ring.give(id);
        }
        ring.publish();
    }
}

// Receives that end without bytes have nothing to give back.
TEST(buffer_ring, what_holds_nothing_is_free_at_once) {
    buffer_ring ring(4, 4096, buffer_ring::use::one_receive);
    ring.publish();
    for (std::uint32_t i = 0; i < 100; ++i) {
        const auto* entries = reinterpret_cast<const uring_abi::ring_buffer*>(
            static_cast<std::uintptr_t>(ring.address()));
        EXPECT_EQ(ring.took(entries[i % 4].id, 0, false), nullptr);
        ring.publish();
    }
}

// ---- until_full: the kernel fills one after another ----

// io_uring/kbuf.c, io_kbuf_inc_commit().
class filling_kernel {
 public:
    explicit filling_kernel(buffer_ring& ring) : ring_(ring) {}

    struct received {
        std::uint32_t id;
        std::uint32_t bytes;
        bool more;
        char* data;  // where the kernel wrote
    };
    bool empty() const { return head_ == entries()[0].reserved; }
    // One receive of at most `bytes`.
    received receive(std::uint32_t bytes) {
        EXPECT_FALSE(empty());
        uring_abi::ring_buffer& e = entries()[head_ % ring_.entries()];
        auto* const to = reinterpret_cast<char*>(static_cast<std::uintptr_t>(e.address));
        const std::uint32_t got = std::min(bytes, e.bytes);
        EXPECT_GT(got, 0U);
        e.bytes -= got;
        const received done{e.id, got, e.bytes > 0, to};
        if (done.more) {
            e.address += got;
        } else {
            ++head_;
        }
        return done;
    }
    // The same, seen at once.
    received seen(std::uint32_t bytes) {
        const received r = receive(bytes);
        EXPECT_EQ(ring_.took(r.id, r.bytes, r.more), r.data);
        return r;
    }

 private:
    uring_abi::ring_buffer* entries() const {
        return reinterpret_cast<uring_abi::ring_buffer*>(
            static_cast<std::uintptr_t>(ring_.address()));
    }
    buffer_ring& ring_;
    std::uint16_t head_ = 0;
};

constexpr std::uint32_t large_bytes = limits::recv_large_factor * 4096 - limits::padding;

TEST(buffer_ring, one_that_is_begun_is_begun_again_when_nothing_of_it_is_lent) {
    buffer_ring ring(256, 4096, buffer_ring::use::until_full);
    ASSERT_TRUE(ring.ok());
    EXPECT_EQ(ring.entries(), 16U);
    ring.publish();
    filling_kernel k(ring);
    char* const first = k.seen(500).data;
    for (int turns = 0; turns < 1000; ++turns) {
        const auto second = k.seen(500);
        EXPECT_EQ(second.data, first + 500);
        ring.give(second.id);
        ring.give(second.id);  // the first one
        ring.publish();
        EXPECT_EQ(k.seen(500).data, first);
    }
    // One piece is still lent: what comes then lies behind all others.
    const auto kept = k.seen(100);
    ring.give(kept.id);
    ring.publish();
    EXPECT_EQ(k.seen(100).data, kept.data + 100);
}

TEST(buffer_ring, a_full_one_goes_round_when_all_of_it_was_given_back) {
    buffer_ring ring(64, 4096, buffer_ring::use::until_full);
    ASSERT_EQ(ring.entries(), 4U);
    ring.publish();
    filling_kernel k(ring);
    std::vector<filling_kernel::received> all;
    for (std::uint32_t left = 4 * large_bytes; left > 0;) {
        all.push_back(k.seen(10'000));
        left -= all.back().bytes;
    }
    std::set<std::uint32_t> ids;
    for (const auto& r : all) {
        ids.insert(r.id);
        std::fill_n(r.data, r.bytes, static_cast<char>(ids.size()));
    }
    EXPECT_EQ(ids.size(), 4U);
    // All but the last piece of the second one: nothing may be written there.
    const std::uint32_t second = all[all.size() / 4].id;
    bool kept = false;
    for (auto r = all.rbegin(); r != all.rend(); ++r) {
        if (r->id == second && !kept) {
            kept = true;
        } else {
            ring.give(r->id);
        }
    }
    ring.publish();
    for (std::uint32_t i = 0; i < 3; ++i) {
        EXPECT_NE(k.seen(large_bytes).id, second);
    }
    ring.give(second);
    ring.publish();
    EXPECT_EQ(k.seen(1).id, second);
}

// Completions that are not read yet when a turn begins: the submission queue was full in between.
TEST(buffer_ring, is_not_begun_again_behind_the_kernels_back) {
    for (const std::uint32_t unseen_bytes : {1U, large_bytes}) {
        buffer_ring ring(256, 4096, buffer_ring::use::until_full);
        ring.publish();
        filling_kernel k(ring);
        const auto seen = k.seen(500);
        ring.give(seen.id);
        const auto unseen = k.receive(unseen_bytes);
        EXPECT_EQ(unseen.data, seen.data + 500);
        ring.publish();
        EXPECT_EQ(ring.took(unseen.id, unseen.bytes, unseen.more), unseen.data);
        // Not over those bytes, whichever buffer it is.
        const auto next = k.seen(100);
        EXPECT_TRUE(next.id != unseen.id || next.data == unseen.data + unseen.bytes);
    }
}

// liburing issues 1545 and 1553: no "more" with the end of a stream, although the buffer goes on.
TEST(buffer_ring, an_end_without_bytes_fills_nothing) {
    buffer_ring ring(256, 4096, buffer_ring::use::until_full);
    ring.publish();
    filling_kernel k(ring);
    const auto one = k.seen(500);
    EXPECT_EQ(ring.took(one.id, 0, false), nullptr);
    const auto two = k.seen(500);
    EXPECT_EQ(two.data, one.data + 500);
    // A buffer that the kernel gave up without a word is over when the next one comes.
    ring.give(one.id);
    ring.give(one.id);
    buffer_ring other(256, 4096, buffer_ring::use::until_full);
    other.publish();
    const auto* entries = reinterpret_cast<const uring_abi::ring_buffer*>(
        static_cast<std::uintptr_t>(other.address()));
    const std::uint16_t first = entries[0].id;
    const std::uint16_t next = entries[1].id;
    EXPECT_EQ(other.took(first, 10, true), other.buffer(first));
    EXPECT_EQ(other.took(next, 10, true), other.buffer(next));
    EXPECT_EQ(other.took(next, 10, true), other.buffer(next) + 10);
}

// Any sequence of receives, gifts and turns: no byte that is lent is written, and all memory comes
// back.
TEST(buffer_ring, bytes_that_are_lent_are_never_written) {
    constexpr std::uint32_t bytes = limits::recv_large_factor * 256 - limits::padding;
    std::mt19937 random(7);
    const auto below = [&random](std::size_t n) {
        return static_cast<std::uint32_t>(random() % n);
    };
    std::size_t received = 0;
    for (int run = 0; run < 50; ++run) {
        buffer_ring ring(64, 256, buffer_ring::use::until_full);
        ring.publish();
        filling_kernel k(ring);
        std::map<char*, filling_kernel::received> lent;
        for (int step = 0; step < 500; ++step) {
            for (std::uint32_t n = below(4); n > 0 && !k.empty(); --n) {
                const auto r = k.seen(1 + below(bytes / 4));
                ++received;
                const auto after = lent.lower_bound(r.data);
                EXPECT_TRUE(after == lent.end() || r.data + r.bytes <= after->first);
                if (after != lent.begin()) {
                    const auto before = std::prev(after);
                    EXPECT_LE(before->first + before->second.bytes, r.data);
                }
                lent[r.data] = r;
            }
            if (k.empty()) {
                ring.look_at(-ENOBUFS);
            }
            while (!lent.empty() && below(3) > 0) {
                const auto one = std::next(lent.begin(), below(lent.size()));
                ring.give(one->second.id);
                lent.erase(one);
            }
            ring.publish();
        }
        for (const auto& [at, r] : lent) {
            ring.give(r.id);
        }
        ring.publish();
        for (std::size_t i = 0; i < ring.entries(); ++i) {
            EXPECT_EQ(k.seen(bytes).bytes, bytes);
        }
        EXPECT_TRUE(k.empty());
    }
    EXPECT_GT(received, 10'000U);
}

}  // namespace
}  // namespace pillion::io
