// random, hash and clock: reference vectors, bounds, and that nothing is obviously broken.
#include "base/random.hpp"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/hash.hpp"

namespace pillion::base {
namespace {

TEST(os_random, fills_exactly_what_it_is_given) {
    for (std::size_t bytes = 0; bytes <= 64; ++bytes) {
        std::vector<unsigned char> memory(bytes + 2, 0xEE);
        os_random(memory.data() + 1, bytes);
        EXPECT_EQ(memory.front(), 0xEE);
        EXPECT_EQ(memory.back(), 0xEE);
    }
}

TEST(os_random, fills_a_megabyte) {
    std::vector<unsigned char> memory(1 << 20);
    os_random(memory.data(), memory.size());
    std::set<unsigned char> seen(memory.end() - 4096, memory.end());
    EXPECT_GT(seen.size(), 200U);
}

TEST(seeded_random, is_reproducible_and_depends_on_the_seed) {
    seeded_random a(7);
    seeded_random b(7);
    seeded_random c(8);
    for (int i = 0; i < 100; ++i) {
        const std::uint64_t value = a.next();
        EXPECT_EQ(value, b.next());
        EXPECT_NE(value, c.next());
    }
}

// xoshiro256** seeded by splitmix64 from 0, first outputs of the reference code.
TEST(seeded_random, matches_the_reference) {
    seeded_random zero(0);
    EXPECT_EQ(zero.next(), 0x99EC5F36CB75F2B4U);
    EXPECT_EQ(zero.next(), 0xBF6E1F784956452AU);
    EXPECT_EQ(zero.next(), 0x1A5F849D4933E6E0U);
}

TEST(seeded_random, below_reaches_every_value_and_no_other) {
    seeded_random random(1);
    for (std::uint64_t bound = 1; bound <= 16; ++bound) {
        std::set<std::uint64_t> seen;
        for (int i = 0; i < 1000; ++i) {
            const std::uint64_t value = random.below(bound);
            ASSERT_LT(value, bound);
            seen.insert(value);
        }
        EXPECT_EQ(seen.size(), bound);
    }
    EXPECT_TRUE(random.one_in(1));
    EXPECT_LT(random.below(UINT64_MAX), UINT64_MAX);
}

// The key 00 01 .. 0f and the messages "", 00, 00 01, … of the SipHash paper, with 1-3 rounds
// (vectors of the Rust standard library's test).
TEST(siphash13, matches_the_reference) {
    const hash_key key{0x0706050403020100U, 0x0F0E0D0C0B0A0908U};
    constexpr std::uint64_t expected[] = {
        0xABAC0158050FC4DCU,
        0xC9F49BF37D57CA93U,
        0x82CB9B024DC7D44DU,
        0x8BF80AB8E7DDF7FBU,
    };
    std::string message;
    for (const std::uint64_t value : expected) {
        EXPECT_EQ(siphash13(message, key), value) << message.size();
        message.push_back(static_cast<char>(message.size()));
    }
}

TEST(siphash13, every_byte_and_every_length_counts) {
    const hash_key key{1, 2};
    std::set<std::uint64_t> seen;
    for (std::size_t length = 0; length <= 40; ++length) {
        std::string message(length, '\0');
        EXPECT_TRUE(seen.insert(siphash13(message, key)).second);
        for (std::size_t i = 0; i < length; ++i) {
            message[i] = '\1';
            EXPECT_TRUE(seen.insert(siphash13(message, key)).second);
            message[i] = '\0';
        }
    }
    EXPECT_NE(siphash13("x", key), siphash13("x", hash_key{2, 1}));
}

TEST(hash_bytes, is_stable_within_the_process) {
    EXPECT_EQ(hash_bytes("session"), hash_bytes(std::string("session")));
    EXPECT_NE(hash_bytes("session"), hash_bytes("sessioo"));
    const hash_key& key = process_hash_key();
    EXPECT_FALSE(key.k0 == 0 && key.k1 == 0);
    EXPECT_EQ(bytes_hash()("a"), hash_bytes("a"));
}

TEST(name_hash, every_byte_and_every_length_counts) {
    std::set<std::size_t> seen;
    std::size_t names = 0;
    for (std::size_t size = 0; size <= 40; ++size) {
        std::string name(size, '\0');
        seen.insert(name_hash()(name));
        ++names;
        for (std::size_t at = 0; at < size; ++at) {
            for (const char byte : {'a', 'b', 'A', '_', '\xFF'}) {
                name[at] = byte;
                seen.insert(name_hash()(name));
                ++names;
            }
            name[at] = '\0';
        }
    }
    EXPECT_EQ(seen.size(), names);
    EXPECT_EQ(name_hash()("echo"), name_hash()(std::string("echo")));
}

TEST(clock, runs_forward) {
    const monotonic_ns before = monotonic_now();
    const std::int64_t after = monotonic_now_ns();
    EXPECT_LE(before.value, after);
    EXPECT_GT(unix_now_ms(), 1'600'000'000'000);
}

TEST(clock, adding_never_overflows) {
    EXPECT_EQ(monotonic_ns{5}.plus_ms(2), monotonic_ns{2 * ns_per_ms + 5});
    EXPECT_EQ(monotonic_ns{5}.plus_ms(INT64_MAX).value, INT64_MAX);
    EXPECT_EQ(monotonic_ns{INT64_MAX - 1}.plus_ms(1).value, INT64_MAX);
    EXPECT_EQ(monotonic_ns{-5}.plus_ms(INT64_MIN).value, INT64_MIN);
    EXPECT_LT(monotonic_ns{1}, monotonic_ns{2});
}

}  // namespace
}  // namespace pillion::base
