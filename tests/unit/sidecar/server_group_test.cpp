// server_group: who is served by which server, when these come and go, and what each is told.
#include "sidecar/server_group.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "io/memory_backend.hpp"
#include "json/document.hpp"
#include "rpc/errors.hpp"
#include "unit/sidecar/calls.hpp"

namespace pillion::sidecar {
namespace {

using testing::first_event;

// A server of a test: it is up by itself, and answers what it is asked when the test says so.
struct server_of_test {
    link_reader* reader = nullptr;  // null: it has ended
    std::vector<std::string> sent;
    std::vector<std::string> taught;  // the tools that the link knows
    bool closing = false;

    std::string id_of(const std::string& message) const {
        const auto parsed = json::document::parse(message);
        return json_text(parsed->root()["id"]);
    }
    // How many messages of that method were sent.
    int count(const std::string& method) const {
        int found = 0;
        for (const std::string& one : sent) {
            found += one.find("\"method\":\"" + method + "\"") != std::string::npos ? 1 : 0;
        }
        return found;
    }
    // That it was asked to log at.
    std::vector<std::string> levels() const {
        std::vector<std::string> found;
        for (const std::string& one : sent) {
            const auto parsed = json::document::parse(one);
            if (parsed->root()["method"].str() == "logging/setLevel") {
                found.emplace_back(parsed->root()["params"]["level"].str());
            }
        }
        return found;
    }
    void answer(const std::string& message, const std::string& result) {
        reader->on_message(R"({"jsonrpc":"2.0","id":)" + id_of(message) + R"(,"result":)" + result +
                           "}");
    }
    void refuse_last() {
        reader->on_message(R"({"jsonrpc":"2.0","id":)" + id_of(sent.back()) +
                           R"(,"error":{"code":-32601,"message":"no"}})");
    }
    void answer_last() { answer(std::string(sent.back()), R"({"content":[]})"); }
    void end() { std::exchange(reader, nullptr)->on_end("it has gone"); }
};

struct group_link final : server_link {
    explicit group_link(server_of_test& of) : to(of) {}
    void start(link_reader& reader) override { to.reader = &reader; }
    void send(std::string message) override { to.sent.push_back(std::move(message)); }
    void learn_tools(const std::vector<std::string>& tools) override { to.taught = tools; }
    void close() noexcept override { to.closing = true; }
    server_of_test& to;
};

struct group_test : ::testing::Test, testing::callers, upstream_listener {
    void on_lists(upstream_server&) override { ++lists; }
    void on_resource_updated(upstream_server&, std::string_view uri) override { updated = uri; }

    void make(std::size_t clients_max, bool per_client = true) {
        bridge_spec spec;
        spec.name = "s";
        spec.per_client = per_client;
        spec.clients_max = clients_max;
        spec.client_idle_ms = 60'000;
        spec.ping_interval_ms = 0;
        it = std::make_unique<server_group>(
            loop, spec,
            [this] {
                servers.push_back(std::make_unique<server_of_test>());
                return std::make_unique<group_link>(*servers.back());
            },
            *this);
        it->start();
        get_up(0);
    }
    // Sees it through its start.
    void get_up(std::size_t which) {
        server_of_test& at = *servers[which];
        at.refuse_last();
        at.answer(std::string(at.sent.back()),
                  R"({"protocolVersion":"2025-11-25","capabilities":)"
                  R"({"tools":{},"logging":{},"resources":{"subscribe":true}}})");
        for (const std::string& one : std::vector<std::string>(at.sent)) {
            if (one.find("/list\"") != std::string::npos) {
                answer_list(at, one);
            }
        }
    }
    static void answer_list(server_of_test& at, const std::string& message) {
        at.answer(message, R"({"tools":[{"name":"a"}],"resources":[],"resourceTemplates":[]})");
    }
    std::shared_ptr<bridged_call> call(const char* owner, const char* level = "",
                                       std::uint32_t roots_changes = 0) {
        bridged_call::request what;
        what.method = "tools/call";
        what.params = R"("name":"a")";
        what.owner = owner;
        what.log_level = level;
        what.roots_changes = roots_changes;
        auto made = std::make_shared<bridged_call>(shared, what);
        it->begin(made);
        return made;
    }
    void pass(std::int64_t ms) {
        const std::int64_t until = loop.now_ns() + ms * 1'000'000;
        while (loop.now_ns() < until) {
            loop.run_one(until - loop.now_ns());
            end_those_that_close();
        }
    }
    void end_those_that_close() {
        for (const auto& one : servers) {
            if (one->closing && one->reader != nullptr) {
                one->end();
            }
        }
    }
    void TearDown() override {
        it->close();
        end_those_that_close();
        EXPECT_TRUE(it->idle());
    }

