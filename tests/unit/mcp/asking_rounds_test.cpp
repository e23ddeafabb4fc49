// Rounds of 2026-07-28 on a network that does what it likes: retries that are cut, doubled, late,
// cancelled or sent to a server that ends. Each has one answer or none, the handler never gets a
// request of its own out, and what counts once happens at most once.
#include <gtest/gtest.h>

#include <pillion/ask.hpp>

#include "base/limits.hpp"
#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {
namespace {

task<> linger(context& ctx, int pause_ms) {
    for (int i = 0; i < 2; ++i) {
        if (pause_ms > 0) {
            co_await ctx.sleep(std::chrono::milliseconds(pause_ms));
        } else {
            co_await ctx.yield();
        }
    }
}

// Asks whether to pay and pays, with turns of the loop or time around both.
task<tool_result> pay(int& effects, int pause_ms, context& ctx) {
    co_await linger(ctx, pause_ms);
    elicit_request sure("Pay?");
    sure.required("yes", boolean()).key("sure").single_use();
    const auto got = co_await ctx.elicit(sure);
    if (!got) {
        co_return ctx.error(got.error());
    }
    ++effects;
    co_await linger(ctx, pause_ms);
    co_return ctx.text("paid");
}

task<tool_result> name(context& ctx) {
    elicit_request who("Who?");
    who.required("name", string()).key("who");
    const auto got = co_await ctx.elicit(who);
    co_return got ? ctx.text(got->content["name"].str()) : ctx.error(got.error());
}

// A message of a client that can fill in forms.
std::string able(std::string body) {
    const std::string none = R"(clientCapabilities":{})";
    return body.replace(body.find(none), none.size(), R"(clientCapabilities":{"elicitation":{}})");
}

std::string body_of(std::string_view id, std::string_view tool, std::string_view state = {}) {
    std::string params = call_params(tool, "{}");
    if (!state.empty()) {
        params += R"(,"inputResponses":{"sure":{"action":"accept","content":{"yes":true}},)"
                  R"("who":{"action":"accept","content":{"name":"Ada"}}},"requestState":")" +
                  std::string(state) + "\"";
    }
    return able(modern_body(id, "tools/call", params));
}

std::string post_of(std::string_view id, std::string_view tool, std::string_view state = {}) {
    return modern_post("tools/call", tool, body_of(id, tool, state));
}

std::string state_in(std::string_view message) {
    return std::string(parsed(message)["result"]["requestState"].str());
}

class rounds : public ::testing::Test {
 public:
    int effects = 0;
    int pause_ms = 0;
    world w{options()};

    world_options options() {
        world_options o;
        o.more = [this](server& s) {
            s.tool("pay").run([this](context& ctx) { return pay(effects, pause_ms, ctx); });
            s.tool("name").run(&name);
        };
        return o;
    }
    std::string begin(std::string_view tool = "pay") {
        const std::string state = state_in(w.connect().ask(post_of("1", tool)).message());
        EXPECT_FALSE(state.empty());
        return state;
    }
    void turns(int count) {
        for (int i = 0; i < count; ++i) {
            w.net.loop().run_one(0);
        }
    }
    // The next moments: four turns of each millisecond.
    void moments(int count) {
        w.net.run_for_ms(count / 4);
        turns(count % 4);
    }
    // The round is tried again after something went wrong: in the end it has happened once.
    void expect_once(const std::string& state, int before, int at) {
        const int happened = effects - before;
        ASSERT_LE(happened, 1) << at;
        EXPECT_EQ(w.engine->live_requests(), 0U) << at;
        const parsed again = w.connect().ask_message(post_of("9", "pay", state));
        if (happened == 1) {
            EXPECT_EQ(again.code(), -32602) << again.raw();
        } else {
            EXPECT_EQ(again.text(), "paid") << again.raw();
        }
        EXPECT_EQ(effects, before + 1) << at;
    }
};

TEST_F(rounds, a_client_that_leaves_at_every_turn) {
    int early = 0;
    for (const bool rudely : {true, false}) {
        for (int at = 0; at <= 24; ++at) {
            const std::string state = begin();
            const int before = effects;
            client& c = w.connect();
            pause_ms = 1;
            c.peer().send(post_of("2", "pay", state));
            moments(at);
            if (rudely) {
                c.peer().reset();
            } else {
                c.peer().finish();
            }
            w.settle();
            pause_ms = 0;
            early += effects == before ? 1 : 0;
            EXPECT_LE(c.replies().size(), 1U);
            expect_once(state, before, at);
        }
    }
    EXPECT_GT(early, 2);
    EXPECT_LT(early, 40);
    EXPECT_EQ(w.left(), "");
}

