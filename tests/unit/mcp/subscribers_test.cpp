// What a provider hears of who wants to hear of its resources, over every way of coming and going.
#include <gtest/gtest.h>

#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {
namespace {

// Owns "own://…" and puts down what it is told: "+a", "-a".
class told_provider final : public resource_provider {
 public:
    bool owns(std::string_view uri) const noexcept override { return uri.starts_with("own://"); }
    task<result<bool>> list(context& /*ctx*/, std::string_view /*after*/,
                            resource_page& /*page*/) override {
        co_return false;
    }
    task<resource_result> read(context& ctx, std::string_view /*uri*/) override {
        co_return ctx.not_found();
    }
    void subscribed(std::string_view uri, bool on) override {
        told +=
            (told.empty() ? "" : " ") + std::string(on ? "+" : "-") + std::string(uri.substr(6));
    }

    std::string told;
};

class subscribers : public ::testing::Test {
 public:
    std::shared_ptr<told_provider> provider = std::make_shared<told_provider>();
    world w{[this] {
        world_options o;
        o.session_idle_ms = 60'000;
        o.more = [this](server& s) { s.provide(provider); };
        return o;
    }()};

    // What was told since the last call.
    std::string told() {
        w.settle();
        return std::exchange(provider->told, {});
    }
    std::size_t wanted() { return w.service->changes().uris(); }

    static std::string body(bool on, std::string_view uri) {
        return message("1", on ? "resources/subscribe" : "resources/unsubscribe",
                       R"("uri":")" + std::string(uri) + "\"");
    }
    void ask(const std::string& session, bool on, std::string_view uri) {
        const parsed p = w.connect().ask_message(legacy_post(session, body(on, uri)));
        EXPECT_TRUE(p["result"].exists()) << p.raw();
    }
    client& listen(std::string_view uris) {
        client& c = w.connect();
        const std::string wanted = R"("notifications":{"resourceSubscriptions":)";
        c.send(modern_post(
            "subscriptions/listen", "",
            modern_body("1", "subscriptions/listen", wanted + std::string(uris) + "}")));
        return c;
    }
};

TEST_F(subscribers, the_first_and_the_last_count) {
    const std::string one = w.open_session("2025-06-18");
    const std::string two = w.open_session("2025-11-25");
    ask(one, true, "own://a");
    EXPECT_EQ(told(), "+a");
    ask(one, true, "own://a");
    ask(two, true, "own://a");
    ask(two, true, "own://b");
    EXPECT_EQ(told(), "+b");
    ask(one, false, "own://a");
    ask(one, false, "own://a");
    ask(one, false, "own://b");
    EXPECT_EQ(told(), "");
    ask(two, false, "own://a");
    EXPECT_EQ(told(), "-a");
    ask(two, false, "own://b");
    EXPECT_EQ(told(), "-b");
    EXPECT_EQ(wanted(), 0U);
}

TEST_F(subscribers, others_resources_are_none_of_its_business) {
    const std::string s = w.open_session("2025-06-18");
    ask(s, true, "test://a");
    listen(R"(["test://a","else://b"])");
    EXPECT_EQ(told(), "");
    EXPECT_EQ(wanted(), 2U);
}

TEST_F(subscribers, a_session_that_is_deleted_takes_its_own_back) {
    const std::string s = w.open_session("2025-06-18");
    ask(s, true, "own://a");
    EXPECT_EQ(told(), "+a");
    const header_list of = {{"Mcp-Session-Id", s}};
    EXPECT_EQ(w.connect().ask(http_request("DELETE", of, "")).status, 204);
    EXPECT_EQ(told(), "-a");
    EXPECT_EQ(wanted(), 0U);
}

TEST_F(subscribers, a_session_that_expires_takes_its_own_back) {
    const std::string s = w.open_session("2025-06-18");
    ask(s, true, "own://a");
    w.pass_ms(50'000);
    EXPECT_EQ(told(), "+a");
    w.pass_ms(60'000);
    EXPECT_EQ(told(), "-a");
    EXPECT_EQ(wanted(), 0U);
}

TEST_F(subscribers, pipes_and_streams_take_their_own_back) {
    {
        pipe_end pipe(w);
        pipe.line(initialize_body("2025-06-18"));
        pipe.line(body(true, "own://p"));
        EXPECT_EQ(told(), "+p");
    }
    EXPECT_EQ(told(), "-p");
    client& stream = w.connect();
    stream.send(http_request("GET", {{"Accept", "text/event-stream"}}, "", "/sse"));
    const std::string to = stream.replies().at(0).events.at(0);
    w.connect().send(http_request("POST", {}, initialize_body("2024-11-05"), to));
    w.connect().send(http_request("POST", {}, body(true, "own://s"), to));
    EXPECT_EQ(told(), "+s");
    stream.peer().reset();
    EXPECT_EQ(told(), "-s");
    EXPECT_EQ(wanted(), 0U);
}

TEST_F(subscribers, listening_counts_as_long_as_it_lasts) {
    const std::string s = w.open_session("2025-06-18");
    ask(s, true, "own://a");
    client& one = listen(R"(["own://a","own://b","own://b","own://c"])");
    EXPECT_EQ(told(), "+a +b +c");
    client& two = listen(R"(["own://c"])");
    one.peer().reset();
    EXPECT_EQ(told(), "-b");
    ask(s, false, "own://a");
    EXPECT_EQ(told(), "-a");
    two.peer().finish();
    EXPECT_EQ(told(), "-c");
    listen(R"(["own://d"])");
    w.engine->drain();
    EXPECT_EQ(told(), "+d -d");
    EXPECT_EQ(wanted(), 0U);
}

// A subscription that is refused for its number is not counted either.
TEST_F(subscribers, one_too_many_is_not_counted) {
    const std::string s = w.open_session("2025-06-18");
    client& c = w.connect();
    int refused = 0;
    for (int i = 0; i < 2000 && refused == 0; ++i) {
        refused = c.ask_message(legacy_post(s, body(true, "own://" + std::to_string(i)))).code();
    }
    EXPECT_EQ(refused, -32003);
    const std::size_t most = wanted();
    EXPECT_GE(most, 100U);
    EXPECT_EQ(provider->told.find('-'), provider->told.rfind('-'));
    EXPECT_EQ(w.connect().ask(http_request("DELETE", {{"Mcp-Session-Id", s}}, "")).status, 204);
    w.settle();
    EXPECT_EQ(wanted(), 0U);
}

}  // namespace
}  // namespace pillion::mcp::testing
