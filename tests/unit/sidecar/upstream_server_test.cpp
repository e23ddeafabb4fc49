// upstream_server: against a server that this file writes, message by message: both eras, servers
// that are slow, silent or gone, and lists that come in pages.
#include "sidecar/upstream_server.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "io/memory_backend.hpp"
#include "json/document.hpp"
#include "unit/sidecar/calls.hpp"

namespace pillion::sidecar {
namespace {

using testing::callers;
using testing::first_event;

struct scripted;

// The way to the server of a test, which it drives.
struct link final : server_link {
    explicit link(scripted& of) : test(of) {}
    ~link() override;
    void start(link_reader& reader) override;
    void send(std::string message) override;
    void close() noexcept override;

    scripted& test;
};

struct scripted final : upstream_listener {
    scripted() {
        bridge_spec spec;
        spec.name = "s";
        it = std::make_unique<upstream_server>(
            loop, spec, [this] { return std::make_unique<link>(*this); }, *this);
    }
    ~scripted() {
        it->close();
        if (reader != nullptr) {
            end("closed");
        }
    }
    void on_lists(upstream_server&) override { ++lists; }
    void on_resource_updated(upstream_server&, std::string_view uri) override { updated = uri; }

    // The oldest message that was sent: "METHOD params"; its id is kept.
    std::string next() {
        if (sent.empty()) {
            return {};
        }
        const auto parsed = json::document::parse(sent.front());
        sent.erase(sent.begin());
        id = parsed->root()["id"].exists() ? json_text(parsed->root()["id"]) : "";
        return std::string(parsed->root()["method"].str());
    }
    void say(const std::string& message) { reader->on_message(message); }
    void answer(const std::string& result) {
        say(R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":)" + result + "}");
    }
    void refuse() {
        say(R"({"jsonrpc":"2.0","id":)" + id + R"(,"error":{"code":-32601,"message":"no"}})");
    }
    void end(const char* why) { std::exchange(reader, nullptr)->on_end(why); }
    void pass(std::int64_t ms) {
        const std::int64_t until = loop.now_ns() + ms * 1'000'000;
        while (loop.now_ns() < until) {
            loop.run_one(until - loop.now_ns());
        }
    }
    void become_legacy(const char* capabilities = R"({"tools":{}})") {
        it->start();
        be_greeted(capabilities);
    }
    void be_greeted(const char* capabilities = R"({"tools":{}})") {
        EXPECT_EQ(next(), "server/discover");
        refuse();
        EXPECT_EQ(next(), "initialize");
        answer(std::string(R"({"protocolVersion":"2024-11-05","capabilities":)") + capabilities +
               "}");
        EXPECT_EQ(next(), "notifications/initialized");
    }

