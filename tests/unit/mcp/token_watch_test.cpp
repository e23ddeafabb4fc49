// Streams end when the token that opened them does.
#include "mcp/token_watch.hpp"

#include <gtest/gtest.h>

#include "sim/sim_world.hpp"

namespace pillion::mcp {
namespace {

class stream final : public change_listener {
 public:
    explicit stream(hub& of, bool leaves = false) : leaves_(leaves) { of.add(*this); }
    ~stream() {
        if (linked()) {
            unlink();
        }
    }
    void on_change(const change_event& /*event*/) noexcept override {}
    void on_session_end(const session* /*which*/) noexcept override {}
    void on_drain() noexcept override {}
    void on_token_end() noexcept override {
        ++ended;
        if (leaves_) {
            unlink();
        }
    }
    int ended = 0;

 private:
    bool leaves_;
};

class token_streams : public ::testing::Test {
 protected:
    std::int64_t in_s(std::int64_t seconds) { return net.loop().unix_ms() / 1000 + seconds; }
    void pass_s(std::int64_t seconds) { net.run_for_ms(seconds * 1000); }

    sim::sim_world net;
    hub all;
    token_watch watch{all, net.loop()};
};

TEST_F(token_streams, each_ends_at_its_own_time_and_once) {
    stream first(all), second(all, true), lasting(all);
    watch.watch(first, in_s(100));
    watch.watch(second, in_s(50));
    watch.watch(lasting, INT64_MAX);
    pass_s(45);
    EXPECT_EQ(first.ended + second.ended, 0);
    pass_s(10);
    EXPECT_EQ(second.ended, 1);
    EXPECT_EQ(first.ended, 0);
    pass_s(1000);
    EXPECT_EQ(first.ended, 1);
    EXPECT_EQ(second.ended, 1);
    EXPECT_EQ(lasting.ended, 0);
}

TEST_F(token_streams, a_later_word_counts) {
    stream one(all);
    watch.watch(one, in_s(10));
    watch.watch(one, in_s(100));
    pass_s(60);
    EXPECT_EQ(one.ended, 0);
    pass_s(60);
    EXPECT_EQ(one.ended, 1);
}

TEST_F(token_streams, one_that_has_ended_already_is_told_in_the_next_turn) {
    stream one(all);
    watch.watch(one, in_s(-5));
    EXPECT_EQ(one.ended, 0);
    pass_s(1);
    EXPECT_EQ(one.ended, 1);
}

TEST_F(token_streams, one_that_has_left_is_not_told) {
    {
        stream gone(all);
        watch.watch(gone, in_s(10));
    }
    pass_s(20);
    stream one(all);
    watch.watch(one, in_s(10));
    watch.stop();
    pass_s(100);
    EXPECT_EQ(one.ended, 0);
}

}  // namespace
}  // namespace pillion::mcp
