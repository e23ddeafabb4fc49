#include "base/base64.hpp"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace pillion::base {
namespace {

using base64::form;

std::string encoded(std::string_view bytes, form f = form::standard) {
    std::string out(base64::encoded_size(bytes.size(), f), '\0');
    EXPECT_EQ(base64::encode(bytes, out.data(), f), out.size());
    return out;
}

std::optional<std::string> decoded(std::string_view text, form f = form::standard) {
    std::string out(base64::decoded_size_max(text.size()), '\0');
    const auto size = base64::decode(text, out.data(), f);
    if (!size) {
        return std::nullopt;
    }
    out.resize(*size);
    return out;
}

// RFC 4648 §10.
TEST(base64, encodes_and_decodes_the_vectors_of_the_rfc) {
    const std::pair<const char*, const char*> vectors[] = {
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
    };
    for (const auto& [bytes, text] : vectors) {
        EXPECT_EQ(encoded(bytes), text);
        EXPECT_EQ(encoded(bytes, form::url_padded), text);
        const std::string bare = std::string(text).substr(0, std::string(text).find('='));
        EXPECT_EQ(encoded(bytes, form::url), bare);
        EXPECT_EQ(decoded(text), bytes);
        EXPECT_EQ(decoded(bare, form::url), bytes);
    }
}

TEST(base64, the_alphabets_do_not_mix) {
    EXPECT_EQ(encoded("\xFB\xEF\xFF"), "++//");
    EXPECT_EQ(encoded("\xFB\xEF\xFF", form::url), "--__");
    EXPECT_FALSE(decoded("--__"));
    EXPECT_FALSE(decoded("++//", form::url));
    EXPECT_EQ(decoded("--__", form::url_padded), "\xFB\xEF\xFF");
}

TEST(base64, padding_must_be_exact) {
    for (const char* text : {"Zg", "Zg=", "Zg===", "=", "==", "===", "====", "Z===", "Zm8",
                             "Zm8==", "Zm9v=", "Zm9v====", "Zg==Zg==", "Z=g=", "=Zg="}) {
        EXPECT_FALSE(decoded(text)) << text;
        EXPECT_FALSE(decoded(text, form::url_padded)) << text;
    }
    for (const char* text : {"Zg==", "Zm8=", "Zg=", "Z", "Zm9vZ"}) {
        EXPECT_FALSE(decoded(text, form::url)) << text;
    }
}

TEST(base64, unused_bits_must_be_zero) {
    EXPECT_FALSE(decoded("Zh=="));
    EXPECT_FALSE(decoded("Zm9="));
    EXPECT_FALSE(decoded("Zh", form::url));
    EXPECT_FALSE(decoded("Zm9", form::url));
}

TEST(base64, every_foreign_byte_is_refused_at_every_place) {
    const std::string good = encoded("12345678901234z");
    for (int byte = 0; byte < 256; ++byte) {
        const char c = static_cast<char>(byte);
        if (std::isalnum(byte) != 0 || c == '+' || c == '/') {
            continue;
        }
        for (std::size_t place = 0; place < good.size(); ++place) {
            std::string text = good;
            text[place] = c;
            // A '=' at the end is padding, behind bits that are not zero.
            EXPECT_FALSE(decoded(text)) << byte << " at " << place;
        }
    }
}

TEST(base64, every_length_round_trips_also_in_place) {
    std::mt19937 random(5);
    for (std::size_t size = 0; size < 200; ++size) {
        std::string bytes(size, '\0');
        for (char& c : bytes) {
            c = static_cast<char>(random());
        }
        for (const form f : {form::standard, form::url, form::url_padded}) {
            std::string text = encoded(bytes, f);
            EXPECT_EQ(decoded(text, f), bytes);
            const auto in_place = base64::decode(text, text.data(), f);
            ASSERT_TRUE(in_place);
            EXPECT_EQ(text.substr(0, *in_place), bytes);
        }
    }
}

TEST(base64, appends_to_a_buffer_and_leaves_it_alone_on_failure) {
    chunk_pool pool;
    byte_buffer out(pool);
    out.append("data:");
    base64::encode("foob", out);
    EXPECT_EQ(out.view(), "data:Zm9vYg==");
    EXPECT_TRUE(base64::decode("Zm9v", out));
    EXPECT_FALSE(base64::decode("Zm9vZ!==", out));
    EXPECT_EQ(out.view(), "data:Zm9vYg==foo");
    EXPECT_TRUE(base64::decode("", out));
    base64::encode("", out);
    EXPECT_EQ(out.size(), 16U);
}

}  // namespace
}  // namespace pillion::base
