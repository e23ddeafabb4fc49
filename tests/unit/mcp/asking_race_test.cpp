// Questions to clients of earlier revisions when things happen at the same time: a cancellation and
// the answer in every order and distance, a way that breaks at every byte. A call ends once or,
// when it was cancelled, not at all, and nothing is left of it.
#include "unit/mcp/legacy_peer.hpp"

namespace pillion::mcp::testing {
namespace {

struct race_case {
    way how;
    const char* version;
};

class races : public ::testing::TestWithParam<race_case> {
 public:
    using texts = std::vector<std::string>;
    world w{with_ask()};

    legacy_peer new_peer() { return legacy_peer(w, GetParam().how, GetParam().version); }
    void expect_nothing_left(int at) {
        EXPECT_EQ(w.engine->questions(), 0U) << at;
        EXPECT_EQ(w.engine->live_requests(), 0U) << at;
    }
    void turns(int count) {
        for (int i = 0; i < count; ++i) {
            w.net.loop().run_one(0);
        }
    }
};

TEST_P(races, a_cancellation_at_every_turn_around_the_answer) {
    constexpr int distance = 12;
    legacy_peer peer = new_peer();
    std::size_t answered = 0;
    std::size_t cancelled = 0;
    // Turns from the answer to the cancellation.
    for (int lead = -distance; lead <= distance; ++lead) {
        const std::string id = std::to_string(100 + lead);
        peer.call(id);
        const std::string answer = answer_to(peer.questions().back(), "yes");
        const std::string cancel = message("", "notifications/cancelled", R"("requestId":)" + id);
        const std::size_t back = peer.taken_back().size();
        client& one = w.connect();
        client& two = w.connect();
        w.settle();
        peer.put(one, lead < 0 ? cancel : answer);
        turns(lead < 0 ? -lead : lead);
        peer.put(two, lead < 0 ? answer : cancel);
        w.settle();
        const texts got = peer.results(id);
        ASSERT_LE(got.size(), 1U) << lead;
        if (!got.empty()) {
            EXPECT_EQ(got[0], "said: yes") << lead;
            EXPECT_EQ(peer.taken_back().size(), back) << lead;
        }
        EXPECT_LE(peer.taken_back().size(), back + 1) << lead;
        (got.empty() ? cancelled : answered) += 1;
        expect_nothing_left(lead);
        // Nothing follows.
        const std::size_t said = peer.heard().size();
        w.pass_ms(2 * limit_ms);
        EXPECT_EQ(peer.heard().size(), said) << lead;
    }
    // Both ends of the range are decided.
    EXPECT_GE(answered, 3U);
    EXPECT_GE(cancelled, static_cast<std::size_t>(distance));
}

// The client is cut off when it has got so many bytes, up to the whole question.
TEST_P(races, the_way_to_the_client_breaks_at_every_byte_of_the_question) {
    const bool http = GetParam().how == way::http;
    legacy_peer first = new_peer();
    std::vector<std::unique_ptr<legacy_peer>> peers;
    const auto received = [](legacy_peer& of) {
        return of.pipe() != nullptr ? of.pipe()->written()
                                    : of.connection().peer().received().size();
    };
    // Over HTTP a call has a way of its own; elsewhere the handshake comes first.
    const std::size_t shortest = http ? 0 : received(first);
    first.call("1");
    const std::string question = first.question();
    const std::size_t longest = received(first) - 1;
    first.say({answer_to(question, "whole")});
    ASSERT_EQ(first.results("1"), texts{"said: whole"});
    w.net.net().options.send_max = 1;
    std::size_t broken = 0;
    for (std::size_t at = shortest; at <= longest; ++at) {
        if (!http) {
            // The stream breaks, and with it the session.
            peers.push_back(std::make_unique<legacy_peer>(new_peer()));
        }
        legacy_peer& peer = http ? first : *peers.back();
        peer.begin(std::to_string(2 + at));
        for (int i = 0; i < 3000 && received(peer) < at; ++i) {
            turns(1);
        }
        ASSERT_EQ(received(peer), at);
        ++broken;
        if (peer.pipe() != nullptr) {
            peer.pipe()->breaks();
        } else {
            peer.connection().peer().reset();
        }
        w.settle();
        // A call in a session goes on, and its question has a limit; a stream ends both, and a pipe
        // ends its process.
        const bool may_wait = http || (peer.pipe() != nullptr && peer.pipe()->ended());
        EXPECT_LE(w.engine->questions(), may_wait ? 1U : 0U) << at;
        w.pass_ms(limit_ms + 5);
        expect_nothing_left(static_cast<int>(at));
        EXPECT_EQ(received(peer), at);
        peers.clear();
    }
    EXPECT_GT(broken, 150U);
    w.net.net().options.send_max = 0;
}

// An answer that breaks off is none: the question stays open, and its limit ends it.
TEST_P(races, the_answer_breaks_off_at_every_byte) {
    if (GetParam().how == way::pipe) {
        return;  // a pipe that ends has no client behind it: asking_test.cpp
    }
    legacy_peer peer = new_peer();
    peer.call("1");
    const std::string id = peer.question();
    client& probe = w.connect();
    peer.put(probe, answer_to(id, "yes"));
    w.settle();
    ASSERT_EQ(peer.results("1"), texts{"said: yes"});
    std::size_t length = 0;
    for (std::size_t at = 0; length == 0 || at < length; ++at) {
        const std::string number = std::to_string(2 + at);
        peer.call(number);
        const std::string whole = peer.framed(answer_to(peer.questions().back(), "yes"));
        length = whole.size();
        client& c = w.connect();
        c.peer().send(whole.substr(0, at));
        w.settle();
        EXPECT_EQ(w.engine->questions(), 1U) << at;
        if (at % 2 == 0) {
            c.peer().reset();
        } else {
            c.peer().finish();
        }
        w.settle();
        ASSERT_EQ(w.engine->questions(), 1U) << at;
        w.pass_ms(limit_ms + 5);
        EXPECT_EQ(peer.results(number), texts{"The client did not answer in time"}) << at;
        expect_nothing_left(static_cast<int>(at));
    }
    EXPECT_GT(length, 200U);
    EXPECT_EQ(peer.taken_back().size(), length);
}

// The answer, the same again, the end of the session and the drain, one turn apart in every order.
TEST_P(races, answers_and_the_end_of_the_server_in_every_order) {
    for (int gap = 0; gap <= 8; ++gap) {
        for (const bool drain_first : {true, false}) {
            world other(with_ask());
            legacy_peer peer(other, GetParam().how, GetParam().version);
            peer.call("1");
            const std::string answer = answer_to(peer.question(), "yes");
            client& one = other.connect();
            client& two = other.connect();
            other.settle();
            if (drain_first) {
                other.engine->drain();
            } else {
                peer.put(one, answer);
            }
            for (int i = 0; i < gap; ++i) {
                other.net.loop().run_one(0);
            }
            if (drain_first) {
                peer.put(one, answer);
            } else {
                other.engine->drain();
            }
            peer.put(two, answer);
            other.settle();
            const texts got = peer.results("1");
            ASSERT_EQ(got.size(), 1U) << gap;
            EXPECT_TRUE(got[0] == "said: yes" || got[0] == "The client is gone") << got[0];
            EXPECT_TRUE(peer.taken_back().empty());
            EXPECT_EQ(other.engine->questions(), 0U);
            EXPECT_EQ(other.engine->live_requests(), 0U);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    ways, races,
    ::testing::Values(race_case{way::http, "2024-11-05"}, race_case{way::http, "2025-03-26"},
                      race_case{way::http, "2025-06-18"}, race_case{way::http, "2025-11-25"},
                      race_case{way::sse, "2024-11-05"}, race_case{way::sse, "2025-06-18"},
                      race_case{way::sse, "2025-11-25"}, race_case{way::pipe, "2024-11-05"},
                      race_case{way::pipe, "2025-06-18"}, race_case{way::pipe, "2025-11-25"}),
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