    io::reactor loop{std::make_unique<io::memory_backend>([] { return false; })};
    std::vector<std::unique_ptr<server_of_test>> servers;
    std::unique_ptr<server_group> it;
    int lists = 0;
    std::string updated;
};

TEST_F(group_test, one_serves_all_unless_each_client_has_its_own) {
    make(2, false);
    const auto a = call("ada");
    const auto b = call("bob");
    EXPECT_EQ(servers.size(), 1U);
    EXPECT_EQ(servers[0]->count("tools/call"), 2);
    EXPECT_EQ(it->owned(), 0U);
}

TEST_F(group_test, each_client_has_its_own_whose_calls_wait_for_its_start) {
    make(2);
    const auto a = call("ada");
    const auto b = call("bob");
    const auto nobody = call("");
    ASSERT_EQ(servers.size(), 3U);
    EXPECT_EQ(servers[0]->count("tools/call"), 1);  // who has no name is served by the first one
    EXPECT_EQ(servers[1]->count("tools/call"), 0);
    get_up(1);
    get_up(2);
    const auto again = call("ada");
    EXPECT_EQ(servers[1]->count("tools/call"), 2);
    EXPECT_EQ(servers[2]->count("tools/call"), 1);
    servers[2]->answer_last();
    EXPECT_EQ(first_event(b)->what, call_event::kind::result);
    EXPECT_FALSE(first_event(a));
}

// Whatever clients wanted, servers were asked for "info".
TEST_F(group_test, a_shared_server_is_asked_for_the_lowest_level_that_was_wanted) {
    make(2, false);
    using levels = std::vector<std::string>;
    EXPECT_EQ(servers[0]->levels(), levels{"info"});
    call("ada", "error");
    call("bob", "debug");
    EXPECT_NE(servers[0]->sent.back().find("tools/call"), std::string::npos);  // it is told before
    call("ada", "error");
    call("cy", "");
    call("bob", "loud");
    EXPECT_EQ(servers[0]->levels(), (levels{"info", "debug"}));
    servers[0]->end();
    pass(600);
    get_up(1);
    EXPECT_EQ(servers[1]->levels(), levels{"debug"});  // its next life as well
}

TEST_F(group_test, a_client_s_own_server_is_asked_for_the_client_s_level) {
    make(2);
    using levels = std::vector<std::string>;
    call("ada", "debug");
    get_up(1);
    call("bob", "error");
    get_up(2);
    call("ada", "notice");
    call("ada", "notice");
    EXPECT_EQ(servers[0]->levels(), levels{"info"});
    EXPECT_EQ(servers[1]->levels(), (levels{"debug", "notice"}));
    EXPECT_EQ(servers[2]->levels(), levels{"error"});
}

// One that was started again has asked for the roots while nobody called, and was told nothing.
TEST_F(group_test, a_client_s_own_server_is_told_of_new_roots_before_the_next_call) {
    constexpr const char* told = "notifications/roots/list_changed";
    make(2);
    call("", "", 7);
    call("ada");
    get_up(1);
    EXPECT_NE(servers[1]->sent[1].find(R"("roots":{"listChanged":true})"), std::string::npos);
    EXPECT_EQ(servers[0]->sent[1].find("listChanged"), std::string::npos);
    call("ada", "", 2);
    EXPECT_NE(servers[1]->sent.back().find("tools/call"), std::string::npos);
    call("ada", "", 2);
    EXPECT_EQ(servers[1]->count(told), 1);
    servers[1]->end();
    pass(600);
    get_up(2);
    call("ada", "", 2);
    EXPECT_EQ(servers[2]->count(told), 1);
    EXPECT_EQ(servers[0]->count(told), 0);  // it does not say whose
}

// Of many that share a server one wants it chatty: what the others want found no place.
TEST_F(group_test, what_others_want_to_hear_is_not_queued) {
    make(2, false);
    call("bob", "debug");
    servers[0]->answer_last();
    const auto quiet = call("ada", "info");
    const auto say = [this](const char* level) {
        servers[0]->reader->on_message(R"({"method":"notifications/message","params":{"level":")" +
                                       std::string(level) + R"(","data":1}})");
    };
    for (std::size_t i = 0; i < 2 * bridged_call::events_max; ++i) {
        say("debug");
    }
    EXPECT_FALSE(first_event(quiet));
    say("info");
    ASSERT_TRUE(first_event(quiet));
    EXPECT_NE(first_event(quiet)->text.find("info"), std::string::npos);
    const auto chatty = call("ada", "debug");
    say("debug");
    ASSERT_TRUE(first_event(chatty));
}

