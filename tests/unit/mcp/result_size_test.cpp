// How large results are as JSON, and where texts are cut.
#include "mcp/result_size.hpp"

#include <cstdint>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "base/chunk.hpp"
#include "base/utf8.hpp"
#include "json/writer.hpp"
#include "mcp/content_writer.hpp"

namespace pillion::mcp {
namespace {

std::size_t written(std::string_view text) {
    base::chunk_pool pool;
    base::byte_buffer out(pool);
    json::writer(out).string_lossy(text);
    return out.size() - 2;
}

std::string random_text(std::mt19937& random, bool valid) {
    static constexpr const char* parts[] = {
        "a", "\"", "\\", "\n", "\x01", "\x7F", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};
    std::string out;
    for (std::size_t i = random() % 40; i > 0; --i) {
        out += parts[random() % std::size(parts)];
        if (!valid && random() % 8 == 0) {
            out += static_cast<char>(0x80 + random() % 0x80);
        }
    }
    return out;
}

TEST(result_size, is_what_the_writer_makes_of_it_or_more_where_it_is_broken) {
    std::mt19937 random(7);
    for (int i = 0; i < 2000; ++i) {
        const std::string good = random_text(random, true);
        EXPECT_EQ(json_size(good), written(good)) << good;
        const std::string bad = random_text(random, false);
        EXPECT_GE(json_size(bad), written(bad)) << bad;
    }
}

TEST(result_size, a_text_is_cut_between_characters_at_every_room) {
    std::mt19937 random(8);
    for (int i = 0; i < 200; ++i) {
        const std::string text = random_text(random, i % 4 != 0);
        for (std::size_t room = 0; room <= json_size(text) + 1; ++room) {
            const fitted fit = fit_text(text, room);
            const std::string_view part = std::string_view(text).substr(0, fit.bytes);
            EXPECT_LE(written(part), room);
            EXPECT_LE(fit.json_bytes, room);
            if (i % 4 != 0) {
                EXPECT_TRUE(base::utf8::validate(part));
                EXPECT_EQ(written(part), fit.json_bytes);
                // No character more would have gone in.
                const std::size_t next = fit.bytes + 4 < text.size() ? fit.bytes + 4 : text.size();
                EXPECT_TRUE(fit.bytes == text.size() ||
                            json_size(std::string_view(text).substr(0, next)) > room);
            }
        }
        EXPECT_EQ(fit_text(text, json_size(text)).bytes, text.size());
    }
}

// What is said of a content counts as its text does: a message never outgrows what was measured.
TEST(result_size, is_enough_for_a_content_that_says_all_there_is) {
    base::chunk_pool pool;
    const std::string json = R"({"a":")" + std::string(300, 'x') + "\"}";
    const detail::content_extras extras{json, json, json};
    using kind = detail::content_node::kind;
    for (const kind what : {kind::text, kind::image, kind::audio, kind::resource_text,
                            kind::resource_blob, kind::link}) {
        detail::content_node n;
        n.what = what;
        n.size = INT64_MAX;
        n.title = n.description = n.name = n.mime_type = n.uri = n.body = "x";
        n.annotations =
            content_annotations(true, true, 0.12345678901234568, "2026-01-01T00:00:00Z");
        n.annotated = true;
        n.extras = &extras;
        for (std::size_t r = 0; r < revisions; ++r) {
            base::byte_buffer out(pool);
            json::writer w(out);
            write_content(w, n, static_cast<revision>(r));
            EXPECT_LE(out.size(), json_size(n));
        }
    }
}

}  // namespace
}  // namespace pillion::mcp
