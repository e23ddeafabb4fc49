// The vectors of JSONTestSuite (Nicolas Seriot, "Parsing JSON is a minefield").
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "samples.hpp"

namespace pillion::json {
namespace {

// What the standard leaves open (i_), and what we do: everything that is not valid UTF-8 or not
// valid UTF-16 in escapes, and the byte order mark, is refused; numbers of any size are kept; the
// one document deeper than our limit is refused.
const std::map<std::string, bool> open_questions = {
    {"i_number_double_huge_neg_exp.json", true},
    {"i_number_huge_exp.json", true},
    {"i_number_neg_int_huge_exp.json", true},
    {"i_number_pos_double_huge_exp.json", true},
    {"i_number_real_neg_overflow.json", true},
    {"i_number_real_pos_overflow.json", true},
    {"i_number_real_underflow.json", true},
    {"i_number_too_big_neg_int.json", true},
    {"i_number_too_big_pos_int.json", true},
    {"i_number_very_big_negative_int.json", true},
    {"i_object_key_lone_2nd_surrogate.json", false},
    {"i_string_1st_surrogate_but_2nd_missing.json", false},
    {"i_string_1st_valid_surrogate_2nd_invalid.json", false},
    {"i_string_UTF-16LE_with_BOM.json", false},
    {"i_string_UTF-8_invalid_sequence.json", false},
    {"i_string_UTF8_surrogate_U+D800.json", false},
    {"i_string_incomplete_surrogate_and_escape_valid.json", false},
    {"i_string_incomplete_surrogate_pair.json", false},
    {"i_string_incomplete_surrogates_escape_valid.json", false},
    {"i_string_invalid_lonely_surrogate.json", false},
    {"i_string_invalid_surrogate.json", false},
    {"i_string_invalid_utf-8.json", false},
    {"i_string_inverted_surrogates_U+1D11E.json", false},
    {"i_string_iso_latin_1.json", false},
    {"i_string_lone_second_surrogate.json", false},
    {"i_string_lone_utf8_continuation_byte.json", false},
    {"i_string_not_in_unicode_range.json", false},
    {"i_string_overlong_sequence_2_bytes.json", false},
    {"i_string_overlong_sequence_6_bytes.json", false},
    {"i_string_overlong_sequence_6_bytes_null.json", false},
    {"i_string_truncated-utf-8.json", false},
    {"i_string_utf16BE_no_BOM.json", false},
    {"i_string_utf16LE_no_BOM.json", false},
    {"i_structure_500_nested_arrays.json", false},
    {"i_structure_UTF-8_BOM_empty_object.json", false},
};

std::string contents(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

// The verdict on one vector, the same on every kind of vectors the machine has.
void judge(const std::string& name, const std::string& text, scan_variant v) {
    test::padded input(text);
    const parse_result r = input.parse(v);
    if (name.starts_with("i_")) {
        const auto known = open_questions.find(name);
        ASSERT_NE(known, open_questions.end()) << name;
        EXPECT_EQ(r.ok, known->second) << name;
    } else {
        EXPECT_EQ(r.ok, name.starts_with("y_")) << name << ": " << r.error.text;
    }
    if (!r.ok) {
        EXPECT_LE(r.error.offset, text.size()) << name;
        return;
    }
    const std::string once = test::written(r.root);
    test::padded again(once);
    const parse_result second = again.parse(v);
    ASSERT_TRUE(second.ok) << name;
    EXPECT_TRUE(equal(r.root, second.root)) << name;
}

TEST(json_suite, every_vector_is_accepted_or_refused_as_it_should_on_every_path) {
    const auto folder = test::shared_data() / "JSONTestSuite" / "test_parsing";
    if (!std::filesystem::is_directory(folder)) {
        GTEST_SKIP() << "JSONTestSuite is not there (set PILLION_SHARED)";
    }
    std::size_t seen = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (!name.ends_with(".json")) {
            continue;
        }
        ++seen;
        const std::string text = contents(entry.path());
        for (const scan_variant v : test::variants()) {
            judge(name, text, v);
        }
    }
    EXPECT_GT(seen, 300U);
}

}  // namespace
}  // namespace pillion::json