TEST_F(rounds, a_round_that_is_cut_at_every_byte) {
    const std::string state = begin();
    const std::string whole = post_of("2", "pay", state);
    for (std::size_t at = 0; at < whole.size(); ++at) {
        client& c = w.connect();
        c.send(whole.substr(0, at));
        EXPECT_EQ(effects, 0);
        if (at % 2 == 0) {
            c.peer().reset();
        } else {
            c.peer().finish();
        }
        w.settle();
        ASSERT_EQ(effects, 0) << at;
        ASSERT_EQ(w.engine->live_requests(), 0U) << at;
    }
    EXPECT_EQ(w.connect().ask_message(whole).text(), "paid");
    EXPECT_EQ(effects, 1);
    EXPECT_EQ(w.left(), "");
}

TEST_F(rounds, a_round_in_two_pieces_is_one) {
    for (std::size_t at = 1;; ++at) {
        const std::string whole = post_of("2", "name", begin("name"));
        if (at >= whole.size()) {
            break;
        }
        client& c = w.connect();
        c.peer().split_at({at});
        ASSERT_EQ(c.ask_message(whole).text(), "Ada") << at;
        c.peer().finish();
    }
    EXPECT_EQ(w.left(), "");
}

// The questions, and the answer, break off on their way to the client at every byte.
TEST_F(rounds, a_reply_that_breaks_off_at_every_byte) {
    const std::size_t asked = w.connect().send(post_of("1", "pay")).peer().received().size();
    std::string state = begin();
    const std::size_t paid = w.connect().send(post_of("2", "pay", state)).peer().received().size();
    ASSERT_GT(asked, 300U);
    ASSERT_GT(paid, 200U);
    w.net.net().options.send_max = 1;
    const auto break_at = [this](const std::string& bytes, std::size_t at) {
        client& c = w.connect();
        c.peer().send(bytes);
        for (int i = 0; i < 5000 && c.peer().received().size() < at; ++i) {
            turns(1);
        }
        EXPECT_EQ(c.peer().received().size(), at);
        c.peer().reset();
        w.settle();
        EXPECT_EQ(w.engine->live_requests(), 0U) << at;
    };
    for (std::size_t at = 1; at < asked; ++at) {
        break_at(post_of("1", "pay"), at);  // nothing is kept of a round that nobody heard of
    }
    w.net.net().options.send_max = 0;
    for (std::size_t at = 1; at < paid; ++at) {
        state = begin();
        const int before = effects;
        w.net.net().options.send_max = 1;
        break_at(post_of("2", "pay", state), at);
        w.net.net().options.send_max = 0;
        EXPECT_EQ(effects, before + 1);
        expect_once(state, before, static_cast<int>(at));
    }
    EXPECT_EQ(w.left(), "");
}

// Two connections, the second one so many turns behind.
TEST_F(rounds, the_same_round_twice_at_every_distance) {
    for (int at = 0; at <= 16; ++at) {
        const std::string state = begin();
        const int before = effects;
        client& one = w.connect();
        client& two = w.connect();
        w.settle();
        pause_ms = 1;
        one.peer().send(post_of("2", "pay", state));
        moments(at);
        two.peer().send(post_of("3", "pay", state));
        w.pass_ms(20);
        pause_ms = 0;
        EXPECT_EQ(effects, before + 1) << at;
        const parsed a(one.replies().at(0).message());
        const parsed b(two.replies().at(0).message());
        EXPECT_NE(a.text(), b.text()) << at;
        const parsed& refused = a.text() == "paid" ? b : a;
        EXPECT_EQ(refused.code(), -32602) << at << refused.raw();
        EXPECT_EQ(refused["error"]["data"]["reason"].str(), "used");
        EXPECT_EQ(one.replies().size() + two.replies().size(), 2U);
        // What does not count once is answered each time.
        const std::string other = begin("name");
        for (const char* id : {"4", "5"}) {
            EXPECT_EQ(w.connect().ask_message(post_of(id, "name", other)).text(), "Ada");
        }
    }
    EXPECT_EQ(w.left(), "");
}

TEST_F(rounds, over_a_pipe_a_cancellation_at_every_turn) {
    pipe_end p(w);
    std::size_t cancelled = 0;
    std::size_t answered = 0;
    for (int at = 0; at <= 24; ++at) {
        const std::string state = state_in(p.ask(body_of("1", "pay")).raw());
        const int before = effects;
        p.fresh();
        pause_ms = 1;
        p.put(body_of("2", "pay", state) + "\n");
        moments(at);
        p.put(message("", "notifications/cancelled", R"("requestId":2)") + "\n");
        w.settle();
        pause_ms = 0;
        const auto said = p.fresh();
        ASSERT_LE(said.size(), 1U) << at;
        if (!said.empty()) {
            EXPECT_EQ(parsed(said[0]).id(), "2");
            EXPECT_EQ(parsed(said[0]).text(), "paid");
            EXPECT_EQ(effects, before + 1);
        }
        (said.empty() ? cancelled : answered) += 1;
        expect_once(state, before, at);
        EXPECT_TRUE(p.fresh().empty());
    }
    EXPECT_GT(cancelled, 2U);
    EXPECT_GT(answered, 2U);
}

