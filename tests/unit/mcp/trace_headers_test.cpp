// W3C Trace Context: what is valid, where it comes from, and what a handler sees of it.
#include "mcp/trace_headers.hpp"

#include <string>

#include <gtest/gtest.h>

#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {
namespace {

constexpr const char* sample = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr const char* another = "00-11111111111111111111111111111111-2222222222222222-00";

TEST(traceparent, only_the_exact_form_is_valid) {
    EXPECT_TRUE(is_valid_traceparent(sample));
    const std::string good = sample;
    for (std::size_t cut = 0; cut < good.size(); ++cut) {
        EXPECT_FALSE(is_valid_traceparent(good.substr(0, cut))) << cut;
    }
    // No character may be another one, but for hexadecimal digits that leave the ids above zero.
    for (std::size_t at = 0; at < good.size(); ++at) {
        for (const char c : {'g', 'A', ' ', '-', '\0'}) {
            std::string bad = good;
            bad[at] = c;
            EXPECT_EQ(is_valid_traceparent(bad), bad == good) << bad;
        }
    }
    EXPECT_FALSE(is_valid_traceparent(good + "-01"));
    EXPECT_FALSE(is_valid_traceparent("00-00000000000000000000000000000000-b7ad6b7169203331-01"));
    EXPECT_FALSE(is_valid_traceparent("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"));
}

TEST(traceparent, versions_to_come_may_say_more) {
    const std::string next = "cc" + std::string(sample).substr(2);
    EXPECT_TRUE(is_valid_traceparent(next));
    EXPECT_TRUE(is_valid_traceparent(next + "-what-the-future-will-be-like"));
    EXPECT_FALSE(is_valid_traceparent(next + ".what"));
    // Members of _meta are not bounded by a line: this one became two fields of a request of ours.
    for (const char* const more : {"-\r\nX-Evil: 1", "-\n", "- ", "-\x7f", "-\xc3\xbc"}) {
        EXPECT_FALSE(is_valid_traceparent(next + more)) << more;
    }
    EXPECT_FALSE(is_valid_traceparent(next + std::string("-\0", 2)));
    EXPECT_FALSE(is_valid_traceparent(next + "-" + std::string(300, 'a')));
    EXPECT_FALSE(is_valid_traceparent("ff" + next.substr(2)));
}

TEST(tracestate, members_are_checked) {
    for (const char* good : {"a=1", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "a=1 , b=2",
                             "a=1,,b=2", "0t@sys=x", "a/*_-=!\"#", "a= b"}) {
        EXPECT_TRUE(is_valid_tracestate(good)) << good;
    }
    for (const char* bad : {"", ",", "a", "=1", "a=", "A=1", "a=1=2", "a=\x7f", "a=\t", "-a=1",
                            "a@=1", "@a=1", "a@b@c=1", "a=1,b"}) {
        EXPECT_FALSE(is_valid_tracestate(bad)) << bad;
    }
    std::string many = "k0=v";
    for (int i = 1; i < 32; ++i) {
        many += ",k" + std::to_string(i) + "=v";
    }
    EXPECT_TRUE(is_valid_tracestate(many));
    EXPECT_FALSE(is_valid_tracestate(many + ",k32=v"));
    EXPECT_TRUE(is_valid_tracestate(std::string(256, 'k') + "=" + std::string(256, 'v')));
    EXPECT_FALSE(is_valid_tracestate(std::string(257, 'k') + "=v"));
    EXPECT_FALSE(is_valid_tracestate("k=" + std::string(257, 'v')));
}

// What a handler saw: "traceparent|tracestate".
class traced_world {
 public:
    traced_world() : world_(options()) {}

    std::string seen(const header_list& headers, const std::string& meta = "",
                     const char* tool = "trace") {
        const std::string body = modern_body("1", "tools/call", call_params(tool, "{}"), meta);
        return world_.connect().ask_message(modern_post("tools/call", tool, body, headers)).text();
    }
    std::string seen_legacy(const header_list& headers) {
        header_list all = headers;
        all.emplace_back("Mcp-Session-Id", world_.open_session("2025-06-18"));
        const std::string body = message("1", "tools/call", call_params("trace", "{}"));
        return world_.connect().ask_message(http_request("POST", all, body)).text();
    }

 private:
    static tool_result tell(context& ctx) {
        const trace_context t = ctx.trace();
        return ctx.text(t.traceparent, "|", t.tracestate, "|", t.trace_id(), "|", t.parent_id(),
                        t.sampled() ? "|sampled" : "|");
    }
    static task<tool_result> tell_later(context& ctx, json::view) {
        co_await ctx.yield();
        co_return tell(ctx);
    }
    static world_options options() {
        world_options o;
        o.more = [](server& s) {
            s.tool("trace").about("x").run(tell);
            s.tool("trace_later").about("x").run(tell_later);
        };
        return o;
    }
    world world_;
};

// STANDARD row 105
TEST(trace, comes_from_the_head) {
    traced_world w;
    const std::string expected =
        std::string(sample) + "|a=1|0af7651916cd43dd8448eb211c80319c|b7ad6b7169203331|sampled";
    EXPECT_EQ(w.seen({{"traceparent", sample}, {"tracestate", "a=1"}}), expected);
    EXPECT_EQ(w.seen_legacy({{"traceparent", sample}, {"tracestate", "a=1"}}), expected);
    // The head is gone when a handler goes on.
    EXPECT_EQ(w.seen({{"traceparent", sample}, {"tracestate", "a=1"}}, "", "trace_later"),
              expected);
    EXPECT_EQ(
        w.seen({{"traceparent", sample}, {"tracestate", "a=1"}, {"tracestate", "b=2"}}),
        std::string(sample) + "|a=1,b=2|0af7651916cd43dd8448eb211c80319c|b7ad6b7169203331|sampled");
}

// STANDARD row 105
TEST(trace, meta_comes_first_and_brings_its_own_state) {
    traced_world w;
    const std::string in_meta = R"("traceparent":")" + std::string(another) + '"';
    const std::string expected =
        std::string(another) + "||11111111111111111111111111111111|2222222222222222|";
    EXPECT_EQ(w.seen({}, in_meta), expected);
    EXPECT_EQ(w.seen({{"traceparent", sample}, {"tracestate", "a=1"}}, in_meta), expected);
    EXPECT_EQ(w.seen({}, in_meta + R"(,"tracestate":"m=1")"),
              std::string(another) + "|m=1|11111111111111111111111111111111|2222222222222222|");
}

TEST(trace, what_is_not_valid_was_not_sent) {
    traced_world w;
    EXPECT_EQ(w.seen({}), "||||");
    EXPECT_EQ(w.seen({{"tracestate", "a=1"}}), "||||");
    EXPECT_EQ(w.seen({{"traceparent", "00-x"}, {"tracestate", "a=1"}}), "||||");
    EXPECT_EQ(w.seen({{"traceparent", sample}, {"traceparent", another}}), "||||");
    EXPECT_EQ(w.seen({}, R"("traceparent":7)"), "||||");
    EXPECT_EQ(
        w.seen({{"traceparent", another}, {"tracestate", "A=1"}}, R"("traceparent":"00-bad")"),
        std::string(another) + "||11111111111111111111111111111111|2222222222222222|");
}

}  // namespace
}  // namespace pillion::mcp::testing
