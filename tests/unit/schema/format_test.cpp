// Formats: what the public suite leaves open or does not try. The suite itself is suite_test.cpp.
#include <string>

#include <gtest/gtest.h>

#include "schema/formats.hpp"

namespace pillion::schema_check {
namespace {

struct format_case {
    const char* format;
    std::vector<std::string> good;
    std::vector<std::string> bad;
};

TEST(format, table) {
    const std::string long_label(63, 'a');
    const std::vector<format_case> cases = {
        {"date", {"2024-02-29", "0000-01-01"}, {"2023-02-29", "1900-02-29", "2024-13-01", ""}},
        {"time",
         {"23:59:60Z", "00:29:60-23:30"},
         {"23:59:60", "24:00:00Z", "1:00:00Z", "00:00:00."}},
        {"date-time", {"2024-01-01t00:00:00z"}, {"2024-01-01 00:00:00Z", "2024-01-01T"}},
        {"duration", {"P1Y", "PT1H2M", "P3W"}, {"P1H", "P1YT", "PT", "P1Y2D", "P1.5D"}},
        {"ipv4", {"0.0.0.0", "255.255.255.255"}, {"256.1.1.1", "01.1.1.1", "1.1.1", "1.1.1.1."}},
        {"ipv6",
         {"::", "::1", "1::", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1:2:3:4:5:6:1.2.3.4"},
         {":", ":::", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", "1:2:3:4:5:6:7:1.2.3.4", "::1%a",
          "1:2:3:4:5:6:7::8"}},
        {"uuid",
         {"2eb8aa08-aa98-11ea-b4aa-73b441d16380"},
         {"2eb8aa08aa9811eab4aa73b441d16380", ""}},
        {"json-pointer", {"", "/", "/a~0~1"}, {"a", "/~2", "/~"}},
        {"relative-json-pointer", {"0", "1/a", "0#"}, {"01", "-1", "1a", "#"}},
        {"uri", {"a:", "http://[::1]:80/?#", "urn:x:y"}, {"//a", "http://[::1", "a b:", "1a:b"}},
        {"uri-reference", {"", "a", "//a", "?", "#"}, {"a:b:\\", "%", "1:b", "#a#b"}},
        {"iri", {"http://\xC3\xA9/\xC3\xA9"}, {"\xC3\xA9", "http://a/\xEF\xBF\xBF"}},
        {"iri-reference", {"\xC3\xA9", ""}, {"\\", "http://[\xC3\xA9]"}},
        {"uri-template", {"", "{a}", "{+a,b*}", "a{?x:3}"}, {"{", "}", "{a:}", "{=a}", "{a b}"}},
        {"regex", {"a|b", "(?=a)"}, {"(", "\\q"}},
        {"hostname",
         {"a", "a.b", long_label, "xn--bcher-kva.example", "XN--bcher-KVA"},
         {"", ".", "a.", "-a", "a_b", long_label + "a", "xn--", "xn--a", "b\xC3\xBC"}},
        {"idn-hostname",
         {"b\xC3\xBC"
          "cher.example",
          "\xE4\xBE\x8B\xE3\x80\x82\xE4\xBE\x8B"},
         {"b\xC3\xBC cher",
          "\xCC\x80"
          "a",
          "\xC3\xBC.", "\xEF\xBC\xA1"}},
        {"email",
         {"a@b", "a.b+c@b.example", "\"a b\"@b", "a@[127.0.0.1]", "a@[IPv6:::1]"},
         {"a", "@b", "a@", ".a@b", "a..b@c", "\"a@b", "a@[1.2.3]", "a@b@c", "\xC3\xA9@b"}},
        {"idn-email", {"\xC3\xA9@b\xC3\xBC.example"}, {"\xC3\xA9", "\xC3\xA9@", "a\xC3\xA9@-"}},
    };
    for (const format_case& c : cases) {
        const format_check check = find_format(c.format);
        ASSERT_NE(check, nullptr) << c.format;
        for (const std::string& text : c.good) {
            EXPECT_TRUE(check(text)) << c.format << ' ' << text;
        }
        for (const std::string& text : c.bad) {
            EXPECT_FALSE(check(text)) << c.format << ' ' << text;
        }
    }
    EXPECT_EQ(cases.size(), 19U);
}

TEST(format, unknown_names_are_not_known) {
    for (const char* name : {"", "Date", "color", "date-time "}) {
        EXPECT_EQ(find_format(name), nullptr) << name;
    }
}

// Any cut of a good text is answered, and never read behind.
TEST(format, every_truncation_is_answered) {
    const std::pair<const char*, std::string> texts[] = {
        {"date-time", "2024-02-29T23:59:60.123+00:00"},
        {"duration", "P1Y2M3DT4H5M6S"},
        {"ipv6", "1:2:3::ffff:1.2.3.4"},
        {"uri", "http://u:p@[v1.a:b]:80/a%20b?c=d#e"},
        {"iri-reference", "//\xC3\xA9/\xF0\x9F\x90\xB2?\xEE\x80\x80"},
        {"uri-template", "a{+b,c:12}{?d*}%41"},
        {"hostname", "xn--ngba5hb2804a.xn--4dbc5h"},
        {"idn-hostname", "\xD7\x90\xD7\xB3\xD7\x91.\xE3\x83\xBB\xE3\x81\x81"},
        {"email", "\"a\\\"b\"@[IPv6:::1]"},
        {"regex", "(?<n>[a-\\u{1F600}]\\k<n>){2,3}?"},
    };
    for (const auto& [name, text] : texts) {
        const format_check check = find_format(name);
        for (std::size_t size = 0; size <= text.size(); ++size) {
            // A copy of its own, so that a sanitizer sees the end.
            const std::string cut(text.data(), size);
            const bool first = check(cut);
            EXPECT_EQ(check(cut), first);
        }
        EXPECT_TRUE(check(text)) << text;
    }
}

}  // namespace
}  // namespace pillion::schema_check
