#include "crypto/key_ring.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/base64.hpp"

namespace pillion::crypto {
namespace {

class KeyRing : public ::testing::Test {
 protected:
    base::chunk_pool pool;
    base::arena memory{pool};
    std::string fault;
    const std::string first = std::string(64, 'a');
    const std::string second = std::string(63, '0') + "1";

    std::unique_ptr<key_ring> ring(const std::string& text) { return key_ring::parse(text, fault); }
};

TEST_F(KeyRing, WhatIsSealedOpens) {
    const auto keys = key_ring::random();
    for (const std::string& plain : {std::string(), std::string("x"), std::string(70'000, 'y')}) {
        const std::string_view text = keys->seal(plain, "context", memory);
        EXPECT_EQ(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                         "0123456789-_"),
                  text.npos);
        EXPECT_EQ(keys->open(text, "context", memory), plain);
    }
}

TEST_F(KeyRing, OnlyForTheSameContextAndKey) {
    const auto keys = key_ring::random();
    const std::string text(keys->seal("secret", "context", memory));
    EXPECT_FALSE(keys->open(text, "contexT", memory));
    EXPECT_FALSE(keys->open(text, "", memory));
    EXPECT_FALSE(keys->open(text, "context ", memory));
    EXPECT_FALSE(key_ring::random()->open(text, "context", memory));
}

TEST_F(KeyRing, EveryFlippedBitIsNoticed) {
    const auto keys = key_ring::random();
    const std::string text(keys->seal("a secret that is not long", "context", memory));
    std::string raw(base::base64::decoded_size_max(text.size()), '\0');
    raw.resize(*base::base64::decode(text, raw.data(), base::base64::form::url));
    for (std::size_t bit = 0; bit < raw.size() * 8; ++bit) {
        std::string bad = raw;
        bad[bit / 8] =
            static_cast<char>(static_cast<unsigned char>(bad[bit / 8]) ^ (1U << bit % 8));
        std::string changed(base::base64::encoded_size(bad.size(), base::base64::form::url), '\0');
        base::base64::encode(bad, changed.data(), base::base64::form::url);
        EXPECT_FALSE(keys->open(changed, "context", memory)) << bit;
    }
}

TEST_F(KeyRing, EveryTruncationAndAdditionIsNoticed) {
    const auto keys = key_ring::random();
    const std::string text(keys->seal("secret", "context", memory));
    for (std::size_t size = 0; size < text.size(); ++size) {
        EXPECT_FALSE(keys->open(text.substr(0, size), "context", memory)) << size;
    }
    EXPECT_FALSE(keys->open(text + "A", "context", memory));
    EXPECT_FALSE(keys->open(text + "AAAA", "context", memory));
    EXPECT_FALSE(keys->open(text + "-TAMPERED", "context", memory));
}

TEST_F(KeyRing, NoTwoSealsAreAlike) {
    const auto keys = key_ring::random();
    std::set<std::string> seen;
    for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(seen.emplace(keys->seal("same", "same", memory)).second);
    }
}

TEST_F(KeyRing, KeysRotate) {
    const auto before = ring(first);
    const auto during = ring(second + "\n" + first + "\n");
    const auto after = ring(second);
    ASSERT_TRUE(before && during && after);
    const std::string old(before->seal("x", "c", memory));
    const std::string fresh(during->seal("x", "c", memory));
    EXPECT_TRUE(during->open(old, "c", memory));
    EXPECT_FALSE(after->open(old, "c", memory));
    EXPECT_TRUE(after->open(fresh, "c", memory));
    EXPECT_FALSE(before->open(fresh, "c", memory));
}

TEST_F(KeyRing, ReadsKeysAsBase64AndHex) {
    const std::string raw(32, '\x5a');
    std::string base64(base::base64::encoded_size(32), '\0');
    base::base64::encode(raw, base64.data());
    const std::string hex = [] {
        std::string out;
        for (int i = 0; i < 32; ++i) {
            out += "5A";
        }
        return out;
    }();
    const auto a = ring("# ours\n\n  \n" + base64 + "\r\n");
    const auto b = ring(hex);
    ASSERT_TRUE(a && b) << fault;
    EXPECT_TRUE(a->open(b->seal("x", "", memory), "", memory));
    EXPECT_EQ(a->keys(), 1U);
}

TEST_F(KeyRing, FaultsNameTheLineAndNothingOfIt) {
    EXPECT_FALSE(ring("# none\n"));
    EXPECT_EQ(fault, "there is no key in it");
    EXPECT_FALSE(ring(first + "\nsecretsecret\n"));
    EXPECT_EQ(fault, "line 2 is no key of 32 bytes in base64 or hex");
    EXPECT_FALSE(ring(std::string(64, 'g')));
    EXPECT_FALSE(ring(std::string(1000, 'A')));
    std::string many;
    for (int i = 0; i < 17; ++i) {
        many += first + "\n";
    }
    EXPECT_FALSE(ring(many));
}

TEST(Sha256, OfTheStandardsExample) {
    // FIPS 180-2, appendix B.1.
    const auto sum = sha256("abc");
    EXPECT_EQ(sum[0], 0xba);
    EXPECT_EQ(sum[1], 0x78);
    EXPECT_EQ(sum[31], 0xad);
}

}  // namespace
}  // namespace pillion::crypto
