// One pipe, all revisions on it (REVISIONS §3).
#include <gtest/gtest.h>

#include "base/limits.hpp"
#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {
namespace {

const std::string initialized = message("", "notifications/initialized", "");

std::string modern(std::string_view id, std::string_view tool, std::string_view arguments = "{}",
                   std::string_view meta = {}) {
    return modern_body(id, "tools/call", call_params(tool, arguments), meta);
}

TEST(stdio, handshake_then_calls) {
    world w;
    pipe_end p(w);
    const parsed init = p.ask(initialize_body("2025-06-18"));
    EXPECT_EQ(init["result"]["protocolVersion"].str(), "2025-06-18");
    p.line(initialized);
    EXPECT_EQ(p.ask(call_body("1", "echo", R"({"text":"x"})")).text(), "x");
    EXPECT_EQ(p.ask(initialize_body("2025-06-18", "5")).code(), -32600);
    EXPECT_EQ(p.ask(call_body("2", "echo", R"({"text":"y"})")).text(), "y");
}

TEST(stdio, before_the_handshake_only_ping_is_served) {
    world w;
    pipe_end p(w);
    EXPECT_EQ(p.ask(message("1", "ping", "")).raw(), R"({"jsonrpc":"2.0","id":1,"result":{}})");
    for (const char* method : {"tools/list", "logging/setLevel", "nonsense"}) {
        EXPECT_EQ(p.ask(message("1", method, "")).code(), -32600) << method;
    }
    EXPECT_EQ(p.ask(initialize_body("x"))["result"]["protocolVersion"].str(), "2025-11-25");
}

TEST(stdio, both_eras_may_alternate) {
    world w;
    pipe_end p(w);
    EXPECT_EQ(p.ask(modern("1", "echo", R"({"text":"m"})")).text(), "m");
    EXPECT_EQ(p.ask(modern_body("2", "server/discover"))["result"]["resultType"].str(), "complete");
    p.ask(initialize_body("2025-03-26", "3"));
    EXPECT_EQ(p.ask(call_body("4", "echo", R"({"text":"l"})")).text(), "l");
    EXPECT_EQ(p.ask(modern("5", "echo", R"({"text":"m2"})")).text(), "m2");
    EXPECT_EQ(p.ask(modern_body("6", "ping")).code(), -32601);
    EXPECT_EQ(p.ask(message("7", "ping", "")).code(), 0);
    std::string unknown = modern_body("8", "tools/list");
    unknown.replace(unknown.find("2026-07-28"), 10, "2030-01-01");
    EXPECT_EQ(p.ask(unknown).code(), -32022);
}

TEST(stdio, parse_errors_carry_the_id_their_revision_wants) {
    for (const char* version : {"", "2024-11-05", "2025-06-18", "2025-11-25"}) {
        world w;
        pipe_end p(w);
        if (*version != '\0') {
            p.ask(initialize_body(version));
        }
        const bool wants_null = *version != '\0' && std::string_view(version) < "2025-11-25";
        for (const char* bad : {"{", "nonsense", "\"\\ud800\"", "\xFF", "{}}"}) {
            const parsed r = p.ask(bad);
            EXPECT_EQ(r.code(), -32700) << bad;
            EXPECT_EQ(r["id"].is_null(), wants_null) << version;
            EXPECT_EQ(r["id"].exists(), wants_null);
        }
        EXPECT_EQ(p.ask(message("1", "ping", "")).code(), 0);
    }
}

TEST(stdio, notifications_and_responses_are_never_answered) {
    world w;
    pipe_end p(w);
    p.ask(initialize_body("2025-11-25"));
    p.fresh();
    for (const char* line :
         {R"({"jsonrpc":"2.0","method":"x"})", R"({"jsonrpc":"2.0","method":"x","params":[1]})",
          R"({"jsonrpc":"2.0","method":"tools/call","params":7})",
          R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":[]})",
          R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":null}})",
          R"({"jsonrpc":"2.0","id":4,"result":{}})", "", "  \t", "\r"}) {
        p.line(line);
        EXPECT_TRUE(p.fresh().empty()) << line;
    }
}

TEST(stdio, requests_that_are_none_are_refused_with_their_id) {
    world w;
    pipe_end p(w);
    EXPECT_EQ(p.ask(R"({"jsonrpc":"2.0","id":7,"method":5})").id(), "7");
    EXPECT_EQ(p.ask(R"({"jsonrpc":"2.0","id":"x","method":"ping","params":[]})").code(), -32602);
    EXPECT_EQ(p.ask(R"({"jsonrpc":"2.0","id":null,"method":"ping"})").code(), -32600);
    EXPECT_EQ(p.ask(R"({"jsonrpc":"2.0","id":1.0,"method":"ping"})").code(), -32600);
    EXPECT_EQ(p.ask("[]").code(), -32600);
    EXPECT_EQ(p.ask("7").code(), -32600);
    EXPECT_EQ(w.left(), "");
}

TEST(stdio, an_id_in_flight_may_not_be_used_again_until_it_is_answered) {
    world w;
    pipe_end p(w);
    p.ask(initialize_body("2025-06-18"));
    p.line(call_body("1", "nap", R"({"ms":100})"));
    EXPECT_EQ(p.ask(call_body("1", "echo", R"({"text":"x"})")).code(), -32600);
    EXPECT_EQ(p.ask(modern("1", "echo", R"({"text":"x"})")).code(), -32600);
    EXPECT_EQ(p.ask(call_body("\"1\"", "echo", R"({"text":"x"})")).text(), "x");
    w.pass_ms(150);
    EXPECT_EQ(parsed(p.fresh().at(0)).text(), "slept");
    EXPECT_EQ(p.ask(call_body("1", "echo", R"({"text":"y"})")).text(), "y");
}

TEST(stdio, an_answered_id_is_free_although_its_handler_still_runs) {
    world w;
    pipe_end p(w);
    p.line(modern("1", "stubborn"));
    w.pass_ms(1100);
    EXPECT_EQ(parsed(p.fresh().at(0)).code(), -32004);
    EXPECT_EQ(p.ask(modern("1", "echo", R"({"text":"again"})")).text(), "again");
    w.on.gate.set();
    w.settle();
    EXPECT_TRUE(p.fresh().empty());
}

TEST(stdio, cancellation_in_both_eras) {
    world w;
    pipe_end p(w);
    p.ask(initialize_body("2025-06-18"));
    p.fresh();
    p.line(call_body("1", "watch"));
    p.line(modern("\"1\"", "watch"));
    p.line(message("", "notifications/cancelled", R"("requestId":1)"));
    EXPECT_EQ(w.on.record.size(), 1U);
    p.line(message("", "notifications/cancelled", R"("requestId":"1")"));
    EXPECT_EQ(w.on.record, (std::vector<std::string>{"watch: client", "watch: client"}));
    EXPECT_TRUE(p.fresh().empty());
    EXPECT_EQ(w.left(), "");
    EXPECT_EQ(p.ask(call_body("1", "nap")).text(), "slept");
}

TEST(stdio, end_of_input_cancels_modern_calls_and_waits_for_the_others) {
    world w;
    pipe_end p(w);
    p.ask(initialize_body("2025-06-18"));
    p.fresh();
    p.line(modern("1", "watch"));
    p.line(call_body("2", "nap", R"({"ms":500})"));
    p.eof();
    EXPECT_EQ(w.on.record, std::vector<std::string>{"watch: disconnected"});
    EXPECT_FALSE(p.ended());
    w.pass_ms(600);
    EXPECT_TRUE(p.ended());
    const auto lines = p.fresh();
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(parsed(lines[0]).text(), "slept");
    EXPECT_EQ(w.left(), "");
}

TEST(stdio, a_last_line_without_its_end_still_counts) {
    world w;
    pipe_end p(w);
    p.bytes(message("1", "ping", ""));
    EXPECT_TRUE(p.fresh().empty());
    p.eof();
    EXPECT_EQ(p.fresh().size(), 1U);
    EXPECT_TRUE(p.ended());
}

TEST(stdio, lines_cut_at_every_byte_are_read_alike) {
    const std::string lines =
        message("1", "ping", "") + "\r\n" + modern("2", "echo", R"({"text":"x"})") + "\n\n{\n";
    std::vector<std::string> whole;
    for (std::size_t at = lines.size(); at > 0; --at) {
        world w;
        pipe_end p(w);
        p.split_at({at});
        p.bytes(lines);
        const auto got = p.lines();
        if (whole.empty()) {
            whole = got;
            ASSERT_EQ(whole.size(), 3U);
        }
        ASSERT_EQ(got, whole) << at;
    }
}

TEST(stdio, oversize_lines_are_answered_with_their_id_and_skipped) {
    world w;
    pipe_end p(w);
    const std::string filler(limits::body_bytes_max, 'x');
    for (const char* id : {"41", "\"a\\\"b\"", "-3"}) {
        const parsed front = p.ask(R"({"jsonrpc":"2.0","id":)" + std::string(id) +
                                   R"(,"method":"ping","params":{"x":")" + filler + "\"}}");
        EXPECT_EQ(front.code(), -32005);
        EXPECT_EQ(front["id"].exists(), true);
        const parsed back = p.ask(R"({"params":{"id":7,"x":")" + filler +
                                  R"("},"jsonrpc":"2.0","method":"ping","id":)" + id + "}");
        EXPECT_EQ(back.code(), -32005);
        EXPECT_EQ(back.id(), front.id());
    }
    EXPECT_EQ(p.ask(message("1", "ping", "")).code(), 0);
    EXPECT_EQ(w.left(), "");
}

