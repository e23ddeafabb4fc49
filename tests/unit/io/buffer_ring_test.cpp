// buffer_ring: what the kernel is shown, and in which order. The test is the kernel.
#include "io/buffer_ring.hpp"

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
        ring_.took();
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
    buffer_ring ring(256, 4096);
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
    buffer_ring ring(256, 4096);
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
    buffer_ring ring(256, 4096);
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
    buffer_ring ring(256, 4096);
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
    EXPECT_EQ(ring.shown(), buffer_ring::shown_min);
}

TEST(buffer_ring, a_small_one_is_shown_whole) {
    buffer_ring ring(4, 4096);
    ring.publish();
    kernel k(ring);
    for (int i = 0; i < 10'000; ++i) {
        EXPECT_EQ(k.left(), 4U);
        turn(ring, k, static_cast<std::size_t>(i % 5));
    }
}

}  // namespace
}  // namespace pillion::io
