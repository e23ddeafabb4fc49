// password: what is kept of one opens to it alone, and to what others compute (RFC 7914 §11).
#include "crypto/password.hpp"

#include <gtest/gtest.h>

#include "crypto/base64url.hpp"
#include "crypto/mbedtls_compat.hpp"

namespace pillion::crypto {
namespace {

TEST(password, its_hash_opens_to_it_alone) {
    password_hash made = password_hash::of("correct horse");
    EXPECT_EQ(made.iterations, password_hash::iterations_usual);
    const auto again = password_hash::parse(made.text());
    ASSERT_TRUE(again) << made.text();
    EXPECT_TRUE(again->is_of("correct horse"));
    EXPECT_FALSE(again->is_of("correct horse "));
    EXPECT_FALSE(again->is_of(""));
    EXPECT_NE(password_hash::of("correct horse").hash, made.hash);
}

TEST(password, a_vector_of_the_rfc) {
    unsigned char out[64];
    ASSERT_EQ(compat::pbkdf2_sha256("Password", "NaCl", 80'000, out, sizeof out), 0);
    EXPECT_EQ(to_base64url({reinterpret_cast<const char*>(out), 8}), "TdzY9guYviE");
    ASSERT_EQ(compat::pbkdf2_sha256("passwd", "salt", 1, out, sizeof out), 0);
    EXPECT_EQ(to_base64url({reinterpret_cast<const char*>(out), 8}), "VawEblbjCJ8");
}

TEST(password, every_truncation_and_change_is_none) {
    const std::string text =
        "pbkdf2-sha256$10000$AAAAAAAAAAAAAAAAAAAAAA$"
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    ASSERT_TRUE(password_hash::parse(text));
    EXPECT_EQ(password_hash::parse(text)->text(), text);
    for (std::size_t i = 0; i < text.size(); ++i) {
        EXPECT_FALSE(password_hash::parse(text.substr(0, i))) << i;
        std::string changed = text;
        changed[i] = '=';
        EXPECT_FALSE(password_hash::parse(changed)) << i;
    }
    EXPECT_FALSE(password_hash::parse(text + "A"));
    EXPECT_FALSE(password_hash::parse(text + "$"));
}

}  // namespace
}  // namespace pillion::crypto
