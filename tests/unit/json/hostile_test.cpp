// Input made to be expensive. What is shown here is how far the parser goes and what it keeps; that
// it is fast follows, because every byte is looked at a bounded number of times.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "samples.hpp"

namespace pillion::json {
namespace {

using code = parse_error::code;

// Parses in place on every kind of vectors and hands the result to `check`.
template <class Check>
void on_every_path(const std::string& text, Check&& check) {
    for (const scan_variant v : test::variants()) {
        std::string bytes = text + std::string(limits::padding, '[');
        base::chunk_pool pool;
        base::arena memory(pool);
        check(parse(bytes.data(), text.size(), memory, {}, v));
    }
}

// 100 000 names of the same length and the same value under the common multiplicative hashes
// (33 * 'E' + 'z' == 33 * 'F' + 'Y').
std::vector<std::string> colliding_names() {
    std::vector<std::string> names;
    for (unsigned i = 0; i < 100'000; ++i) {
        std::string name;
        for (unsigned bit = 0; bit < 17; ++bit) {
            name += (i >> bit & 1U) != 0 ? "Ez" : "FY";
        }
        names.push_back(name);
    }
    return names;
}

std::string object_of(const std::vector<std::string>& names) {
    std::string text = "{";
    for (std::size_t i = 0; i < names.size(); ++i) {
        text += (i == 0 ? "\"" : ",\"") + names[i] + "\":" + std::to_string(i);
    }
    return text + "}";
}

TEST(json_hostile, ten_megabytes_of_brackets_end_at_the_depth_limit) {
    for (const char bracket : {'[', '{'}) {
        const std::string text(10 << 20, bracket);
        on_every_path(text, [&](const parse_result& r) {
            EXPECT_FALSE(r.ok);
            // Nothing behind the limit was looked at.
            EXPECT_EQ(r.error.kind, bracket == '[' ? code::depth : code::unexpected_byte);
            EXPECT_EQ(r.error.offset, bracket == '[' ? limits::json_depth_max : 1);
        });
    }
    std::string objects;
    while (objects.size() < 10 << 20) {
        objects += "{\"\":";
    }
    on_every_path(objects, [](const parse_result& r) {
        EXPECT_EQ(r.error.kind, code::depth);
        EXPECT_EQ(r.error.offset, limits::json_depth_max * 4);
    });
}

TEST(json_hostile, a_million_digits_are_one_node_and_no_integer) {
    const std::string digits(1'000'000, '7');
    on_every_path("[" + digits + "]", [&](const parse_result& r) {
        ASSERT_TRUE(r.ok);
        EXPECT_EQ(r.root[0].number_text(), digits);
        EXPECT_TRUE(r.root[0].is_integer());
        EXPECT_EQ(r.root[0].i64(), std::nullopt);
        EXPECT_EQ(r.root[0].u64(), std::nullopt);
        EXPECT_EQ(r.root[0].integral(), std::nullopt);
        EXPECT_EQ(r.root[0].f64(), std::nullopt);
        EXPECT_TRUE(equal(r.root[0], r.root[0]));
        EXPECT_EQ(test::written(r.root).size(), digits.size() + 2);
    });
    on_every_path("0." + std::string(1'000'000, '0') + "1e1000001", [](const parse_result& r) {
        ASSERT_TRUE(r.ok);
        EXPECT_EQ(r.root.f64(), 1.0);
        EXPECT_EQ(r.root.integral(), 1);
    });
    on_every_path("1e" + digits, [](const parse_result& r) {
        ASSERT_TRUE(r.ok);
        EXPECT_EQ(r.root.f64(), std::nullopt);
        EXPECT_EQ(r.root.integral(), std::nullopt);
    });
    on_every_path("[1" + digits + "x]", [&](const parse_result& r) {
        EXPECT_EQ(r.error.kind, code::unexpected_byte);
        EXPECT_EQ(r.error.offset, digits.size() + 2);
    });
}

// There is no hash to collide: a lookup goes over the members once.
TEST(json_hostile, a_hundred_thousand_colliding_names_are_found) {
    const std::vector<std::string> names = colliding_names();
    on_every_path(object_of(names), [&](const parse_result& r) {
        ASSERT_TRUE(r.ok);
        ASSERT_EQ(r.root.size(), names.size());
        for (std::size_t i = 0; i < names.size(); i += 9'999) {
            EXPECT_EQ(r.root[names[i]].i64(), static_cast<std::int64_t>(i));
            EXPECT_FALSE(has_duplicate_key(r.root, names[i]));
        }
        EXPECT_FALSE(r.root[std::string(34, 'E')].exists());
        std::size_t i = 0;
        for (const member m : r.root.members()) {
            ASSERT_EQ(m.key, names[i++]);
        }
        EXPECT_TRUE(equal(r.root, r.root));
    });
}

TEST(json_hostile, the_last_of_a_hundred_thousand_duplicates_counts) {
    const std::vector<std::string> names(100'000, "same");
    on_every_path(object_of(names), [&](const parse_result& r) {
        ASSERT_TRUE(r.ok);
        EXPECT_EQ(r.root["same"].i64(), 99'999);
        EXPECT_TRUE(has_duplicate_key(r.root, "same"));
        EXPECT_TRUE(equal(r.root, r.root));
    });
}

// A body of the largest size, nothing but separators: room for the nodes is bounded by nodes_max.
TEST(json_hostile, a_megabyte_of_commas_ends_at_the_first_of_them) {
    on_every_path("[1" + std::string(1 << 20, ','), [](const parse_result& r) {
        EXPECT_EQ(r.error.kind, code::unexpected_byte);
        EXPECT_EQ(r.error.offset, 3U);
    });
    std::string values = "[0";
    while (values.size() < 2 * limits::json_nodes_max + 100) {
        values += ",0";
    }
    on_every_path(values, [](const parse_result& r) {
        EXPECT_EQ(r.error.kind, code::nodes);
        EXPECT_EQ(r.error.offset, 2 * limits::json_nodes_max - 1);
    });
}

TEST(json_hostile, a_megabyte_of_escapes_becomes_one_text) {
    std::string text = "\"";
    std::string meant;
    while (text.size() < 1 << 20) {
        text += "\\u00e9\\n\\ud83d\\ude00x";
        meant += "\xC3\xA9\n\xF0\x9F\x98\x80x";
    }
    on_every_path(text + "\"", [&](const parse_result& r) {
        ASSERT_TRUE(r.ok);
        EXPECT_EQ(r.root.str(), meant);
    });
}

}  // namespace
}  // namespace pillion::json
