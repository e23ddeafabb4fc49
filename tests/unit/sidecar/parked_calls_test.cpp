// parked_calls: who finds what waits for a client, and who has to go.
#include "sidecar/parked_calls.hpp"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "unit/sidecar/calls.hpp"

namespace pillion::sidecar {
namespace {

struct parked_calls_test : ::testing::Test, testing::callers {
    parked_call of(const std::string& owner, const std::string& name = "s") {
        bridged_call::request what;
        what.method = "tools/call";
        what.owner = owner;
        return {name, std::make_shared<bridged_call>(shared, what)};
    }
    std::string keep(const parked_call& what, std::int64_t now_ms = 0) {
        parked_call overflow;
        std::string name = all.keep(what, now_ms, overflow);
        EXPECT_EQ(overflow.call, nullptr);
        return name;
    }

    parked_calls all;
};

TEST_F(parked_calls_test, its_owner_finds_it_as_often_as_it_likes) {
    const parked_call one = of("principal ada", "notes");
    const std::string name = keep(one);
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(all.find(name, "principal ada").call, one.call);
        EXPECT_EQ(all.find(name, "principal ada").server, "notes");
    }
    EXPECT_EQ(all.find(name, "principal bob").call, nullptr);
    EXPECT_EQ(all.find(name, "").call, nullptr);
    EXPECT_EQ(all.find("", "principal ada").call, nullptr);
    all.forget(name);
    all.forget(name);
    EXPECT_EQ(all.find(name, "principal ada").call, nullptr);
}

// A client that is nobody is told apart from others by the name alone.
TEST_F(parked_calls_test, names_are_not_to_be_guessed) {
    std::set<std::string> names;
    for (int i = 0; i < 1000; ++i) {
        const std::string name = keep(of(""));
        EXPECT_EQ(name.size(), 32U);
        EXPECT_EQ(name.find_first_not_of("0123456789abcdef"), name.npos) << name;
        names.insert(name);
    }
    EXPECT_EQ(names.size(), 1000U);
    std::string near = *names.begin();
    near.back() = near.back() == '0' ? '1' : '0';
    EXPECT_EQ(all.find(near, "").call, nullptr);
    for (std::size_t n = 0; n < 32; ++n) {
        EXPECT_EQ(all.find(names.begin()->substr(0, n), "").call, nullptr) << n;
    }
}

TEST_F(parked_calls_test, the_oldest_makes_room) {
    std::vector<parked_call> calls;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < parked_calls::calls_max; ++i) {
        calls.push_back(of("o"));
        names.push_back(keep(calls.back()));
    }
    // A place that has been left is taken first.
    all.forget(names[0]);
    EXPECT_FALSE(keep(of("o")).empty());
    parked_call overflow;
    const std::string last = all.keep(of("o"), 0, overflow);
    EXPECT_EQ(overflow.call, calls[1].call);
    EXPECT_EQ(all.find(names[1], "o").call, nullptr);
    EXPECT_EQ(all.find(names[2], "o").call, calls[2].call);
    EXPECT_NE(all.find(last, "o").call, nullptr);
}

// Calls of others ended one whose client was there and waited for its answer; when all were such,
// the youngest, whose client heard nothing of it.
TEST_F(parked_calls_test, who_waits_for_an_answer_keeps_its_place) {
    std::vector<parked_call> calls;
    std::vector<std::string> names;
    coro::event arrived;
    for (std::size_t i = 0; i < parked_calls::calls_max; ++i) {
        calls.push_back(of("o"));
        names.push_back(keep(calls.back()));
        if (i != 1) {
            calls.back().call->attach(0, arrived);
        }
    }
    const parked_call last = of("o");
    last.call->attach(0, arrived);
    parked_call overflow;
    const std::string kept = all.keep(last, 0, overflow);
    EXPECT_EQ(overflow.call, calls[1].call);
    // Now all of them wait.
    overflow = {};
    EXPECT_EQ(all.keep(of("o"), 0, overflow), "");
    EXPECT_EQ(overflow.call, nullptr);
    EXPECT_EQ(all.find(kept, "o").call, last.call);
    for (std::size_t i = 0; i < names.size(); ++i) {
        EXPECT_EQ(all.find(names[i], "o").call, i == 1 ? nullptr : calls[i].call) << i;
    }
    // Until one has gone.
    calls[5].call->detach(arrived);
    EXPECT_NE(all.keep(of("o"), 0, overflow), "");
    EXPECT_EQ(overflow.call, calls[5].call);
    EXPECT_EQ(all.size(), parked_calls::calls_max);
}

TEST_F(parked_calls_test, who_is_too_old_is_taken_out_oldest_first) {
    const parked_call a = of("o");
    const parked_call b = of("o");
    const parked_call c = of("o");
    keep(a, 0);
    const std::string gone = keep(of("o"), 5);
    keep(b, 10);
    keep(c, 20);
    all.forget(gone);
    EXPECT_EQ(all.take_older(100, 99).call, nullptr);
    EXPECT_EQ(all.take_older(100, 110).call, a.call);
    EXPECT_EQ(all.take_older(100, 110).call, b.call);
    EXPECT_EQ(all.take_older(100, 110).call, nullptr);
    EXPECT_EQ(all.take_older(100, 1000).call, c.call);
    EXPECT_EQ(all.take_older(0, 1000).call, nullptr);
}

// A call that was asked a second question after nine minutes was ended while its client thought,
// and one whose server went on working while its client waited for it.
TEST_F(parked_calls_test, the_time_counts_from_the_last_question_while_nobody_is_there) {
    const parked_call asked_again = of("o");
    const parked_call attended = of("o");
    const parked_call left = of("o");
    const std::string name = keep(asked_again, 0);
    keep(attended, 0);
    keep(left, 0);
    coro::event arrived;
    attended.call->attach(0, arrived);
    all.renew(name, 90);
    all.renew("no such name", 90);
    EXPECT_EQ(all.take_older(100, 100).call, left.call);
    EXPECT_EQ(all.take_older(100, 100).call, nullptr);
    attended.call->detach(arrived);
    EXPECT_EQ(all.take_older(100, 189).call, nullptr);
    EXPECT_EQ(all.take_older(100, 199).call, asked_again.call);
    EXPECT_EQ(all.take_older(100, 199).call, nullptr);
    EXPECT_EQ(all.take_older(100, 200).call, attended.call);
}

// Answered ones stayed in the list of names: it grew with each call until the next sweep.
TEST_F(parked_calls_test, who_comes_and_goes_needs_no_room) {
    const parked_call stays = of("o");
    const std::string name = keep(stays);
    for (std::size_t i = 0; i < 3 * parked_calls::calls_max; ++i) {
        all.forget(keep(of("o")));
    }
    EXPECT_EQ(all.find(name, "o").call, stays.call);
    EXPECT_EQ(all.size(), 1U);
}

}  // namespace
}  // namespace pillion::sidecar
