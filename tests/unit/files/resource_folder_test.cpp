// Directories as resources: what is listed and read, and what is not there for anybody.
#include "files/resource_folder.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <pillion/testing.hpp>

#include "temporary_tree.hpp"

namespace pillion::files {
namespace {

using names = std::set<std::string>;

resource_folder_spec docs(const temporary_tree& at) {
    resource_folder_spec out;
    out.name = "docs";
    out.title = "Handbook";
    out.folder = at.at().string();
    out.uri_prefix = "docs://handbook/";
    out.which.include = {"**/*.md"};
    out.which.exclude = {"drafts/**"};
    return out;
}

void fill_docs(const temporary_tree& at) {
    at.file("a.md", "# A");
    at.file("sub/b c.md", "# B");
    at.file("sub/c.txt");
    at.file("drafts/d.md");
    at.file(".hidden.md");
}

names uris_of(testing::client& c) {
    names out;
    const testing::answer list = c.request("resources/list");
    for (const json::view one : list.result()["resources"].elements()) {
        out.insert(std::string(one["uri"].str()));
    }
    return out;
}

TEST(resource_folder, what_is_listed) {
    const temporary_tree at;
    fill_docs(at);
    server s("test", "1");
    std::string fault;
    ASSERT_NE(add_resource_folder(s, docs(at), fault), nullptr) << fault;
    testing::client c(s);
    ASSERT_EQ(c.fault(), "");
    EXPECT_EQ(uris_of(c), (names{"docs://handbook/a.md", "docs://handbook/sub/b%20c.md"}));
    const testing::answer templates = c.request("resources/templates/list");
    const json::view one = templates.result()["resourceTemplates"][std::size_t{0}];
    EXPECT_EQ(one["uriTemplate"].str(), "docs://handbook/{+path}");
    EXPECT_EQ(one["name"].str(), "docs");
    EXPECT_EQ(one["title"].str(), "Handbook");
}

TEST(resource_folder, what_is_read) {
    const temporary_tree at;
    fill_docs(at);
    at.file("large.md", std::string(1024 * 1024 + 1, 'x'));
    server s("test", "1");
    std::string fault;
    ASSERT_NE(add_resource_folder(s, docs(at), fault), nullptr) << fault;
    testing::client c(s);
    EXPECT_EQ(c.read("docs://handbook/a.md").text(), "# A");
    EXPECT_EQ(c.read("docs://handbook/sub/b%20c.md").text(), "# B");
    for (const std::string uri :
         {"docs://handbook/sub/c.txt", "docs://handbook/drafts/d.md", "docs://handbook/.hidden.md",
          "docs://handbook/none.md", "docs://handbook/sub", "docs://handbook/",
          "docs://handbook/../root/a.md", "docs://handbook/%2e%2e/root/a.md", "docs://other/a.md",
          "docs://handbook/large.md"}) {
        EXPECT_NE(c.read(uri).error_code(), 0) << uri;
    }
}

TEST(resource_folder, two_of_them) {
    const temporary_tree one;
    const temporary_tree two;
    one.file("a.md", "one");
    two.file("a.md", "two");
    server s("test", "1");
    std::string fault;
    resource_folder_spec second = docs(two);
    second.name = "notes";
    second.uri_prefix.clear();
    ASSERT_NE(add_resource_folder(s, docs(one), fault), nullptr) << fault;
    ASSERT_NE(add_resource_folder(s, second, fault), nullptr) << fault;
    testing::client c(s);
    EXPECT_EQ(uris_of(c), (names{"docs://handbook/a.md", "pillion://notes/a.md"}));
    EXPECT_EQ(c.read("docs://handbook/a.md").text(), "one");
    EXPECT_EQ(c.read("pillion://notes/a.md").text(), "two");
}

names suggested(testing::client& c, std::string_view typed) {
    const testing::answer got = c.request(
        "completion/complete", R"({"ref":{"type":"ref/resource","uri":"docs://handbook/{+path}"},)"
                               R"("argument":{"name":"path","value":")" +
                                   std::string(typed) + "\"}}");
    names out;
    const json::view completion = got.result()["completion"];
    for (const json::view one : completion["values"].elements()) {
        out.insert(std::string(one.str()));
    }
    if (completion["hasMore"].boolean()) {
        out.insert("...");
    }
    return out;
}

TEST(resource_folder, completion_of_the_path) {
    const temporary_tree at;
    fill_docs(at);
    server s("test", "1");
    std::string fault;
    ASSERT_NE(add_resource_folder(s, docs(at), fault), nullptr) << fault;
    testing::client c(s);
    EXPECT_EQ(suggested(c, "a"), (names{"a.md"}));
    EXPECT_EQ(suggested(c, "sub/"), (names{"sub/b c.md"}));
    EXPECT_EQ(suggested(c, "s"), (names{"sub/"}));
}

// The first hundred entries were taken and then chosen among: none was left of 200 other files.
TEST(resource_folder, completion_goes_on_until_it_has_files_that_are_served) {
    const temporary_tree at;
    for (int i = 0; i < 1200; ++i) {
        at.file("a" + std::to_string(i) + ".txt");
    }
    at.file("a.md");
    at.file("readme.md");
    server s("test", "1");
    std::string fault;
    ASSERT_NE(add_resource_folder(s, docs(at), fault), nullptr) << fault;
    testing::client c(s);
    EXPECT_EQ(suggested(c, ""), (names{"a.md", "readme.md"}));
    EXPECT_EQ(suggested(c, "a"), (names{"a.md"}));
    EXPECT_EQ(suggested(c, "a.txt"), names{});
    EXPECT_EQ(suggested(c, "a1.txt"), names{});
}
// In {+path} an escape that is there already stays (RFC 6570 section 3.2.3), so "50%20off.md" was
// read as "50 off.md".
TEST(resource_folder, completion_of_names_that_look_escaped) {
    const temporary_tree at;
    for (const char* const path : {"50%20off.md", "50% more.md", "x%25y/%41.md", "%%41.md"}) {
        at.file(path, path);
    }
    server s("test", "1");
    std::string fault;
    ASSERT_NE(add_resource_folder(s, docs(at), fault), nullptr) << fault;
    testing::client c(s);
    const std::string off = "50%2520off.md";
    EXPECT_EQ(suggested(c, ""), (names{off, "50% more.md", "x%2525y/", "%%2541.md"}));
    EXPECT_EQ(c.read("docs://handbook/" + off).text(), "50%20off.md");
    EXPECT_EQ(suggested(c, "x%2525y/"), names{"x%2525y/%2541.md"});
    EXPECT_EQ(c.read("docs://handbook/x%2525y/%2541.md").text(), "x%25y/%41.md");
    for (std::size_t size = 4; size <= off.size(); ++size) {
        const std::string typed = off.substr(0, size);
        EXPECT_EQ(suggested(c, typed).count(off), 1U) << typed;
    }
    // As the file system has it.
    EXPECT_EQ(suggested(c, "50%20o"), names{off});
    EXPECT_EQ(suggested(c, "x%25y/%4"), names{"x%2525y/%2541.md"});
}

// The watch has a thread of its own, in real time.
class resource_folder_changes : public ::testing::Test {
 protected:
    void SetUp() override {
        fill_docs(at);
        std::string fault;
        made = add_resource_folder(s, docs(at), fault);
        ASSERT_NE(made, nullptr) << fault;
        c.emplace(s);
        ASSERT_EQ(c->fault(), "");
        watching = made->tell_changes(s);
        while (!watching->settled()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

    bool ask(const std::string& method, const std::string& uri) {
        return c->request("resources/" + method, R"({"uri":")" + uri + "\"}").ok();
    }
    // The URIs of the changes that come until one is `last`.
    names heard_until(const std::string& last) {
        names heard;
        for (int i = 0; i < 3000 && heard.count(last) == 0; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            c->pass(std::chrono::milliseconds(1));
            for (const auto& one : c->take_notifications("notifications/resources/updated")) {
                heard.insert(std::string(one.params()["uri"].str()));
            }
        }
        return heard;
    }

    const temporary_tree at;
    server s{"test", "1"};
    std::shared_ptr<resource_folder> made;
    std::optional<testing::client> c;
    std::unique_ptr<watch> watching;
};

TEST_F(resource_folder_changes, subscribers_hear_of_them) {
    ASSERT_TRUE(ask("subscribe", "docs://handbook/a.md"));
    at.file("a.md", "# new");
    EXPECT_EQ(heard_until("docs://handbook/a.md"), (names{"docs://handbook/a.md"}));
    EXPECT_EQ(c->read("docs://handbook/a.md").text(), "# new");
}

// Only that of resources/list was told, whichever they had said.
TEST_F(resource_folder_changes, subscribers_hear_of_the_uri_that_they_said) {
    const std::string reserved = "docs://handbook/sub/x@(1).md";
    const std::string listed = "docs://handbook/sub/x%40%281%29.md";
    for (const std::string& uri : {reserved, listed}) {
        ASSERT_TRUE(ask("subscribe", uri));
    }
    ASSERT_TRUE(ask("unsubscribe", listed));
    at.file("sub/x@(1).md", "# new");
    EXPECT_EQ(heard_until(reserved), (names{reserved}));
}

// Each costs something at every change; the one that is listed is always told.
TEST_F(resource_folder_changes, the_uris_of_a_file_are_bounded) {
    const auto spelled = [](int number) {
        std::string uri = "docs://handbook/";
        for (int i = 0; i < 6; ++i) {
            uri += (number >> i & 1) != 0 ? "%61" : "a";
        }
        return uri + ".md";
    };
    for (int number = 63; number >= 0; --number) {
        ASSERT_TRUE(ask("subscribe", spelled(number)));
    }
    at.file("aaaaaa.md", "# new");
    EXPECT_EQ(heard_until(spelled(0)).size(), 1 + resource_folder::other_uris_max);
}

TEST(resource_folder, what_cannot_be_served) {
    const temporary_tree at;
    at.file("file");
    const auto fault_with = [&at](auto change) {
        resource_folder_spec what = docs(at);
        change(what);
        server s("test", "1");
        std::string fault;
        EXPECT_EQ(add_resource_folder(s, what, fault), nullptr);
        return fault;
    };
    using spec = resource_folder_spec;
    for (const char* const uri : {"docs", "docs:", "docs://a", "1x://a/", "do cs://a/", "://a/",
                                  "docs://a?b/", "docs://{a}/", "docs://%41/", "docs://a#/"}) {
        EXPECT_EQ(fault_with([uri](spec& w) { w.uri_prefix = uri; }).rfind("uri: ", 0), 0U) << uri;
    }
    EXPECT_EQ(fault_with([](spec& w) { w.folder.clear(); }), "path: must be a directory");
    EXPECT_EQ(fault_with([](spec& w) { w.folder += "/none"; }), "path: there is no such directory");
    EXPECT_EQ(fault_with([](spec& w) { w.folder += "/file"; }), "path: this is not a directory");
    EXPECT_EQ(fault_with([](spec& w) { w.which.include = {"/a"}; }).rfind("include: ", 0), 0U);
    EXPECT_EQ(fault_with([](spec& w) { w.which.exclude = {""}; }).rfind("exclude: ", 0), 0U);
    EXPECT_EQ(fault_with([](spec& w) {
                  w.which.exclude = {std::string(600, 'a')};
              }).rfind("exclude: ", 0),
              0U);
}

}  // namespace
}  // namespace pillion::files
