// media: types by name, text or not, dates against the C library.
#include "files/media.hpp"

#include <ctime>
#include <string>

#include <gtest/gtest.h>

namespace pillion::files {
namespace {

TEST(media, type_by_extension_ignores_case_and_directories) {
    EXPECT_EQ(mime_by_name("a/README.md"), "text/markdown");
    EXPECT_EQ(mime_by_name("PHOTO.JPG"), "image/jpeg");
    EXPECT_EQ(mime_by_name("x.7z"), "application/x-7z-compressed");
    EXPECT_EQ(mime_by_name("x.zst"), "application/zstd");
    EXPECT_EQ(mime_by_name("a/b.TS"), "text/x-typescript");
    EXPECT_EQ(mime_by_name("notes.ipynb"), "application/x-ipynb+json");
    EXPECT_EQ(mime_by_name("favicon.ico"), "image/vnd.microsoft.icon");
    for (const std::string_view unknown :
         {"", "Makefile", ".md", "a.md/b", "x.", "x.unknownext", "x.m\xC3\xA9", "x.zzz"}) {
        EXPECT_EQ(mime_by_name(unknown), "") << unknown;
    }
    EXPECT_EQ(mime_type("Makefile", true), "text/plain");
    EXPECT_EQ(mime_type("core", false), "application/octet-stream");
}

TEST(media, text_is_valid_utf8_without_nul) {
    EXPECT_TRUE(is_text(""));
    EXPECT_TRUE(is_text("gr\xC3\xBC\xC3\x9F\n"));
    EXPECT_FALSE(is_text(std::string_view("a\0b", 3)));
    EXPECT_FALSE(is_text("a\xFF"));
    EXPECT_EQ(text_prefix(std::string_view("ab\0c", 4)), 2U);
}

TEST(media, a_character_cut_anywhere_is_still_the_start_of_text) {
    const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80";
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        EXPECT_TRUE(is_text_start(std::string_view(text).substr(0, cut))) << cut;
    }
    EXPECT_FALSE(is_text_start("a\xFF"));
    EXPECT_FALSE(is_text_start("a\xC3(b"));
    EXPECT_FALSE(is_text_start("\x80"));
    EXPECT_FALSE(is_text_start("\xE2\x82\xE2\x82"));
}

TEST(media, dates_agree_with_the_c_library) {
    EXPECT_EQ(iso8601(0), "1970-01-01T00:00:00Z");
    EXPECT_EQ(iso8601(951'782'400), "2000-02-29T00:00:00Z");
    EXPECT_EQ(iso8601(-62'167'219'200), "0000-01-01T00:00:00Z");
    EXPECT_EQ(iso8601(253'402'300'799), "9999-12-31T23:59:59Z");
    EXPECT_EQ(iso8601(253'402'300'800), "");
    EXPECT_EQ(iso8601(-62'167'219'201), "");
    for (std::int64_t day = -700'000; day < 2'900'000; day += 13) {
        const std::time_t at = day * 86'400 + (day * 7919) % 86'400;
        if (at < -62'000'000'000 || at > 253'402'300'799) {
            continue;
        }
        std::tm parts{};
        gmtime_r(&at, &parts);
        char expected[64];
        std::snprintf(expected, sizeof expected, "%04d-%02d-%02dT%02d:%02d:%02dZ",
                      parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                      parts.tm_min, parts.tm_sec);
        ASSERT_EQ(iso8601(at), expected);
    }
}

}  // namespace
}  // namespace pillion::files
