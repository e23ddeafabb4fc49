// Questions to the client over every legacy transport, and clients that answer late, twice,
// wrongly, never, at the last moment, or for somebody else.
#include <gtest/gtest.h>

#include "io/timer_wheel.hpp"
#include "unit/mcp/legacy_peer.hpp"

namespace pillion::mcp::testing {
namespace {

struct asking_case {
    way how;
    const char* version;
};

class asking : public ::testing::TestWithParam<asking_case> {
 public:
    world w{with_ask()};
    legacy_peer peer{w, GetParam().how, GetParam().version};

    using texts = std::vector<std::string>;
    static constexpr const char* no_answer = "The client did not answer in time";

    // The call is over, said so once, and nothing is left of it.
    void expect_end(std::string_view result, std::size_t back) {
        EXPECT_EQ(peer.results("1"), texts{std::string(result)});
        EXPECT_EQ(peer.taken_back().size(), back);
        EXPECT_EQ(w.engine->questions(), 0U);
        EXPECT_EQ(w.on.inside, 0);
        EXPECT_EQ(w.engine->live_requests(), 0U);
    }
};

TEST_P(asking, an_answer_ends_the_question) {
    peer.call("1");
    EXPECT_EQ(w.engine->questions(), 1U);
    peer.say({answer_to(peer.question(), "yes")});
    expect_end("said: yes", 0);
}

TEST_P(asking, one_who_never_answers_is_told_that_it_is_too_late) {
    peer.call("1");
    const std::string id = peer.question();
    w.pass_ms(limit_ms - 2);
    EXPECT_TRUE(peer.results("1").empty());
    w.pass_ms(4);
    expect_end(no_answer, 1);
    EXPECT_EQ(peer.taken_back(), texts{id});
    // First the question ends, then the call.
    EXPECT_EQ(parsed(peer.heard().back()).id(), "1");
    w.pass_ms(60'000);
    expect_end(no_answer, 1);
}

TEST_P(asking, a_late_answer_is_dropped) {
    peer.call("1");
    const std::string id = peer.question();
    w.pass_ms(limit_ms + 2);
    const std::size_t before = peer.heard().size();
    peer.say({answer_to(id, "late")});
    peer.say({answer_to(id, "late")});
    EXPECT_EQ(peer.heard().size(), before);
    expect_end(no_answer, 1);
    // The next question is another one.
    peer.call("2");
    ASSERT_EQ(peer.questions().size(), 2U);
    EXPECT_NE(peer.questions()[1], id);
    peer.say({answer_to(id, "late"), answer_to(peer.questions()[1], "new")});
    EXPECT_EQ(peer.results("2"), texts{"said: new"});
}

TEST_P(asking, the_first_of_two_answers_counts) {
    peer.call("1");
    const std::string id = peer.question();
    peer.say({answer_to(id, "one"), answer_to(id, "two")});
    peer.say({answer_to(id, "three")});
    expect_end("said: one", 0);
}

TEST_P(asking, an_error_or_a_wrong_shape_is_an_answer) {
    const std::pair<const char*, const char*> wrong[] = {
        {R"("error":{"code":-1,"message":"no"})", "The client refused to answer"},
        {R"("error":{"code":-32601,"message":"?"})", "The client does not know this request"},
        {R"("error":{})", "The client refused to answer"},
        {R"("result":{})", "The client's answer is malformed"},
        {R"("result":{"content":7})", "The client's answer is malformed"},
        {R"("result":{"content":"text"})", "The client's answer is malformed"},
        {R"("result":{"role":"assistant","content":null})", "The client's answer is malformed"},
    };
    std::size_t number = 1;
    for (const auto& [body, text] : wrong) {
        const std::string id = std::to_string(number);
        peer.call(id);
        const texts asked = peer.questions();
        ASSERT_EQ(asked.size(), number++);
        peer.say({R"({"jsonrpc":"2.0","id":")" + asked.back() + "\"," + body + "}"});
        EXPECT_EQ(peer.results(id), texts{text}) << body;
    }
    EXPECT_TRUE(peer.taken_back().empty());
    EXPECT_EQ(w.engine->questions(), 0U);
    EXPECT_EQ(w.engine->live_requests(), 0U);
}

TEST_P(asking, whatever_is_no_answer_to_it_leaves_the_question_open) {
    peer.call("1");
    const std::string id = peer.question();
    std::string neighbour = id;
    neighbour.back() = neighbour.back() == '0' ? '1' : '0';
    std::string elsewhere = id;
    elsewhere[3] = '7';  // a shard that is not there
    const std::string rest = R"(,"result":{"role":"assistant","content":{"type":"text"}}})";
    const std::string begin = R"({"jsonrpc":"2.0","id":)";
    for (const std::string& other :
         {std::string("7"), std::string("null"), std::string("1"), std::string("\"\""),
          "[\"" + id + "\"]", "{\"id\":\"" + id + "\"}", "\"" + id + " \"", "\"" + neighbour + "\"",
          "\"" + elsewhere + "\"", "\"" + id.substr(0, id.size() - 1) + "\""}) {
        peer.say({begin + other + rest});
        EXPECT_EQ(w.engine->questions(), 1U) << other;
    }
    // Neither a result nor an error; no version; a request of that id.
    peer.say({begin + "\"" + id + "\"}"});
    peer.say({R"({"id":")" + id + "\"" + rest});
    peer.say({message("\"" + id + "\"", "ping", "")});
    EXPECT_EQ(w.engine->questions(), 1U);
    EXPECT_TRUE(peer.results("1").empty());
    peer.say({answer_to(id, "right")});
    expect_end("said: right", 0);
}

TEST_P(asking, nobody_answers_for_another) {
    peer.call("1");
    const std::string id = peer.question();
    std::vector<std::unique_ptr<legacy_peer>> strangers;
    for (const way other : {way::http, way::sse, way::pipe}) {
        strangers.push_back(std::make_unique<legacy_peer>(w, other, GetParam().version));
        strangers.back()->say({answer_to(id, "stolen")});
        EXPECT_EQ(w.engine->questions(), 1U);
    }
    // Nor without a session.
    w.connect().send(http_request("POST", {}, answer_to(id, "stolen")));
    EXPECT_EQ(w.engine->questions(), 1U);
    peer.say({answer_to(id, "mine")});
    expect_end("said: mine", 0);
}

TEST_P(asking, several_at_once_are_answered_in_reverse) {
    constexpr std::size_t count = 5;
    for (std::size_t i = 0; i < count; ++i) {
        peer.call(std::to_string(i + 1));
    }
    const texts asked = peer.questions();
    ASSERT_EQ(asked.size(), count);
    EXPECT_EQ(w.engine->questions(), count);
    for (std::size_t i = count; i-- > 0;) {
        const std::string number = std::to_string(i + 1);
        peer.say({answer_to(asked[i], number)});
        EXPECT_EQ(peer.results(number), texts{"said: " + number});
        EXPECT_EQ(w.engine->questions(), i);
    }
    EXPECT_TRUE(peer.taken_back().empty());
    EXPECT_EQ(w.engine->live_requests(), 0U);
}

TEST_P(asking, without_the_capability_nothing_is_sent) {
    for (const char* declared : {"{}", R"({"roots":{}})", R"({"sampling":null})"}) {
        legacy_peer modest(w, GetParam().how, GetParam().version, declared);
        modest.call("1");
        EXPECT_EQ(modest.results("1"),
                  texts{"The client does not declare the capability \"sampling\""});
        EXPECT_EQ(modest.heard().size(), 1U);
    }
    legacy_peer rootless(w, GetParam().how, GetParam().version, R"({"sampling":{}})");
    rootless.call("1", R"({"what":"roots"})");
    EXPECT_EQ(rootless.results("1"), texts{"The client does not declare the capability \"roots\""});
    rootless.call("2", R"({"what":"form"})");
    EXPECT_EQ(rootless.results("2"),
              texts{"The client does not declare the capability \"elicitation\""});
    EXPECT_EQ(w.engine->questions(), 0U);
}

// Every quarter of a millisecond around the limit: either the answer counts or the question was
// taken back, never both, never neither.
TEST_P(asking, an_answer_around_the_limit_counts_or_is_taken_back) {
    std::size_t in_time = 0;
    std::size_t too_late = 0;
    for (std::int64_t quarter = -12; quarter <= 12; ++quarter) {
        const std::string number = std::to_string(100 + quarter);
        const std::size_t back = peer.taken_back().size();
        peer.call(number);
        peer.say_after(limit_ms * 1'000'000 + quarter * 250'000,
                       answer_to(peer.questions().back(), "just"));
        w.pass_ms(limit_ms + 10);
        const texts got = peer.results(number);
        ASSERT_EQ(got.size(), 1U) << quarter;
        const bool counted = got[0] == "said: just";
        EXPECT_TRUE(counted || got[0] == no_answer) << got[0];
        EXPECT_EQ(peer.taken_back().size(), back + (counted ? 0 : 1)) << quarter;
        in_time += counted ? 1 : 0;
        too_late += counted ? 0 : 1;
    }
    EXPECT_GE(in_time, 4U);
    EXPECT_GE(too_late, 4U);
    EXPECT_EQ(w.engine->questions(), 0U);
    EXPECT_EQ(w.engine->live_requests(), 0U);
}

TEST_P(asking, a_cancelled_call_takes_its_question_back) {
    peer.call("1");
    const std::string id = peer.question();
    peer.say({message("", "notifications/cancelled", R"("requestId":1)")});
    EXPECT_EQ(peer.taken_back(), texts{id});
    EXPECT_TRUE(peer.results("1").empty());
    peer.say({answer_to(id, "late")});
    EXPECT_EQ(w.engine->questions(), 0U);
    EXPECT_EQ(w.on.inside, 0);
    EXPECT_EQ(w.engine->live_requests(), 0U);
}

TEST_P(asking, the_end_of_the_session_ends_the_question) {
    peer.call("1");
    const std::string id = peer.question();
    if (peer.pipe() != nullptr) {
        peer.pipe()->eof();
    } else if (peer.session().empty()) {
        peer.connection().peer().reset();
        w.settle();
    } else {
        const header_list of = {{"Mcp-Session-Id", peer.session()}};
        EXPECT_EQ(w.connect().ask(http_request("DELETE", of, "")).status, 204);
        EXPECT_EQ(peer.results("1"), texts{"error: Session ended"});
        EXPECT_TRUE(peer.connection().replies().at(0).complete);
        EXPECT_EQ(w.connect().ask(legacy_post(peer.session(), answer_to(id, "x"))).status, 404);
    }
    EXPECT_EQ(w.engine->questions(), 0U);
    EXPECT_EQ(w.on.inside, 0);
    EXPECT_EQ(w.engine->live_requests(), 0U);
}

TEST_P(asking, a_draining_server_waits_for_no_answer) {
    peer.call("1");
    const std::string id = peer.question();
    w.engine->drain();
    w.settle();
    expect_end("The client is gone", 0);
    peer.say({answer_to(id, "late")});
    expect_end("The client is gone", 0);
}

// A question that came up while the server drained waited for its whole time, and the drain with
// it, although nobody could answer any more.
TEST_P(asking, a_question_that_comes_up_while_draining_fails_at_once) {
    peer.call("1", R"({"wait":100,"limit":300000})");
    w.engine->drain();
    w.pass_ms(102);
    EXPECT_TRUE(peer.questions().empty());
    expect_end("The server is shutting down", 0);
}

// The answer and the limit in one turn of the loop, in either order: the answer counts, for it was
// there before anybody looked.
TEST(asking_over_http, an_answer_in_the_turn_of_the_limit_counts) {
    struct last_moment {
        world& in;
        legacy_peer& from;
        io::timer timer;

        last_moment(world& w, legacy_peer& p)
            : in(w), from(p), timer(&last_moment::on_time, this) {}
        static void on_time(io::timer& /*self*/, void* owner) noexcept {
            const auto& me = *static_cast<last_moment*>(owner);
            const parsed answer(answer_to(me.from.questions().back(), "same"));
            me.in.engine->take_response(me.in.service->sessions().find(me.from.session()),
                                        answer.root());
        }
    };
    world w(with_ask());
    legacy_peer peer(w, way::http, "2025-11-25");
    for (const bool before : {true, false}) {
        last_moment answer(w, peer);
        const std::string number = before ? "1" : "2";
        if (before) {
            w.net.loop().arm_in_ms(answer.timer, limit_ms);
        }
        peer.call(number);
        if (!before) {
            w.net.loop().arm_in_ms(answer.timer, limit_ms);
        }
        w.pass_ms(limit_ms + 2);
        EXPECT_EQ(peer.results(number), std::vector<std::string>{"said: same"}) << before;
    }
    EXPECT_TRUE(peer.taken_back().empty());
}

INSTANTIATE_TEST_SUITE_P(
    ways, asking,
    ::testing::Values(asking_case{way::http, "2024-11-05"}, asking_case{way::http, "2025-03-26"},
                      asking_case{way::http, "2025-06-18"}, asking_case{way::http, "2025-11-25"},
                      asking_case{way::sse, "2024-11-05"}, asking_case{way::sse, "2025-03-26"},
                      asking_case{way::sse, "2025-06-18"}, asking_case{way::sse, "2025-11-25"},
                      asking_case{way::pipe, "2024-11-05"}, asking_case{way::pipe, "2025-06-18"},
                      asking_case{way::pipe, "2025-03-26"}, asking_case{way::pipe, "2025-11-25"}),
    [](const auto& of) {
        const way how = of.param.how;
        std::string name = how == way::http ? "http_" : how == way::sse ? "sse_" : "pipe_";
        for (const char* c = of.param.version; *c != '\0'; ++c) {
            name.push_back(*c == '-' ? '_' : *c);
        }
        return name;
    });

}  // namespace
}  // namespace pillion::mcp::testing
