#include "mcp/revision.hpp"

#include <string>

#include <gtest/gtest.h>

#include "json/document.hpp"

namespace pillion::mcp {
namespace {

constexpr std::string_view revision_names[] = {"2024-11-05", "2025-03-26", "2025-06-18",
                                               "2025-11-25", "2026-07-28"};

TEST(revision, names_and_revisions_are_one_to_one) {
    for (std::size_t i = 0; i < revisions; ++i) {
        EXPECT_EQ(name_of(static_cast<revision>(i)), revision_names[i]);
        ASSERT_TRUE(find_revision(revision_names[i]).has_value());
        EXPECT_EQ(*find_revision(revision_names[i]), static_cast<revision>(i));
    }
    EXPECT_EQ(name_of(modern), "2026-07-28");
    EXPECT_EQ(name_of(latest_legacy), "2025-11-25");
}

TEST(revision, near_misses_are_unknown) {
    for (const std::string_view good : revision_names) {
        std::string text(good);
        EXPECT_FALSE(find_revision(text + " "));
        EXPECT_FALSE(find_revision(text.substr(0, text.size() - 1)));
        for (char& c : text) {
            const char was = c;
            c = c == '9' ? '8' : static_cast<char>(c + 1);
            const auto found = find_revision(text);
            EXPECT_TRUE(!found || name_of(*found) == text);
            c = was;
        }
    }
    EXPECT_FALSE(find_revision(""));
    EXPECT_FALSE(find_revision("DRAFT-2026-v1"));
}

TEST(revision, all_are_listed_newest_first) {
    const auto doc = json::document::parse(all_revisions_json());
    ASSERT_TRUE(doc.ok());
    ASSERT_EQ(doc->root().size(), revisions);
    for (std::size_t i = 0; i < revisions; ++i) {
        EXPECT_EQ(doc->root()[i].str(), revision_names[revisions - 1 - i]);
    }
}

// Each feature from the revision on that brought it (REVISIONS §6.3); batches in one alone.
TEST(revision, features_by_revision) {
    const auto since = [](bool (*has)(revision) noexcept) {
        std::size_t first = revisions;
        for (std::size_t i = revisions; i-- > 0 && has(static_cast<revision>(i));) {
            first = i;
        }
        for (std::size_t i = 0; i < first; ++i) {
            EXPECT_FALSE(has(static_cast<revision>(i)));
        }
        return first < revisions ? revision_names[first] : "never";
    };
    EXPECT_EQ(since([](revision r) noexcept { return has_audio(r); }), "2025-03-26");
    EXPECT_EQ(since([](revision r) noexcept { return has_tool_annotations(r); }), "2025-03-26");
    EXPECT_EQ(since([](revision r) noexcept { return has_completions_flag(r); }), "2025-03-26");
    EXPECT_EQ(since([](revision r) noexcept { return has_progress_message(r); }), "2025-03-26");
    EXPECT_EQ(since([](revision r) noexcept { return has_titles(r); }), "2025-06-18");
    EXPECT_EQ(since([](revision r) noexcept { return has_structured_output(r); }), "2025-06-18");
    EXPECT_EQ(since([](revision r) noexcept { return has_resource_links(r); }), "2025-06-18");
    EXPECT_EQ(since([](revision r) noexcept { return has_last_modified(r); }), "2025-06-18");
    EXPECT_EQ(since([](revision r) noexcept { return has_definition_meta(r); }), "2025-06-18");
    EXPECT_EQ(since([](revision r) noexcept { return has_icons(r); }), "2025-11-25");
    EXPECT_EQ(since([](revision r) noexcept { return bad_arguments_are_results(r); }),
              "2025-11-25");
    EXPECT_EQ(since([](revision r) noexcept { return error_id_optional(r); }), "2025-11-25");
    EXPECT_EQ(since([](revision r) noexcept { return has_any_output_schema(r); }), "2026-07-28");
    EXPECT_EQ(since([](revision r) noexcept { return is_modern(r); }), "2026-07-28");
    for (std::size_t i = 0; i < revisions; ++i) {
        const auto r = static_cast<revision>(i);
        EXPECT_EQ(has_batches(r), name_of(r) == "2025-03-26");
        EXPECT_NE(is_modern(r), is_legacy(r));
    }
}

}  // namespace
}  // namespace pillion::mcp