TEST(stdio, the_largest_allowed_line_is_served) {
    world w;
    pipe_end p(w);
    std::string line = message("1", "ping", R"("x":"")");
    line.insert(line.find("\"}"), limits::body_bytes_max - line.size(), 'x');
    ASSERT_EQ(line.size(), limits::body_bytes_max);
    EXPECT_EQ(p.ask(line).code(), 0);
    line.insert(line.find("xxx"), 1, 'x');
    EXPECT_EQ(p.ask(line).code(), -32005);
}

TEST(stdio, batches_in_2025_03_26_alone) {
    world w;
    pipe_end p(w);
    const std::string batch = "[" + message("1", "ping", "") + "," + initialized + "," +
                              call_body("2", "nap", R"({"ms":10})") + "]";
    EXPECT_EQ(p.ask(batch).code(), -32600);
    p.ask(initialize_body("2025-03-26"));
    p.fresh();
    p.line(batch);
    p.line("[" + initialized + "]");
    w.pass_ms(20);
    const auto lines = p.fresh();
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(parsed(lines[0]).root().size(), 2U);
    EXPECT_EQ(w.left(), "");
}

TEST(stdio, changes_are_told_to_the_session_and_to_listeners) {
    world w;
    pipe_end p(w);
    w.host.tools_changed();
    w.settle();
    EXPECT_TRUE(p.fresh().empty());
    p.ask(initialize_body("2025-06-18"));
    p.line(
        modern_body("9", "subscriptions/listen", R"("notifications":{"toolsListChanged":true})"));
    p.fresh();
    w.host.tools_changed();
    w.settle();
    EXPECT_EQ(p.fresh().size(), 2U);
    p.line(message("", "notifications/cancelled", R"("requestId":9)"));
    w.host.tools_changed();
    w.settle();
    const auto after = p.fresh();
    ASSERT_EQ(after.size(), 1U);
    EXPECT_EQ(after[0], R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
}

TEST(stdio, draining_ends_listeners_with_both_messages_and_closes_after_the_rest) {
    world w;
    pipe_end p(w);
    p.line(modern_body("9", "subscriptions/listen", R"("notifications":{})"));
    p.line(modern("1", "nap", R"({"ms":300})"));
    p.fresh();
    w.engine->drain();
    p.transport().drain();
    w.settle();
    const auto ending = p.fresh();
    ASSERT_EQ(ending.size(), 2U);
    EXPECT_EQ(parsed(ending[0])["method"].str(), "notifications/cancelled");
    EXPECT_EQ(parsed(ending[0])["params"]["requestId"].i64(), 9);
    EXPECT_EQ(parsed(ending[1]).id(), "9");
    EXPECT_FALSE(p.ended());
    p.line(message("5", "ping", ""));  // too late
    w.pass_ms(400);
    const auto rest = p.fresh();
    ASSERT_EQ(rest.size(), 1U);
    EXPECT_EQ(parsed(rest[0]).text(), "slept");
    EXPECT_TRUE(p.ended());
}

std::string listens(int id) {
    return modern_body(std::to_string(id), "subscriptions/listen",
                       R"("notifications":{"toolsListChanged":true})");
}

world_options with_in_flight(std::size_t most) {
    world_options o;
    o.set = [most](service_options& s) { s.in_flight_per_pipe_max = most; };
    return o;
}

// They counted as calls under way: with half of the limit open a burst of calls stopped the reading
// for ever, and the process did not even see the end of its input.
TEST(stdio, open_subscriptions_do_not_keep_a_pipe_from_being_read) {
    world w(with_in_flight(8));
    pipe_end p(w);
    for (int id = 1; id <= 8; ++id) {
        EXPECT_EQ(p.ask(listens(id))["method"].str(), "notifications/subscriptions/acknowledged");
    }
    for (int id = 9; id < 19; ++id) {
        p.put(modern(std::to_string(id), "nap", R"({"ms":100})") + "\n");
    }
    p.fresh();
    w.pass_ms(300);
    EXPECT_EQ(p.fresh().size(), 10U);
    EXPECT_EQ(p.ask(modern("20", "echo", R"({"text":"x"})")).text(), "x");
    p.eof();
    EXPECT_TRUE(p.ended());
    EXPECT_EQ(w.left(), "");
}

TEST(stdio, open_subscriptions_have_a_limit_of_their_own) {
    world w(with_in_flight(2));
    pipe_end p(w);
    p.line(listens(1));
    p.line(listens(2));
    EXPECT_EQ(p.ask(listens(3)).code(), -32003);
    EXPECT_EQ(w.engine->refusals()[limited_by::subscriptions], 1U);
    p.line(message("", "notifications/cancelled", R"("requestId":1)"));
    EXPECT_EQ(p.ask(listens(4))["method"].str(), "notifications/subscriptions/acknowledged");
}

TEST(stdio, a_slow_reader_holds_its_handler_and_its_own_requests_back) {
    world_options o;
    o.timeout_ms = 100'000;
    world w(o);
    pipe_end p(w);
    p.block(true);
    p.line(modern("1", "flood", R"({"count":100})", log_level_info));
    EXPECT_LE(w.on.record.size(), 10U);
    std::string many;
    for (int i = 2; i < 1000; ++i) {
        many += modern(std::to_string(i), "echo", R"({"text":"x"})") + "\n";
    }
    p.bytes(many);
    p.block(false);
    w.settle();
    EXPECT_EQ(w.on.record.size(), 100U);
    EXPECT_EQ(p.lines().size(), 100U + 999U);
    EXPECT_EQ(w.left(), "");
}

TEST(stdio, a_reader_that_went_away_ends_the_pipe) {
    world w;
    pipe_end p(w);
    p.line(modern("1", "nap", R"({"ms":100})"));
    p.breaks();
    w.pass_ms(200);
    EXPECT_TRUE(p.ended());
    EXPECT_EQ(w.left(), "");
}

}  // namespace
}  // namespace pillion::mcp::testing
