// object_memo: what a parser makes with it is what it makes without.
#include "json/object_memo.hpp"

#include <string>

#include <gtest/gtest.h>

#include "samples.hpp"

namespace pillion::json {
namespace {

using test::padded;
using test::written;

const std::string meta =
    R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28", "n":[1, -2.5e3, true, null],)"
    R"("io.modelcontextprotocol/clientInfo":{"name":"caf)"
    "\xC3\xA9"
    R"(","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}})";

std::string message(std::string_view value, std::string_view id = "1") {
    return R"({"id":)" + std::string(id) + R"(,"params":{"_meta": )" + std::string(value) +
           R"( ,"name":"echo"}})";
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
    return text.replace(text.find(what), what.size(), with);
}

bool knows(object_memo& memo, std::string_view text) {
    return memo.find(text.data(), text.data() + text.size()) != nullptr;
}

// Parses with the memo and without; both must say the same. True if it succeeded.
bool same_with(object_memo& memo, std::string_view text, const parse_limits& bounds = {}) {
    bool ok = false;
    for (const scan_variant v : test::variants()) {
        padded one(text);
        padded other(text);
        const parse_result plain = one.parse(v, bounds);
        const parse_result with = other.parse(v, bounds, &memo);
        ok = plain.ok;
        EXPECT_EQ(with.ok, plain.ok) << text;
        EXPECT_EQ(with.error.kind, plain.error.kind) << text;
        EXPECT_EQ(with.error.offset, plain.error.offset) << text;
        if (with.ok && plain.ok) {
            EXPECT_EQ(written(with.root), written(plain.root));
            EXPECT_TRUE(equal(with.root, plain.root));
        }
    }
    return ok;
}

TEST(object_memo, knows_an_object_again_wherever_it_stands) {
    object_memo memo("_meta");
    EXPECT_FALSE(knows(memo, meta));
    EXPECT_TRUE(same_with(memo, message(meta)));
    EXPECT_TRUE(knows(memo, meta));
    EXPECT_TRUE(knows(memo, meta + ",\"a\":1"));
    EXPECT_TRUE(same_with(memo, message(meta, "123456789")));
    EXPECT_TRUE(same_with(memo, R"({"_meta":)" + meta + "}"));
    EXPECT_TRUE(same_with(memo, R"([{"_meta":)" + meta + R"(},{"_meta":)" + meta + "}]"));
}

TEST(object_memo, what_it_makes_points_into_the_message) {
    object_memo memo("_meta");
    ASSERT_TRUE(same_with(memo, message(meta)));
    const std::string text = message(meta);
    padded input(text);
    const parse_result r = input.parse(test::variants().front(), {}, &memo);
    ASSERT_TRUE(r.ok);
    const std::string_view version =
        r.root["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].str();
    EXPECT_EQ(version.data(), input.data() + text.find("2026-07-28"));
    EXPECT_EQ(r.root["params"]["name"].str(), "echo");
}

TEST(object_memo, a_difference_in_any_byte_is_seen) {
    object_memo memo("_meta");
    ASSERT_TRUE(same_with(memo, message(meta)));
    for (std::size_t i = 0; i < meta.size(); ++i) {
        for (const int bit : {0x01, 0x20, 0x80}) {
            std::string other = meta;
            other[i] = static_cast<char>(other[i] ^ bit);
            EXPECT_FALSE(knows(memo, other)) << other;
            same_with(memo, message(other));
        }
        ASSERT_TRUE(same_with(memo, message(meta)));
    }
}

TEST(object_memo, an_object_that_is_cut_is_not_one_it_knows) {
    object_memo memo("_meta");
    const std::string text = message(meta);
    ASSERT_TRUE(same_with(memo, text));
    for (std::size_t size = 0; size < text.size(); ++size) {
        EXPECT_FALSE(same_with(memo, text.substr(0, size)));
    }
    for (std::size_t size = 0; size < meta.size(); ++size) {
        EXPECT_FALSE(knows(memo, std::string_view(meta).substr(0, size)));
    }
    EXPECT_TRUE(knows(memo, meta));
}

TEST(object_memo, only_members_of_its_name_are_kept) {
    object_memo memo("_meta");
    for (const char* name : {"_met", "_metal", "_Meta", "meta_", ""}) {
        ASSERT_TRUE(same_with(memo, R"({")" + std::string(name) + R"(":)" + meta + "}"));
        EXPECT_FALSE(knows(memo, meta)) << name;
    }
    ASSERT_TRUE(same_with(memo, R"({"_meta":[)" + meta + "]}"));
    EXPECT_FALSE(knows(memo, meta));
}

// In place of the escape its text comes to stand, so that the bytes kept would be others.
TEST(object_memo, what_is_rewritten_in_place_is_not_kept) {
    object_memo memo("_meta");
    const std::string escaped = replaced(meta, "protocol", "prot\\u006Fcol");
    const std::string read = replaced(meta, "protocol", "protocol\0\0\0\0\0");
    ASSERT_TRUE(same_with(memo, message(escaped)));
    EXPECT_FALSE(knows(memo, escaped));
    EXPECT_FALSE(knows(memo, read));
    // An escape before or behind it is none in it.
    ASSERT_TRUE(same_with(memo, R"(["\n",{"_meta":)" + meta + R"(},"\n"])"));
    EXPECT_TRUE(knows(memo, meta));
}

TEST(object_memo, what_is_too_small_or_too_large_is_parsed_each_time) {
    object_memo memo("_meta");
    const auto of_bytes = [](std::size_t bytes) {
        return R"({"a":")" + std::string(bytes - 8, 'x') + R"("})";
    };
    for (const std::size_t bytes : {object_memo::bytes_min, object_memo::bytes_max}) {
        ASSERT_TRUE(same_with(memo, message(of_bytes(bytes))));
        EXPECT_TRUE(knows(memo, of_bytes(bytes))) << bytes;
    }
    for (const std::size_t bytes : {object_memo::bytes_min - 1, object_memo::bytes_max + 1}) {
        ASSERT_TRUE(same_with(memo, message(of_bytes(bytes))));
        EXPECT_FALSE(knows(memo, of_bytes(bytes))) << bytes;
    }
    const auto of_nodes = [](std::size_t nodes) {
        std::string list = R"({"a":[)" + std::string(40, ' ') + "0";
        for (std::size_t i = 4; i < nodes; ++i) {
            list += ",0";
        }
        return list + "]}";
    };
    ASSERT_TRUE(same_with(memo, message(of_nodes(object_memo::nodes_max))));
    EXPECT_TRUE(knows(memo, of_nodes(object_memo::nodes_max)));
    ASSERT_TRUE(same_with(memo, message(of_nodes(object_memo::nodes_max + 1))));
    EXPECT_FALSE(knows(memo, of_nodes(object_memo::nodes_max + 1)));
}

TEST(object_memo, limits_hold_for_what_it_knows) {
    object_memo memo("_meta");
    const std::string deep = R"({"a":{"b":{"c":{"text":"long enough to be kept"}}}})";
    ASSERT_TRUE(same_with(memo, message(deep)));
    ASSERT_TRUE(knows(memo, deep));
    for (std::size_t depth = 1; depth < 12; ++depth) {
        EXPECT_EQ(same_with(memo, message(deep), {.depth_max = depth}), depth >= 6) << depth;
    }
    // Itself, id and 1, params, _meta, eight in it, name and its value.
    for (std::size_t nodes = 1; nodes < 30; ++nodes) {
        same_with(memo, message(deep), {.nodes_max = nodes});
    }
    EXPECT_TRUE(knows(memo, deep));
}

TEST(object_memo, keeps_several_and_who_comes_again_stays) {
    object_memo memo("_meta");
    const auto of_client = [](int i) { return replaced(meta, "\"1\"", std::to_string(100 + i)); };
    for (int i = 0; i < 4; ++i) {
        ASSERT_TRUE(same_with(memo, message(of_client(i))));
    }
    for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(knows(memo, of_client(i))) << i;
    }
    // The last one found outlasts any number of strangers.
    for (int i = 4; i < 40; ++i) {
        ASSERT_TRUE(same_with(memo, message(of_client(i))));
        ASSERT_TRUE(same_with(memo, message(of_client(3))));
        EXPECT_TRUE(knows(memo, of_client(3))) << i;
    }
}

TEST(object_memo, after_many_strangers_who_comes_again_is_kept_again) {
    object_memo memo("_meta");
    for (int i = 0; i < 1000; ++i) {
        ASSERT_TRUE(same_with(memo, message(replaced(meta, "\"1\"", std::to_string(1000 + i)))));
    }
    int rounds = 0;
    while (!knows(memo, meta) && rounds < 1000) {
        ASSERT_TRUE(same_with(memo, message(meta)));
        ++rounds;
    }
    EXPECT_LT(rounds, 200);
    EXPECT_TRUE(same_with(memo, message(meta)));
}

}  // namespace
}  // namespace pillion::json
