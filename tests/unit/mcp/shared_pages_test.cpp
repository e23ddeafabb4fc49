// Lists whose first page is text that answers share: it says what a copy said, to every revision
// and over every transport, and ends with the last answer that holds it.
#include "mcp/shared_pages.hpp"

#include <gtest/gtest.h>

#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {
namespace {

constexpr int many = 60;  // more than shared_pages::bytes_min of each list

std::string name_at(int i) { return "listed-" + std::to_string(i); }

task<prompt_result> greeting(context& ctx, json::view) { co_return ctx.prompt("x"); }

// Of each kind of list so many.
template <class Offers>
void list_many(Offers& s, int from, int to) {
    const std::string about(100, 'd');
    for (int i = from; i < to; ++i) {
        s.tool(name_at(i)).about(about).run([](context& ctx) { return ctx.text("x"); });
        s.prompt(name_at(i)).about(about).run(greeting);
        s.resource_template("many://" + name_at(i) + "/{x}")
            .name(name_at(i))
            .about(about)
            .served_by_provider();
    }
}

const std::pair<const char*, const char*> kinds[] = {
    {"tools/list", "tools"},
    {"prompts/list", "prompts"},
    {"resources/templates/list", "resourceTemplates"}};

std::string names_of(json::view list) {
    std::string all;
    for (const json::view one : list.elements()) {
        all += std::string(one["name"].str()) + " ";
    }
    return all;
}

class shared_lists : public ::testing::Test {
 protected:
    static world_options with(std::size_t page) {
        world_options o;
        o.more = [page](server& s) {
            list_many(s, 0, many);
            s.page_size(page);
        };
        return o;
    }
    static std::string asked(client& c, const std::string& session, const char* method) {
        return c
            .ask(session.empty() ? modern_post(method, "", modern_body("7", method))
                                 : legacy_post(session, message("7", method, "")))
            .message();
    }
};

// The first answer of a shard is a copy, those after it share its text.
TEST_F(shared_lists, every_answer_says_what_the_first_said) {
    for (const std::size_t page : {100U, 50U}) {
        world w(with(page));
        for (const std::string version : all_versions) {
            const bool modern = version == "2026-07-28";
            const std::string session = modern ? "" : w.open_session(version);
            for (const auto& [method, member] : kinds) {
                const std::string first = asked(w.connect(), session, method);
                const parsed p(first);
                ASSERT_EQ(p.code(), 0) << first;
                EXPECT_EQ(p["id"].i64(), 7);
                EXPECT_GE(first.size(), shared_pages::bytes_min);
                EXPECT_EQ(p["result"]["ttlMs"].exists(), modern);
                EXPECT_EQ(p["result"]["_meta"].exists(), modern);
                EXPECT_EQ(p["result"]["nextCursor"].exists(), page < many) << first;
                EXPECT_NE(names_of(p["result"][member]).find(name_at(30) + " "), std::string::npos);
                client& c = w.connect();
                for (int i = 0; i < 3; ++i) {
                    EXPECT_EQ(asked(c, session, method), first);
                }
            }
        }
    }
}

TEST_F(shared_lists, pipes_and_batches_get_whole_messages) {
    world w(with(100));
    const std::string modern = modern_body("7", "tools/list");
    const std::string copied = asked(w.connect(), "", "tools/list");
    pipe_end pipe(w);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(pipe.ask(modern).raw(), copied);
    }
    const std::string session = w.open_session("2025-03-26");
    const std::string one = message("7", "tools/list", "");
    const std::string plain = asked(w.connect(), session, "tools/list");
    EXPECT_EQ(asked(w.connect(), session, "tools/list"), plain);
    const http_reply both = w.connect().ask(legacy_post(session, "[" + one + "," + one + "]"));
    EXPECT_EQ(both.message(), "[" + plain + "," + plain + "]");
}

// Requests that one connection sends at once, and a client that reads nothing for a while.
TEST_F(shared_lists, who_reads_late_reads_the_same) {
    world w(with(100));
    const std::string first = asked(w.connect(), "", "tools/list");
    client& c = w.connect();
    const std::string request = modern_post("tools/list", "", modern_body("7", "tools/list"));
    c.peer().block(true);
    std::string all;
    for (int i = 0; i < 5; ++i) {
        all += request;
    }
    c.send(all);
    EXPECT_EQ(asked(w.connect(), "", "tools/list"), first);
    c.peer().block(false);
    w.settle();
    const std::vector<http_reply> heard = c.replies();
    ASSERT_EQ(heard.size(), 5U);
    for (const http_reply& r : heard) {
        EXPECT_TRUE(r.complete);
        EXPECT_EQ(r.message(), first);
    }
}

// An answer that is under way outlives what it was made of.
TEST_F(shared_lists, another_registry_is_another_text) {
    world w(with(100));
    const std::string before = asked(w.connect(), "", "tools/list");
    client& late = w.connect();
    late.peer().block(true);
    late.send(modern_post("tools/list", "", modern_body("7", "tools/list")));
    ASSERT_TRUE(w.host.update([](catalog& all) { list_many(all, many, many + 1); }));
    w.settle();
    const std::string after = asked(w.connect(), "", "tools/list");
    EXPECT_NE(after, before);
    EXPECT_NE(after.find(name_at(many)), std::string::npos);
    EXPECT_EQ(asked(w.connect(), "", "tools/list"), after);
    late.peer().block(false);
    w.settle();
    EXPECT_EQ(late.replies().back().message(), before);
}

}  // namespace
}  // namespace pillion::mcp::testing
