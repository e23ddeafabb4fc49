#include "io/memory_backend.hpp"

#include <cerrno>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "io/blocking_pool.hpp"
#include "io/reactor.hpp"

namespace pillion::io {
namespace {

struct loop_of_memory {
    bool busy = false;
    memory_backend* ops = new memory_backend([this] { return busy; });
    reactor loop{std::unique_ptr<backend>(ops)};
};

TEST(MemoryBackend, TheClockJumpsToWhatIsDue) {
    loop_of_memory m;
    bool fired = false;
    timer t([](timer&, void* owner) noexcept { *static_cast<bool*>(owner) = true; }, &fired);
    m.loop.arm_in_ms(t, 3'600'000);
    const std::int64_t before = m.loop.now_ns();
    const std::int64_t wall = m.loop.unix_ms();
    for (int i = 0; i < 100 && !fired; ++i) {
        m.loop.run_one(INT64_MAX);
    }
    EXPECT_TRUE(fired);
    EXPECT_GE(m.loop.now_ns() - before, 3'600'000'000'000);
    EXPECT_EQ(m.loop.unix_ms() - wall, (m.loop.now_ns() - before) / 1'000'000);
}

TEST(MemoryBackend, HeldTimeStandsStill) {
    loop_of_memory m;
    timer t([](timer&, void*) noexcept {}, nullptr);
    m.loop.arm_in_ms(t, 1);
    m.ops->hold_time(true);
    const std::int64_t before = m.loop.now_ns();
    m.loop.run_one(INT64_MAX);
    EXPECT_TRUE(m.ops->idle());
    EXPECT_EQ(m.loop.now_ns(), before);
    m.ops->hold_time(false);
    m.loop.run_one(INT64_MAX);
    EXPECT_FALSE(m.ops->idle());
    EXPECT_GT(m.loop.now_ns(), before);
    t.cancel();
}

TEST(MemoryBackend, WithNothingToWaitForItSaysSo) {
    loop_of_memory m;
    m.loop.run_one(INT64_MAX);
    EXPECT_TRUE(m.ops->idle());
}

TEST(MemoryBackend, WaitsForHelpersWhileTheClockStands) {
    loop_of_memory m;
    m.busy = true;
    const std::int64_t before = m.loop.now_ns();
    std::thread helper([&m] { m.loop.post([&m] { m.busy = false; }); });
    for (int i = 0; i < 100 && m.busy; ++i) {
        m.loop.run_one(INT64_MAX);
    }
    helper.join();
    EXPECT_FALSE(m.busy);
    EXPECT_EQ(m.loop.now_ns(), before);
}

TEST(MemoryBackend, DescriptorsAreRefused) {
    loop_of_memory m;
    struct watched : transfer_op {
        watched()
            : transfer_op([](op& self, const completion& what) noexcept {
                  static_cast<watched&>(self).res = what.res;
              }) {}
        std::int32_t res = 0;
    } wanted;
    m.ops->receive(wanted, 5);
    EXPECT_EQ(m.ops->in_flight(), 1u);
    m.loop.run_one(INT64_MAX);
    EXPECT_EQ(wanted.res, -ENOSYS);
    EXPECT_EQ(m.ops->in_flight(), 0u);
}

}  // namespace
}  // namespace pillion::io