TEST_F(group_test, theirs_are_not_asked_for_lists_but_know_the_tools) {
    make(2);
    EXPECT_EQ(lists, 1);
    const auto a = call("ada");
    get_up(1);
    EXPECT_EQ(servers[1]->count("tools/list") + servers[1]->count("resources/list"), 0);
    EXPECT_EQ(servers[1]->taught, std::vector<std::string>{R"({"name":"a"})"});
    servers[0]->reader->on_message(R"({"method":"notifications/tools/list_changed"})");
    servers[0]->answer(std::string(servers[0]->sent.back()),
                       R"({"tools":[{"name":"a"},{"name":"b"}]})");
    EXPECT_EQ(lists, 2);
    it->teach();
    EXPECT_EQ(servers[1]->taught.size(), 2U);
}

TEST_F(group_test, the_one_that_rested_longest_makes_room) {
    make(2);
    call("ada");
    get_up(1);
    servers[1]->answer_last();
    pass(1000);
    call("bob");
    get_up(2);
    servers[2]->answer_last();
    pass(1000);
    call("ada");  // now Bob's has rested longer
    servers[1]->answer_last();
    call("cy");
    EXPECT_TRUE(servers[2]->closing);
    EXPECT_FALSE(servers[1]->closing);
    EXPECT_EQ(it->owned(), 2U);
}

TEST_F(group_test, one_that_works_is_not_sent_away) {
    make(1);
    const auto a = call("ada");
    const auto b = call("bob");  // Ada's is still starting
    ASSERT_TRUE(first_event(b));
    EXPECT_EQ(first_event(b)->code, rpc::unavailable);
    EXPECT_NE(first_event(b)->text.find("no room"), std::string::npos);
    get_up(1);
    EXPECT_TRUE(first_event(call("bob")));
    servers[1]->answer_last();
    EXPECT_FALSE(first_event(call("bob")));
    EXPECT_TRUE(servers[1]->closing);
}