    io::reactor loop{std::make_unique<io::memory_backend>([] { return false; })};
    std::unique_ptr<upstream_server> it;
    link_reader* reader = nullptr;
    std::vector<std::string> sent;
    std::string id;
    std::string updated;
    int lists = 0;
    int starts = 0;
    bool closing = false;
};

link::~link() = default;
void link::start(link_reader& reader) {
    test.reader = &reader;
    test.closing = false;
    ++test.starts;
}
void link::send(std::string message) { test.sent.push_back(std::move(message)); }
void link::close() noexcept { test.closing = true; }

TEST(upstream_server, a_server_with_sessions) {
    scripted s;
    s.become_legacy();
    EXPECT_FALSE(s.it->up());
    EXPECT_EQ(s.next(), "tools/list");
    s.answer(R"({"tools":[{"name":"a"},{"name":"b"}],"nextCursor":"2"})");
    EXPECT_NE(s.sent[0].find(R"("cursor":"2")"), std::string::npos) << s.sent[0];
    EXPECT_EQ(s.next(), "tools/list");
    s.answer(R"({"tools":[{"name":"c"},5,null]})");
    EXPECT_TRUE(s.it->up() && s.it->settled());
    EXPECT_EQ(s.lists, 1);
    EXPECT_EQ(s.it->offers()[list_kind::tools].size(), 3U);
    s.say(R"({"method":"notifications/tools/list_changed"})");
    s.say(R"({"method":"notifications/tools/list_changed"})");  // while it is asked: once more
    EXPECT_EQ(s.next(), "tools/list");
    EXPECT_TRUE(s.sent.empty());
    s.answer(R"({"tools":[]})");
    EXPECT_EQ(s.next(), "tools/list");
    s.answer(R"({"tools":[{"name":"d"}]})");
    EXPECT_EQ(s.lists, 2);
    EXPECT_EQ(s.it->offers()[list_kind::tools].size(), 1U);
}

// A server that closes its stream at once, again and again, was not to be asked as often.
TEST(upstream_server, after_gaps_in_what_it_says_it_is_asked_less_and_less_often) {
    scripted s;
    s.become_legacy();
    EXPECT_EQ(s.next(), "tools/list");
    s.answer(R"({"tools":[]})");
    int asked = 0;
    const auto pass_seconds = [&s, &asked](int seconds, bool with_gaps) {
        for (int i = 0; i < seconds; ++i) {
            if (with_gaps) {
                s.reader->on_gap();
            }
            s.pass(1000);
            while (!s.sent.empty()) {
                const std::string method = s.next();
                asked += method == "tools/list" ? 1 : 0;
                s.answer(method == "ping" ? "{}" : R"({"tools":[{"name":"a"}]})");
            }
        }
        return std::exchange(asked, 0);
    };
    s.reader->on_gap();
    EXPECT_EQ(pass_seconds(100, false), 1);
    EXPECT_EQ(s.it->offers()[list_kind::tools].size(), 1U);
    const int often = pass_seconds(600, true);
    EXPECT_GT(often, 5);
    EXPECT_LT(often, 30);
    // The last one is not forgotten, and after a while one counts as the first again.
    s.reader->on_gap();
    EXPECT_EQ(pass_seconds(130, false), 1);
    s.reader->on_gap();
    EXPECT_EQ(pass_seconds(2, false), 1);
}

// A change told of between the lists of its start was not asked for.
TEST(upstream_server, what_changes_while_it_is_listed_is_asked_for_when_it_is_up) {
    scripted s;
    s.become_legacy(R"({"tools":{},"prompts":{}})");
    EXPECT_EQ(s.next(), "tools/list");
    s.say(R"({"method":"notifications/tools/list_changed"})");
    s.answer(R"({"tools":[{"name":"a"}]})");
    EXPECT_EQ(s.next(), "prompts/list");
    EXPECT_TRUE(s.sent.empty());
    s.answer(R"({"prompts":[]})");
    EXPECT_TRUE(s.it->up());
    EXPECT_EQ(s.next(), "tools/list");
    s.answer(R"({"tools":[{"name":"a"},{"name":"b"}]})");
    EXPECT_EQ(s.it->offers()[list_kind::tools].size(), 2U);
    EXPECT_TRUE(s.sent.empty());
}

// Over HTTP it was sent what only a session has: the link did not know it by its version.
TEST(upstream_server, a_server_of_2026_is_told_of_a_cancellation_in_its_words) {
    scripted s;
    s.it->start();
    EXPECT_EQ(s.next(), "server/discover");
    s.answer(R"({"supportedVersions":["2026-07-28"],"capabilities":{}})");
    EXPECT_EQ(s.next(), "subscriptions/listen");
    callers calls;
    const auto call = calls.make("tools/call", R"("name":"a")");
    s.it->begin(call);
    EXPECT_EQ(s.next(), "tools/call");
    s.it->cancel(*call, "enough");
    ASSERT_EQ(s.sent.size(), 1U);
    const auto told = json::document::parse(s.sent[0]);
    const json::view params = told->root()["params"];
    EXPECT_EQ(params["reason"].str(), "enough");
    EXPECT_EQ(params["_meta"]["io.modelcontextprotocol/protocolVersion"].str(), "2026-07-28");
}

TEST(upstream_server, a_server_of_2026) {
    scripted s;
    s.it->start();
    EXPECT_EQ(s.next(), "server/discover");
    s.answer(R"({"supportedVersions":["2026-07-28"],"capabilities":{"prompts":{}}})");
    EXPECT_NE(s.sent[0].find("2026-07-28"), std::string::npos);
    EXPECT_EQ(s.next(), "prompts/list");
    s.answer(R"({"prompts":[{"name":"p"}]})");
    EXPECT_TRUE(s.it->up());
    EXPECT_EQ(s.next(), "subscriptions/listen");
    s.it->subscribe("u://1", true);
    EXPECT_EQ(s.next(), "notifications/cancelled");
    EXPECT_NE(s.sent[0].find(R"("resourceSubscriptions":["u://1"])"), std::string::npos);
    s.say(R"({"method":"notifications/resources/updated","params":{"uri":"u://1"}})");
    EXPECT_EQ(s.updated, "u://1");
}

TEST(upstream_server, of_what_others_follow_it_is_told_what_has_changed) {
    scripted s;
    s.become_legacy(R"({"resources":{"subscribe":true}})");
    s.it->follow({"u://1", "u://2"});  // before it is up
    for (const char* const list : {R"({"resources":[]})", R"({"resourceTemplates":[]})"}) {
        s.next();
        s.answer(list);
    }
    EXPECT_TRUE(s.it->up());
    std::string told;
    const auto tell = [&] {
        for (told.clear(); !s.sent.empty(); told += ' ') {
            const std::string uri = s.sent[0].substr(s.sent[0].find("u://"), 5);
            told += s.next().substr(10) + ' ' + uri;
        }
        return told;
    };
    EXPECT_EQ(tell(), "subscribe u://1 subscribe u://2 ");
    s.it->follow({"u://2", "u://3"});
    EXPECT_EQ(tell(), "unsubscribe u://1 subscribe u://3 ");
    s.it->follow({"u://2", "u://3"});
    EXPECT_EQ(tell(), "");
    s.it->follow({});
    EXPECT_EQ(tell(), "unsubscribe u://2 unsubscribe u://3 ");
}

TEST(upstream_server, silence_is_of_the_earlier_era) {
    scripted s;
    s.it->start();
    EXPECT_EQ(s.next(), "server/discover");
    const std::string probe = s.id;
    s.pass(3100);
    EXPECT_EQ(s.next(), "initialize");
    // … unless it was only slow.
    s.say(R"({"id":)" + probe +
          R"(,"result":{"supportedVersions":["2026-07-28"],)"
          R"("capabilities":{}}})");
    EXPECT_TRUE(s.it->up());
}

TEST(upstream_server, one_that_never_gets_ready_is_ended) {
    scripted s;
    s.it->start();
    s.pass(3100 + 20'100);
    EXPECT_TRUE(s.closing);
    s.end("it ended with code 0");
    EXPECT_TRUE(s.it->settled() && !s.it->up());
    EXPECT_EQ(s.it->fault(), "it was not ready in time");
}

TEST(upstream_server, who_ends_is_started_again_later_each_time) {
    scripted s;
    s.it->start();
    for (const int pause : {500, 1000, 2000, 4000}) {
        const int before = s.starts;
        EXPECT_EQ(s.next(), "server/discover");
        s.refuse();
        EXPECT_EQ(s.next(), "initialize");
        s.end("it ended with code 1");
        EXPECT_EQ(s.it->fault(), "it ended with code 1");
        s.pass(pause - 10);
        EXPECT_EQ(s.starts, before);
        s.pass(20);
        EXPECT_EQ(s.starts, before + 1);
    }
    s.sent.clear();
    s.it->close();
    s.end("closed");
    s.pass(100'000);
    EXPECT_EQ(s.starts, 5);
}

// As servers built on the official Rust SDK do, which were never up: each start began with the
// probe.
TEST(upstream_server, who_ends_at_the_probe_is_greeted_first) {
    scripted s;
    s.it->start();
    EXPECT_EQ(s.next(), "server/discover");
    s.end("it ended with code 1");
    EXPECT_FALSE(s.it->settled());
    for (const int pause : {0, 500}) {  // kept for its next lives
        s.pass(pause + 1);
        EXPECT_EQ(s.next(), "initialize");
        s.answer(R"({"protocolVersion":"2025-11-25","capabilities":{}})");
        EXPECT_EQ(s.next(), "notifications/initialized");
        EXPECT_TRUE(s.it->up());
        s.end("it ended with code 1");
    }
}

// One that ends at everything, or is exchanged for another one, is probed again.
TEST(upstream_server, who_does_not_like_to_be_greeted_first_is_probed_again) {
    scripted s;
    s.it->start();
    for (const int pause : {500, 1000}) {
        EXPECT_EQ(s.next(), "server/discover");
        if (pause == 1000) {  // it reads what has come while it started
            s.pass(3100);
            EXPECT_EQ(s.next(), "initialize");
        }
        s.end("it ended with code 1");
        s.pass(1);
        EXPECT_EQ(s.next(), "initialize");
        s.end("it ended with code 1");
        EXPECT_TRUE(s.it->settled());
        s.pass(pause + 1);
    }
    EXPECT_EQ(s.next(), "server/discover");
}

TEST(upstream_server, its_lists_outlive_it) {
    scripted s;
    s.become_legacy();
    EXPECT_EQ(s.next(), "tools/list");
    s.answer(R"({"tools":[{"name":"a"}]})");
    s.end("gone");
    EXPECT_FALSE(s.it->up());
    EXPECT_EQ(s.it->offers()[list_kind::tools].size(), 1U);
}

TEST(upstream_server, what_it_asks_when_nobody_calls) {
    scripted s;
    s.become_legacy("{}");
    EXPECT_TRUE(s.it->up());
    s.say(R"({"id":"x","method":"ping"})");
    EXPECT_EQ(s.sent.back(), R"({"jsonrpc":"2.0","id":"x","result":{}})");
    s.say(R"({"id":5,"method":"elicitation/create","params":{}})");
    EXPECT_NE(s.sent.back().find("No client is waiting"), std::string::npos);
    s.say(R"({"id":6,"method":"something/else"})");
    EXPECT_NE(s.sent.back().find("-32601"), std::string::npos);
}

constexpr const char* server_s_first = R"({"id":0,"method":"elicitation/create","params":{}})";
constexpr const char* server_s_first_answer = R"({"jsonrpc":"2.0","id":0,"result":"hers"})";

// Ids begin again with each process of a server: what one client said to a question of the last one
// was the answer to that of another client.
TEST(upstream_server, an_answer_is_of_the_life_that_asked) {
    scripted s;
    callers calls;
    std::vector<std::uint64_t> asked;
    s.it->start();
    for (int life = 0; life < 2; ++life) {
        s.be_greeted();
        EXPECT_EQ(s.next(), "tools/list");
        s.answer(R"({"tools":[{"name":"a"}]})");
        const auto call = calls.make("tools/call", R"("name":"a")");
        s.it->begin(call);
        EXPECT_EQ(s.next(), "tools/call");
        s.say(server_s_first);
        asked.push_back(first_event(call)->asked);
        if (life == 0) {
            s.end("it ended with code 1");
            s.it->answer(asked[0], R"("his")");
            s.pass(1000);
        }
    }
    s.it->answer(asked[0], R"("his")");
    s.it->refuse(asked[0], -32600, "he cannot be asked");
    EXPECT_TRUE(s.sent.empty());
    s.it->answer(asked[1], R"("hers")");
    ASSERT_EQ(s.sent.size(), 1U);
    EXPECT_EQ(s.sent[0], server_s_first_answer);
    s.it->answer(asked[1], R"("hers")");  // only once
    EXPECT_EQ(s.sent.size(), 1U);
}

// A server without sessions behind a URL is exchanged, and nobody hears of it.
TEST(upstream_server, an_answer_is_to_the_last_question_of_its_id) {
    scripted s;
    callers calls;
    s.become_legacy("{}");
    std::vector<std::shared_ptr<bridged_call>> all;
    for (std::size_t i = 0; i < 2; ++i) {
        all.push_back(calls.make("tools/call", R"("name":"a")"));
        s.it->begin(all[i]);
        EXPECT_EQ(s.next(), "tools/call");
        s.say(server_s_first);
        if (i == 0) {
            s.refuse();
        }
    }
    s.it->answer(first_event(all[0])->asked, R"("his")");
    EXPECT_TRUE(s.sent.empty());
    s.it->answer(first_event(all[1])->asked, R"("hers")");
    ASSERT_EQ(s.sent.size(), 1U);
    EXPECT_EQ(s.sent[0], server_s_first_answer);
}

// A link over HTTP: the server has forgotten the session that a call was sent in.
TEST(upstream_server, a_call_that_met_a_forgotten_session_goes_again) {
    scripted s;
    s.become_legacy();
    EXPECT_EQ(s.next(), "tools/list");
    s.answer(R"({"tools":[{"name":"a"}]})");
    ASSERT_TRUE(s.it->up());
    callers calls;
    const auto call = calls.make("tools/call", R"("name":"a")");
    s.it->begin(call);
    EXPECT_EQ(s.next(), "tools/call");
    s.reader->on_session_lost(call->number);
    s.end("it has forgotten the session");
    EXPECT_FALSE(first_event(call));
    s.pass(1);
    EXPECT_EQ(s.starts, 2);
    // One that comes meanwhile waits as well.
    const auto later = calls.make("tools/call", R"("name":"b")");
    s.it->begin(later);
    EXPECT_EQ(s.next(), "server/discover");
    s.refuse();
    EXPECT_EQ(s.next(), "initialize");
    s.answer(R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{}}})");
    EXPECT_EQ(s.next(), "notifications/initialized");
    EXPECT_EQ(s.next(), "tools/list");
    s.answer(R"({"tools":[{"name":"a"}]})");
    EXPECT_EQ(s.next(), "tools/call");
    s.answer(R"({"content":[]})");
    EXPECT_EQ(s.next(), "tools/call");
    s.answer(R"({"content":[]})");
    EXPECT_EQ(first_event(call)->what, call_event::kind::result);
    EXPECT_EQ(first_event(later)->what, call_event::kind::result);
}

// One that forgets every session would be asked for ever.
TEST(upstream_server, a_call_goes_again_once) {
    scripted s;
    callers calls;
    const auto call = calls.make("tools/call", R"("name":"a")");
    for (int round = 0; round < 2; ++round) {
        if (round == 0) {
            s.become_legacy();
        } else {
            s.pass(1);
            EXPECT_EQ(s.next(), "server/discover");
            s.refuse();
            EXPECT_EQ(s.next(), "initialize");
            s.answer(R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{}}})");
            EXPECT_EQ(s.next(), "notifications/initialized");
        }
        EXPECT_EQ(s.next(), "tools/list");
        s.answer(R"({"tools":[{"name":"a"}]})");
        if (round == 0) {
            s.it->begin(call);
        }
        EXPECT_EQ(s.next(), "tools/call");
        s.reader->on_session_lost(call->number);
        s.end("it has forgotten the session");
    }
    ASSERT_TRUE(first_event(call));
    EXPECT_EQ(first_event(call)->code, -32006);
}

TEST(upstream_server, a_silent_one_is_started_again) {
    scripted s;
    s.become_legacy();
    EXPECT_EQ(s.next(), "tools/list");
    s.answer(R"({"tools":[]})");
    s.pass(30'001);
    EXPECT_EQ(s.next(), "ping");
    s.answer("{}");
    s.pass(29'000);
    EXPECT_TRUE(s.sent.empty());
    s.pass(1'001);
    EXPECT_EQ(s.next(), "ping");
    EXPECT_FALSE(s.closing);
    s.pass(10'001);
    EXPECT_TRUE(s.closing);
    s.end("closed");
    EXPECT_EQ(s.it->fault(), "it does not answer pings");
}

// It may work on nothing else meanwhile.
TEST(upstream_server, a_busy_one_is_not_asked) {
    scripted s;
    s.become_legacy();
    EXPECT_EQ(s.next(), "tools/list");
    s.answer(R"({"tools":[]})");
    callers calls;
    s.it->begin(calls.make("tools/call", R"("name":"a")"));
    EXPECT_EQ(s.next(), "tools/call");
    s.pass(200'000);
    EXPECT_TRUE(s.sent.empty());
    EXPECT_FALSE(s.closing);
}

}  // namespace
}  // namespace pillion::sidecar