TEST_F(rounds, over_a_pipe_that_ends_at_every_turn) {
    for (int at = 0; at <= 16; ++at) {
        const std::string state = begin();
        const int before = effects;
        {
            pipe_end p(w);
            pause_ms = 1;
            p.put(body_of("2", "pay", state) + "\n");
            moments(at);
            p.eof();
            pause_ms = 0;
            EXPECT_LE(p.lines().size(), 1U);
        }
        expect_once(state, before, at);
    }
    EXPECT_EQ(w.left(), "");
}

TEST_F(rounds, answers_that_come_too_late) {
    const std::string state = begin();
    w.pass_ms(limits::request_state_ms + 10);
    EXPECT_EQ(w.connect().ask_message(post_of("2", "pay", state)).code(), -32602);
    EXPECT_EQ(effects, 0);
    EXPECT_EQ(w.left(), "");
}

// A round that came in is served to its end while the server drains, once.
TEST_F(rounds, answers_while_the_server_drains) {
    for (int at = 0; at <= 12; ++at) {
        int paid = 0;
        world_options o;
        o.more = [&paid](server& s) {
            s.tool("pay").run([&paid](context& ctx) { return pay(paid, 0, ctx); });
        };
        world other(o);
        const std::string state = state_in(other.connect().ask(post_of("1", "pay")).message());
        client& c = other.connect();
        other.settle();
        c.peer().send(post_of("2", "pay", state));
        for (int i = 0; i < at; ++i) {
            other.net.loop().run_one(0);
        }
        other.engine->drain();
        other.settle();
        ASSERT_EQ(c.replies().size(), 1U) << at;
        EXPECT_EQ(parsed(c.replies()[0].message()).text(), "paid") << at;
        EXPECT_EQ(paid, 1);
        EXPECT_EQ(other.engine->live_requests(), 0U);
    }
}

TEST_F(rounds, a_full_memory_of_used_answers_refuses) {
    const std::string state = begin();
    spent_nonces& used = w.service->spent();
    const std::int64_t now = w.engine->loop().unix_ms();
    for (std::size_t i = 0; i < limits::spent_nonces_max; ++i) {
        ASSERT_EQ(used.spend(std::to_string(i), now, now + 60'000), spent_nonces::outcome::first);
    }
    const http_reply r = w.connect().ask(post_of("2", "pay", state));
    EXPECT_EQ(r.status, 503);
    const parsed p(r.message());
    EXPECT_EQ(p.code(), -32006) << p.raw();
    EXPECT_GT(p["error"]["data"]["retryAfter"].i64().value_or(0), 0);
    EXPECT_EQ(effects, 0);
    // Nothing was used up: later the same answers count.
    w.pass_ms(61'000);
    EXPECT_EQ(w.connect().ask_message(post_of("3", "pay", state)).text(), "paid");
    EXPECT_EQ(effects, 1);
    EXPECT_EQ(w.left(), "");
}

// ---- whose answers they are ----

class catcher final : public reply_channel {
 public:
    bool notify(request& /*r*/, base::byte_buffer message) noexcept override {
        said.emplace_back(message.view());
        return true;
    }
    void reply(request& /*r*/, base::byte_buffer message, std::uint16_t status) noexcept override {
        said.emplace_back(message.view());
        last_status = status;
    }
    void drop(request& /*r*/) noexcept override {}

    std::vector<std::string> said;
    int last_status = 0;
};

// Serves a message as one that this principal sent.
std::string served_for(world& w, std::string_view principal, const std::string& body) {
    catcher heard;
    request& r = w.engine->make();
    const json::view root = r.parse(body);
    r.id = root["id"];
    r.method = root["method"].str();
    r.set_params(root["params"]);
    r.principal = r.memory.dup(principal);
    r.channel = &heard;
    w.engine->serve(r);
    w.settle();
    EXPECT_EQ(heard.said.size(), 1U);
    return heard.said.empty() ? std::string() : heard.said.back();
}

TEST_F(rounds, a_state_is_good_for_its_principal_only) {
    const char* const principals[] = {"", "ada", "bob", "ad", "adaa", "Ada", "ada\",\"x"};
    for (const char* owner : principals) {
        const std::string state = state_in(served_for(w, owner, body_of("1", "pay")));
        ASSERT_FALSE(state.empty());
        const int before = effects;
        for (const char* other : principals) {
            if (std::string_view(other) != owner) {
                const parsed p(served_for(w, other, body_of("2", "pay", state)));
                EXPECT_EQ(p.code(), -32602) << owner << " " << other << p.raw();
            }
        }
        EXPECT_EQ(effects, before);
        EXPECT_EQ(parsed(served_for(w, owner, body_of("3", "pay", state))).text(), "paid");
        EXPECT_EQ(effects, before + 1);
    }
    EXPECT_EQ(w.left(), "");
}

}  // namespace
}  // namespace pillion::mcp::testing