TEST_F(group_test, they_go_when_they_have_rested) {
    make(3);
    call("ada");
    get_up(1);
    servers[1]->answer_last();
    const auto long_one = call("bob");
    get_up(2);
    pass(59'000);
    EXPECT_FALSE(servers[1]->closing);
    pass(1'200);
    EXPECT_TRUE(servers[1]->closing);
    EXPECT_FALSE(servers[2]->closing);  // works
    EXPECT_EQ(it->owned(), 1U);
    pass(100'000);
    EXPECT_FALSE(servers[2]->closing);
    servers[2]->answer_last();
    pass(121'000);
    EXPECT_TRUE(servers[2]->closing);
    EXPECT_EQ(it->owned(), 0U);
    EXPECT_FALSE(servers[0]->closing);
    call("ada");  // and a new one comes
    EXPECT_EQ(servers.size(), 4U);
}

TEST_F(group_test, one_that_cannot_start_fails_its_client_s_calls_only) {
    make(2);
    const auto a = call("ada");
    const auto b = call("bob");
    servers[1]->refuse_last();  // it is asked in the words of 2025-11-25 now
    servers[1]->end();
    ASSERT_TRUE(first_event(a));
    EXPECT_EQ(first_event(a)->code, rpc::unavailable);
    get_up(2);
    servers[2]->answer_last();
    EXPECT_EQ(first_event(b)->what, call_event::kind::result);
    EXPECT_TRUE(first_event(call("ada")));  // until it is started again
    pass(600);
    ASSERT_EQ(servers.size(), 4U);
    const auto later = call("ada");
    EXPECT_FALSE(first_event(later));
    get_up(3);
    servers[3]->answer_last();
    EXPECT_EQ(first_event(later)->what, call_event::kind::result);
}

TEST_F(group_test, questions_and_answers_stay_between_a_client_and_its_own) {
    make(2);
    const auto a = call("ada");
    const auto b = call("bob");
    get_up(1);
    get_up(2);
    const char* const question = R"({"jsonrpc":"2.0","id":"q","method":"roots/list","params":{}})";
    servers[2]->reader->on_message(question);
    EXPECT_FALSE(first_event(a));
    ASSERT_TRUE(first_event(b));
    EXPECT_EQ(first_event(b)->what, call_event::kind::question);
    servers[1]->reader->on_message(question);
    ASSERT_TRUE(first_event(a));
    it->answer("ada", first_event(b)->asked, R"({"roots":[]})");  // the same id, of another server
    EXPECT_EQ(servers[1]->sent.back().find(R"("result":{"roots":[]})"), std::string::npos);
    it->answer("bob", first_event(b)->asked, R"({"roots":[]})");
    EXPECT_NE(servers[2]->sent.back().find(R"("result":{"roots":[]})"), std::string::npos);
    it->refuse("ada", first_event(a)->asked, -32603, "no");
    EXPECT_NE(servers[1]->sent.back().find(R"("code":-32603)"), std::string::npos);
    it->answer("nobody knows", 1, "{}");  // whose server has gone
    it->cancel(*a, "enough");
    EXPECT_EQ(servers[1]->count("notifications/cancelled"), 1);
    EXPECT_EQ(servers[2]->count("notifications/cancelled"), 0);
}

TEST_F(group_test, a_call_that_is_given_up_while_its_server_starts_never_gets_there) {
    make(2);
    const auto a = call("ada");
    it->cancel(*a, "deadline");
    get_up(1);
    EXPECT_EQ(servers[1]->count("tools/call"), 0);
}

TEST_F(group_test, all_hear_who_subscribes) {
    make(2);
    call("ada");
    get_up(1);
    it->subscribe("u://1", true);
    EXPECT_EQ(servers[0]->count("resources/subscribe"), 1);
    EXPECT_EQ(servers[1]->count("resources/subscribe"), 1);
    call("bob");
    get_up(2);
    EXPECT_EQ(servers[2]->count("resources/subscribe"), 1);
    servers[2]->reader->on_message(
        R"({"method":"notifications/resources/updated","params":{"uri":"u://1"}})");
    EXPECT_EQ(updated, "u://1");
}

TEST_F(group_test, when_it_closes_all_go_and_no_more_come) {
    make(2);
    const auto a = call("ada");
    it->close();
    const auto b = call("bob");
    EXPECT_EQ(servers.size(), 2U);
    ASSERT_TRUE(first_event(b));
    EXPECT_TRUE(servers[0]->closing && servers[1]->closing);
    EXPECT_FALSE(it->idle());
    end_those_that_close();
    EXPECT_TRUE(it->idle());
    ASSERT_TRUE(first_event(a));
    EXPECT_EQ(first_event(a)->code, rpc::unavailable);
}

}  // namespace
}  // namespace pillion::sidecar
