// The public JSON-Schema-Test-Suite: every required case of both drafts, and of the optional ones
// all formats. Cases that are left out are listed here by name.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "checked.hpp"

namespace pillion::schema_check {
namespace {

namespace fs = std::filesystem;

fs::path suite() {
    const char* const shared = std::getenv("PILLION_SHARED");
    const fs::path source = fs::path(__FILE__).parent_path();
    const fs::path base = shared != nullptr ? fs::path(shared) : source / "../../../../shared";
    return base / "data/JSON-Schema-Test-Suite";
}

std::string text_in(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string text_in(json::view value) {
    json::builder out;
    out.value(value);
    return std::string(out.text());
}

// The documents the suite calls remote: those of the draft and of none.
class remotes {
 public:
    explicit remotes(const std::string& draft) {
        const fs::path root = suite() / "remotes";
        for (const auto& entry : fs::recursive_directory_iterator(root)) {
            const std::string name = fs::relative(entry.path(), root).generic_string();
            const bool other = name.starts_with("draft") && !name.starts_with(draft + "/");
            if (entry.is_regular_file() && !other) {
                auto parsed = json::document::parse(text_in(entry.path()));
                EXPECT_TRUE(parsed) << name;
                uris_.push_back("http://localhost:1234/" + name);
                documents_.push_back(std::move(*parsed));
            }
        }
        for (std::size_t i = 0; i < uris_.size(); ++i) {
            views_.push_back({uris_[i], documents_[i].root()});
        }
    }
    std::span<const schema_document> views() const { return views_; }

 private:
    std::vector<std::string> uris_;
    std::vector<json::document> documents_;
    std::vector<schema_document> views_;
};

int run_file(const fs::path& file, const compile_options& how) {
    int passed = 0;
    auto parsed = json::document::parse(text_in(file));
    EXPECT_TRUE(parsed) << file;
    for (const json::view group : parsed->root().elements()) {
        SCOPED_TRACE(file.stem().string() + ": " + std::string(group["description"].str()));
        const checked check(text_in(group["schema"]), how);
        for (const json::view test : group["tests"].elements()) {
            const verdict got = check(text_in(test["data"]));
            EXPECT_EQ(got.ok, test["valid"].boolean())
                << test["description"].str() << ' ' << got.keyword << ' ' << text_in(test["data"]);
            ++passed;
        }
    }
    return passed;
}

// Runs all files of a folder but `left_out`; they hold `wanted` cases at least.
void run_folder(const std::string& draft, const std::string& folder, compile_options how,
                const std::set<std::string>& left_out, int wanted) {
    if (!fs::exists(suite())) {
        GTEST_SKIP() << "no JSON-Schema-Test-Suite (set PILLION_SHARED)";
    }
    const remotes others(draft);
    how.documents = others.views();
    how.draft7_by_default = draft == "draft7";
    int passed = 0;
    for (const auto& entry : fs::directory_iterator(suite() / "tests" / draft / folder)) {
        if (entry.is_regular_file() && left_out.count(entry.path().stem().string()) == 0) {
            passed += run_file(entry.path(), how);
        }
    }
    EXPECT_GE(passed, wanted);
    testing::Test::RecordProperty("cases", passed);
}

compile_options asserting() {
    compile_options how;
    how.assert_formats = true;
    return how;
}

// cross-draft needs a draft that is not known here; refs into 2019-09 documents are refused.
// dependencies-compatibility is about a keyword of older drafts that 2020-12 dropped.
// STANDARD row 70
TEST(suite, draft_2020_12) { run_folder("draft2020-12", "", {}, {}, 1299); }
TEST(suite, draft_2020_12_formats) {
    run_folder("draft2020-12", "optional/format", asserting(), {}, 750);
}
TEST(suite, draft_2020_12_optional) {
    run_folder("draft2020-12", "optional", {}, {"cross-draft", "dependencies-compatibility"}, 100);
}

// content asserts nothing here (2020-12 made that the rule for all drafts).
// STANDARD row 70
TEST(suite, draft_7) { run_folder("draft7", "", {}, {}, 927); }
TEST(suite, draft_7_formats) { run_folder("draft7", "optional/format", asserting(), {}, 660); }
TEST(suite, draft_7_optional) {
    run_folder("draft7", "optional", {}, {"cross-draft", "content"}, 100);
}

}  // namespace
}  // namespace pillion::schema_check
