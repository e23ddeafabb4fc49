// bridged_call: what handlers of one call are told that come one after the other, or at once.
#include "sidecar/bridged_call.hpp"

#include <gtest/gtest.h>

#include "unit/sidecar/calls.hpp"

namespace pillion::sidecar {
namespace {

call_event said(const char* text) {
    call_event e;
    e.what = call_event::kind::log;
    e.text = text;
    return e;
}

// A round may come twice, and the first handler still be telling a slow client: it took what the
// second one had not seen, or took from nothing, which ended the process.
TEST(bridged_call, who_is_overtaken_takes_nothing) {
    testing::callers calls;
    const auto call = calls.make("tools/call", R"("name":"a")");
    coro::event first;
    coro::event second;
    call->attach(0, first);
    EXPECT_FALSE(call->is_overtaken(first));
    EXPECT_TRUE(call->push(said("a")));
    EXPECT_TRUE(call->push(said("b")));
    EXPECT_EQ(call->front(first)->text, "a");
    call->attach(0, second);
    EXPECT_TRUE(call->is_overtaken(first));
    EXPECT_FALSE(call->front(first));
    call->pop(first);
    for (const char* const text : {"a", "b"}) {
        ASSERT_TRUE(call->front(second));
        EXPECT_EQ(call->front(second)->text, text);
        call->pop(second);
    }
    EXPECT_FALSE(call->front(second));
    call->pop(first);
    EXPECT_FALSE(call->detach(first));
    EXPECT_TRUE(call->detach(second));
    EXPECT_FALSE(call->detach(second));
}

// When the second one has left, the first one does not come back.
TEST(bridged_call, who_was_overtaken_stays_so) {
    testing::callers calls;
    const auto call = calls.make("tools/call", R"("name":"a")");
    coro::event first;
    coro::event second;
    call->attach(0, first);
    call->attach(0, second);
    EXPECT_TRUE(call->detach(second));
    EXPECT_TRUE(call->push(said("a")));
    EXPECT_FALSE(call->front(first));
    EXPECT_FALSE(call->detach(first));
    EXPECT_EQ(testing::first_event(call)->text, "a");
}

}  // namespace
}  // namespace pillion::sidecar
