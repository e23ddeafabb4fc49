// update() from other threads while requests are served.
#include <atomic>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <pillion/testing.hpp>

namespace pillion {
namespace {

TEST(CatalogThreads, UpdatesAndCallsAtTheSameTime) {
    server s("changing", "1");
    s.tool("steady").about("s").run([](context& ctx) { return ctx.text("here"); });
    testing::client c(s);
    std::atomic<bool> done{false};
    std::thread editor([&] {
        for (int i = 0; i < 200; ++i) {
            const bool changed = s.update([i](catalog& all) {
                all.remove_tool("comes and goes");
                if (i % 2 == 0) {
                    all.tool("comes and goes").about("c").run([i](context& ctx) {
                        return ctx.text(std::to_string(i));
                    });
                }
            });
            EXPECT_TRUE(changed);
        }
        done = true;
    });
    int calls = 0;
    while (!done || calls < 200) {
        EXPECT_EQ(c.call("steady").text(), "here");
        c.call("comes and goes");
        ++calls;
    }
    editor.join();
    EXPECT_FALSE(c.call("comes and goes").ok());
    EXPECT_FALSE(c.take_notifications("notifications/tools/list_changed").empty());
}

}  // namespace
}  // namespace pillion
