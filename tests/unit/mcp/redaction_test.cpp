#include <string>

#include <gtest/gtest.h>

#include "mcp/safe_text.hpp"

namespace pillion::mcp {
namespace {

struct level_case {
    const char* said;
    const char* tool;    // secrets and stack traces are gone
    const char* inside;  // … places and SQL as well
    const char* strict;
};

std::string cleaned(std::string_view said, bool places, bool strict) {
    base::chunk_pool pool;
    base::arena memory(pool);
    redaction how;
    how.places = places;
    how.strict = strict;
    return std::string(redact(said, how, memory));
}

void expect(const level_case& want) {
    SCOPED_TRACE(want.said);
    EXPECT_EQ(cleaned(want.said, false, false), want.tool);
    EXPECT_EQ(cleaned(want.said, true, false), want.inside);
    EXPECT_EQ(cleaned(want.said, false, true), want.strict);
}

TEST(redaction, what_people_write_stays) {
    for (const char* said : {
             "",
             " ",
             "The city is not known",
             "Unexpected token: }",
             "a and/or b, 10:30 or 12:30:45",
             "The password is wrong",
             "days must be between 1 and 14",
             "It costs 1.50 EUR (3 %)",
             "application/json is not text/plain",
             "Please select a city from the list",
             "Basic authentication is not enough",
             "At once. Line 3, column 7.",
             "Größe: 3 µm",
         }) {
        expect({said, said, said, said});
    }
}

TEST(redaction, secrets_never_stay) {
    for (const char* said : {
             "password=hunter2",
             "{\"password\":\"hunter2\",\"user\":\"ada\"}",
             "https://ada:hunter2@example.com/",
             "PASSWORD:hunter2",
             "?api_key=hunter2",
             "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.",
             "ghp_0123456789abcdefABCDEF0123456789abcd",
             "AKIAIOSFODNN7EXAMPLE",
             "sk-proj-0123456789abcdef",
             "access_token=abcdef123",
         }) {
        const std::string text = "before " + std::string(said) + " behind";
        SCOPED_TRACE(text);
        EXPECT_EQ(cleaned(text, false, false), "before [removed] behind");
        EXPECT_EQ(cleaned(text, false, true), "before [removed] behind");
    }
    const level_case rows[] = {
        {"password: hunter2 x", "password: [removed] x", "password: [removed] x",
         "password: [removed] x"},
        {"password = hunter2 x", "password = [removed] x", "password = [removed] x",
         "password = [removed] x"},
        {"pwd=\"a b c\" x", "[removed] x", "[removed] x", "[removed] x"},
        {"Authorization: Bearer abc.def-123 x", "Authorization: [removed] x",
         "Authorization: [removed] x", "Authorization: [removed] x"},
        {"a Bearer 0123456789abcdef x", "a Bearer [removed] x", "a Bearer [removed] x",
         "a Bearer [removed] x"},
    };
    for (const level_case& row : rows) {
        expect(row);
    }
}

TEST(redaction, places_by_strictness) {
    const level_case rows[] = {
        {"cannot open /etc/shadow: no", "cannot open /etc/shadow: no", "cannot open [removed] no",
         "cannot open [removed] no"},
        {"x (file:///srv/a.txt) y", "x (file:///srv/a.txt) y", "x [removed] y", "x [removed] y"},
        {"x C:\\Users\\ada y", "x C:\\Users\\ada y", "x [removed] y", "x [removed] y"},
        {"x ~/.ssh/id_rsa y", "x ~/.ssh/id_rsa y", "x [removed] y", "x [removed] y"},
        {"x docs/setup.md y", "x docs/setup.md y", "x docs/setup.md y", "x [removed] y"},
        {"x db01.corp.internal:5432 y", "x db01.corp.internal:5432 y", "x [removed] y",
         "x [removed] y"},
        {"x 10.0.12.7 y", "x 10.0.12.7 y", "x [removed] y", "x [removed] y"},
        {"x [fe80::1] y", "x [fe80::1] y", "x [removed] y", "x [removed] y"},
        {"x postgres://db/orders y", "x postgres://db/orders y", "x [removed] y", "x [removed] y"},
        {"x https://example.com/a y", "x https://example.com/a y", "x https://example.com/a y",
         "x [removed] y"},
        {"x ada@example.com y", "x ada@example.com y", "x ada@example.com y", "x [removed] y"},
        {"x engine.cpp:42: y", "x engine.cpp:42: y", "x [removed] y", "x [removed] y"},
        {"x 0x7f3a2b1c y", "x 0x7f3a2b1c y", "x 0x7f3a2b1c y", "x [removed] y"},
    };
    for (const level_case& row : rows) {
        expect(row);
    }
}

TEST(redaction, sql_goes_from_its_first_word_on) {
    for (const char* sql : {
             "SELECT name FROM users WHERE id",
             "select * from users",
             "INSERT INTO t VALUES (1)",
             "delete from orders where id = 1",
             "UPDATE users SET admin",
             "drop table students",
         }) {
        const std::string text = "failed: " + std::string(sql);
        EXPECT_EQ(cleaned(text, false, false), text);
        EXPECT_EQ(cleaned(text, true, false), "failed: [removed]");
        EXPECT_EQ(cleaned(text, false, true), "failed: [removed]");
    }
}

TEST(redaction, stack_traces_go_and_strictly_all_lines_but_the_first) {
    const char* const traces[] = {
        "boom\n    at Object.run (x.js)\n    at main",
        "boom\n#0 run ()\n#1 main ()",
        "boom\nTraceback (most recent call last):\n  File \"x\", line 3, in f",
        "boom\nCaused by: worse\n\tat a.b.C",
    };
    for (const char* trace : traces) {
        EXPECT_EQ(cleaned(trace, false, false), "boom") << trace;
        EXPECT_EQ(cleaned(trace, false, true), "boom") << trace;
    }
    EXPECT_EQ(cleaned("one\ntwo", false, false), "one\ntwo");
    EXPECT_EQ(cleaned("one\ntwo", false, true), "one");
}

// The value that is waited for may never come: the empty word behind the last blank is none.
TEST(redaction, names_of_secrets_at_the_end_of_a_line) {
    for (const char* said : {"the password: ", "password = ", "Bearer ", "pwd=\n", "token: \n "}) {
        for (const bool strict : {false, true}) {
            const std::string text = cleaned(said, true, strict);
            EXPECT_EQ(text, std::string_view(said).substr(0, text.size())) << said;
        }
    }
}

// A word of nothing but = was looked at once for every = before: 1 MiB took minutes.
TEST(redaction, takes_linear_time) {
    const std::string signs(1 << 20, '=');
    EXPECT_EQ(cleaned(signs, true, true), signs);
    const std::string names = "x" + signs + "password=x";
    EXPECT_EQ(cleaned(names, false, false), "[removed]");
}

// Twice: what was cleaned is clean.
TEST(redaction, again_and_again_changes_nothing) {
    const char* const said =
        "a /etc/x b password=c d select * from t\n at x\nBearer 0123456789abcdef /y a\x01 z";
    for (const bool strict : {false, true}) {
        const std::string once = cleaned(said, true, strict);
        EXPECT_EQ(cleaned(once, true, strict), once);
    }
}

TEST(redaction, every_cut_of_a_text_is_survived) {
    const std::string said =
        "x password=\"a b\" Authorization: Basic YWRhOmh1bnRlcjI= C:\\x \\\\srv\\y ://a@b:c "
        "10.0.0.1 SELECT a FROM b;\n  at z\nfile:/ ~/ 'pwd'= ";
    for (std::size_t i = 0; i <= said.size(); ++i) {
        for (const bool strict : {false, true}) {
            const std::string text = cleaned(std::string_view(said).substr(i), true, strict);
            EXPECT_LE(text.size(), 10 * said.size());
            cleaned(std::string_view(said).substr(0, i), true, strict);
        }
    }
}

TEST(redaction, pointers_keep_only_names_of_fields) {
    base::chunk_pool pool;
    base::arena memory(pool);
    EXPECT_EQ(safe_pointer("", memory), "");
    EXPECT_EQ(safe_pointer("/city/0/na-me", memory), "/city/0/na-me");
    EXPECT_EQ(safe_pointer("field", memory), "field");
    EXPECT_EQ(safe_pointer("/<b>hi</b>/x", memory), "/*/*/x");
    EXPECT_EQ(safe_pointer("/" + std::string(65, 'a'), memory), "/*");
    EXPECT_EQ(safe_pointer("/a b//c", memory), "/*//c");
}

}  // namespace
}  // namespace pillion::mcp
