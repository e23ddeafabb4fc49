#include "json/writer.hpp"

#include <limits>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "samples.hpp"

namespace pillion::json {
namespace {

// Runs `steps` on a fresh writer and returns what it wrote.
template <class Steps>
std::string text_of(Steps&& steps) {
    base::chunk_pool pool;
    base::byte_buffer out(pool);
    writer w(out);
    steps(w);
    return std::string(out.view());
}

TEST(json_writer, sets_commas_by_itself) {
    EXPECT_EQ(text_of([](writer& w) {
                  w.begin_object();
                  w.key("a");
                  w.begin_array();
                  w.integer(-1);
                  w.unsigned_integer(UINT64_MAX);
                  w.number(0.5);
                  w.string("x");
                  w.boolean(true);
                  w.null();
                  w.raw("{}");
                  w.begin_array();
                  w.end_array();
                  w.end_array();
                  w.key_raw("\"b\":");
                  w.begin_object();
                  w.end_object();
                  w.key("");
                  w.string("");
                  w.end_object();
              }),
              R"({"a":[-1,18446744073709551615,0.5,"x",true,null,{},[]],"b":{},"":""})");
}

TEST(json_writer, fragments_join_values_without_double_commas) {
    EXPECT_EQ(text_of([](writer& w) {
                  w.fragment(R"({"jsonrpc":"2.0","id":)");
                  w.integer(7);
                  w.fragment(R"(,"result":)");
                  w.begin_object();
                  w.fragment("");
                  w.key("ok");
                  w.boolean(false);
                  w.end_object();
                  w.fragment("}");
              }),
              R"({"jsonrpc":"2.0","id":7,"result":{"ok":false}})");
}

TEST(json_writer, strings_of_every_length_and_escape_place_read_back) {
    for (std::size_t size = 0; size < 200; ++size) {
        for (std::size_t place = 0; place <= size; place += size % 16 == 0 ? 1 : 9) {
            for (const char c : {'\n', '"', '\\', '\x01', 'x'}) {
                std::string text(size, 'a');
                if (place < size) {
                    text[place] = c;
                }
                const std::string json = text_of([&](writer& w) { w.string(text); });
                ASSERT_EQ(json.find('\n'), std::string::npos);
                test::padded input(json);
                const parse_result r = input.parse();
                ASSERT_TRUE(r.ok) << json;
                ASSERT_EQ(r.root.str(), text);
            }
        }
    }
}

TEST(json_writer, never_writes_a_raw_newline) {
    std::mt19937 random(7);
    for (int i = 0; i < 5'000; ++i) {
        std::string bytes(random() % 100, '\0');
        for (char& c : bytes) {
            c = static_cast<char>(random() % 3 == 0 ? random() % 32 : random() % 256);
        }
        const std::string json = text_of([&](writer& w) {
            w.begin_array();
            w.string_lossy(bytes);
            w.end_array();
        });
        EXPECT_EQ(json.find_first_of("\r\n"), std::string::npos);
        test::padded input(json);
        ASSERT_TRUE(input.parse().ok) << json;
    }
    for (const std::string_view sample : test::samples) {
        test::padded input(sample);
        EXPECT_EQ(test::written(input.parse().root).find_first_of("\r\n"), std::string::npos);
    }
}

// The builder takes another way to the same text.
TEST(json_writer, lossy_strings_of_every_length_with_something_special_anywhere) {
    const std::string_view specials[] = {"\"",   "\n",       "\x01", "\xC3\xA9",
                                         "\xFF", "\xE2\x82", "\x7F"};
    for (const std::size_t size : {0U, 1U, 7U, 15U, 16U, 17U, 63U, 64U, 127U, 128U, 200U, 600U}) {
        for (const std::string_view special : specials) {
            for (std::size_t at = 0; at <= size; ++at) {
                std::string text(size, 'x');
                text.insert(at, special);
                text.insert(text.size() - at / 2, special);
                builder b;
                b.value(text);
                ASSERT_EQ(text_of([&](writer& w) { w.string_lossy(text); }), b.text())
                    << size << " " << at;
            }
        }
    }
}

TEST(json_writer, lossy_strings_replace_each_bad_sequence_once) {
    EXPECT_EQ(text_of([](writer& w) { w.string_lossy("a\xFF\xE2\x82z\xC3\xA9\n\xF0\x9F"); }),
              "\"a\xEF\xBF\xBD\xEF\xBF\xBDz\xC3\xA9\\n\xEF\xBF\xBD\"");
    EXPECT_EQ(text_of([](writer& w) { w.string_lossy(""); }), "\"\"");
}

TEST(json_writer, doubles_round_trip_and_non_finite_ones_are_null) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    EXPECT_EQ(text_of([](writer& w) { w.number(inf); }), "null");
    EXPECT_EQ(text_of([](writer& w) { w.number(-inf); }), "null");
    EXPECT_EQ(text_of([](writer& w) { w.number(std::nan("")); }), "null");
    EXPECT_EQ(text_of([](writer& w) { w.number(42); }), "42");
    EXPECT_EQ(text_of([](writer& w) { w.integer(INT64_MIN); }), "-9223372036854775808");
    std::mt19937_64 random(3);
    for (int i = 0; i < 20'000; ++i) {
        const std::uint64_t bits = random();
        double value = 0;
        std::memcpy(&value, &bits, sizeof(value));
        if (!std::isfinite(value)) {
            continue;
        }
        test::padded input(text_of([&](writer& w) { w.number(value); }));
        const parse_result r = input.parse();
        ASSERT_TRUE(r.ok);
        ASSERT_EQ(r.root.f64(), value);
    }
}

TEST(json_writer, what_was_parsed_is_written_compactly_and_reads_back_equal) {
    for (const std::string_view sample : test::samples) {
        test::padded input(sample);
        const parse_result first = input.parse();
        ASSERT_TRUE(first.ok);
        const std::string once = test::written(first.root);
        test::padded again(once);
        const parse_result second = again.parse();
        ASSERT_TRUE(second.ok) << once;
        EXPECT_TRUE(equal(first.root, second.root));
        EXPECT_EQ(test::written(second.root), once);
    }
    test::padded ids(R"([ 1, -0, 1.0, 1e0, 123456789012345678901234567890 ])");
    EXPECT_EQ(test::written(ids.parse().root), "[1,-0,1.0,1e0,123456789012345678901234567890]");
    EXPECT_EQ(test::written(view()), "null");
}

// A random value, at most `depth` containers deep.
void random_value(builder& b, std::mt19937& random, int depth) {
    switch (random() % (depth > 0 ? 8 : 6)) {
        case 0:
            b.value(nullptr);
            return;
        case 1:
            b.value(random() % 2 == 0);
            return;
        case 2:
            b.value(static_cast<std::int64_t>(random()) - 2'000'000'000);
            return;
        case 3:
            b.value(static_cast<double>(random()) / 1024);
            return;
        case 4:
        case 5: {
            std::string text(random() % 40, '\0');
            for (char& c : text) {
                c = static_cast<char>(random() % 256);
            }
            b.value(text);
            return;
        }
        case 6:
            b.begin_array();
            for (auto left = random() % 6; left > 0; --left) {
                random_value(b, random, depth - 1);
            }
            b.end_array();
            return;
        default:
            b.begin_object();
            for (auto left = random() % 6; left > 0; --left) {
                b.key(std::to_string(random() % 4) + "\n\"");
                random_value(b, random, depth - 1);
            }
            b.end_object();
    }
}

TEST(json_writer, random_documents_round_trip) {
    std::mt19937 random(42);
    for (int i = 0; i < 3'000; ++i) {
        builder b;
        random_value(b, random, 5);
        ASSERT_TRUE(b.complete());
        test::padded input(b.text());
        const parse_result r = input.parse();
        ASSERT_TRUE(r.ok) << b.text() << r.error.text;
        const std::string once = test::written(r.root);
        EXPECT_EQ(once, b.text());
        builder copy;
        copy.value(r.root);
        EXPECT_EQ(copy.text(), once);
    }
}

}  // namespace
}  // namespace pillion::json
