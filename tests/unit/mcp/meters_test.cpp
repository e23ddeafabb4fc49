// What is counted of requests, and under which names: through the whole server.
#include "mcp/meters.hpp"

#include <string>

#include <gtest/gtest.h>

#include "app/server_state.hpp"
#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {
namespace {

std::string page_of(world& w) {
    base::metrics_page page;
    w.engine->collect(page);
    base::byte_buffer out(w.engine->loop().chunks());
    page.render(out);
    return std::string(out.view());
}

constexpr const char* duration = "mcp_server_operation_duration_seconds";

// The number behind a name with its labels; -1 when it is not there.
double value_of(const std::string& page, const std::string& name) {
    const std::size_t at = page.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stod(page.substr(at + name.size() + 2));
}

// How often that happened.
double count(world& w, const std::string& labels) {
    return value_of(page_of(w), std::string(duration) + "_count{" + labels + "}");
}

std::string tool(const char* name, const char* error = nullptr) {
    return std::string(R"(mcp_method_name="tools/call",gen_ai_tool_name=")") + name + '"' +
           (error == nullptr ? "" : R"(,error_type=")" + std::string(error) + '"');
}

TEST(outcome, every_word_is_found_again) {
    for (std::size_t i = 0; i < outcome::count; ++i) {
        EXPECT_EQ(outcome::at(i).word(), outcome::words[i]);
    }
    EXPECT_FALSE(outcome().is_error());
    EXPECT_FALSE(outcome("input_required").is_error());
    EXPECT_TRUE(outcome("tool_error").is_error());
}

TEST(meters, calls_count_by_tool_and_outcome) {
    world w;
    client& c = w.connect();
    const std::string session = w.open_session("2025-06-18");
    c.ask(modern_call("1", "echo", R"({"text":"a"})"));
    c.ask(modern_call("2", "echo", R"({"text":"a"})"));
    c.ask(legacy_call(session, "3", "echo", R"({"text":"a"})"));
    // Wrong arguments are a result with isError, and were told as tool_error once.
    c.ask(modern_call("4", "echo", R"({"text":7})"));
    c.ask(modern_call("5", "throw_now"));
    EXPECT_EQ(count(w, tool("echo")), 3);
    EXPECT_EQ(count(w, tool("echo", "bad_arguments")), 1);
    EXPECT_EQ(count(w, tool("throw_now", "exception")), 1);
    EXPECT_EQ(count(w, R"(mcp_method_name="initialize")"), 1);
}

TEST(meters, what_a_client_makes_up_is_no_label) {
    world w;
    client& c = w.connect();
    c.ask(modern_call("1", "invented_tool"));
    c.ask(modern_post("invented/method", "", modern_body("2", "invented/method")));
    EXPECT_EQ(count(w, tool("_other", "not_found")), 1);
    EXPECT_EQ(count(w, R"(mcp_method_name="_other",error_type="error")"), 1);
    EXPECT_EQ(page_of(w).find("invented"), std::string::npos);
}

TEST(meters, a_deadline_is_counted_with_its_lateness) {
    world w;
    client& c = w.connect();
    c.send(modern_call("1", "nap", R"({"ms":5000})"));
    EXPECT_EQ(value_of(page_of(w), "mcp_server_requests_in_flight"), 1);
    w.pass_ms(1500);
    EXPECT_EQ(count(w, tool("nap", "timeout")), 1);
    const std::string page = page_of(w);
    EXPECT_EQ(value_of(page, "mcp_server_deadline_lateness_seconds_count"), 1);
    // One tick of the wheel, in virtual time.
    EXPECT_EQ(value_of(page, R"(mcp_server_deadline_lateness_seconds_bucket{le="0.002"})"), 1);
    EXPECT_EQ(value_of(page, "mcp_server_requests_in_flight"), 0);
    EXPECT_EQ(value_of(page, std::string(duration) + "_bucket{" + tool("nap", "timeout") +
                                 R"(,le="0.5"})"),
              0);
    EXPECT_EQ(
        value_of(page, std::string(duration) + "_bucket{" + tool("nap", "timeout") + R"(,le="2"})"),
        1);
}

// Calls without an answer once left no trace.
TEST(meters, who_cancels_or_leaves_is_counted_once) {
    world w;
    const std::string session = w.open_session("2025-06-18");
    client& legacy = w.connect();
    client& canceller = w.connect();
    client& leaver = w.connect();
    legacy.send(legacy_call(session, "1", "nap", R"({"ms":500})"));
    canceller.send(
        legacy_post(session, message("", "notifications/cancelled", R"("requestId":1)")));
    leaver.send(modern_call("2", "nap", R"({"ms":500})"));
    leaver.peer().reset();
    w.pass_ms(600);
    EXPECT_EQ(count(w, tool("nap", "cancelled")), 1);
    EXPECT_EQ(count(w, tool("nap", "disconnected")), 1);
    EXPECT_EQ(count(w, tool("nap")), -1);
}

TEST(meters, an_open_subscription_counts_when_it_ends) {
    world w;
    client& c = w.connect();
    c.send(modern_post("subscriptions/listen", "",
                       modern_body("1", "subscriptions/listen", R"("notifications":{})")));
    EXPECT_EQ(value_of(page_of(w), "mcp_server_requests_in_flight"), 0);
    EXPECT_EQ(count(w, R"(mcp_method_name="subscriptions/listen")"), -1);
    c.peer().reset();
    w.settle();
    EXPECT_EQ(count(w, R"(mcp_method_name="subscriptions/listen",error_type="disconnected")"), 1);
}

std::unique_ptr<const registry> with_tools(const std::vector<std::string>& names) {
    server s("n", "1");
    for (const std::string& name : names) {
        s.tool(name).about("x").run([](context& ctx) { return ctx.result(); });
    }
    return frozen(s);
}

TEST(meters, a_tool_keeps_its_row_through_editions) {
    meters m;
    const auto first = with_tools({"a", "b"});
    const auto second = with_tools({"b", "c"});
    const meters::rows before = m.rows_of(*first);
    const meters::rows after = m.rows_of(*second);
    EXPECT_EQ(before.tools.at(1), after.tools.at(0));
    EXPECT_NE(before.tools.at(0), after.tools.at(1));
}

TEST(meters, only_so_many_names_are_told_apart) {
    meters m;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < limits::metered_names_max + 5; ++i) {
        names.push_back("tool_" + std::to_string(i));
    }
    const meters::rows of = m.rows_of(*with_tools(names));
    EXPECT_EQ(of.tools.at(limits::metered_names_max), meters::other);
    EXPECT_EQ(of.tools.back(), meters::other);
    EXPECT_NE(of.tools.at(limits::metered_names_max - 1), meters::other);
    // Known ones stay known.
    EXPECT_EQ(m.rows_of(*with_tools({"tool_7"})).tools.at(0), of.tools.at(7));
}

}  // namespace
}  // namespace pillion::mcp::testing
