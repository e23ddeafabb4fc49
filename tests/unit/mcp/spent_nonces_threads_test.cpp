#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "mcp/spent_nonces.hpp"

namespace pillion::mcp {
namespace {

// Whatever shard is first has spent it; the others know.
TEST(spent_nonces_threads, one_of_many_is_first) {
    constexpr int threads = 4;
    constexpr int nonces = 2000;
    spent_nonces table;
    std::vector<std::atomic<int>> firsts(nonces);
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
        all.emplace_back([&table, &firsts] {
            for (int i = 0; i < nonces; ++i) {
                const std::string nonce = std::to_string(i);
                const bool known = table.spent(nonce);
                const auto got = table.spend(nonce, 0, 1000);
                EXPECT_TRUE(!known || got == spent_nonces::outcome::again);
                if (got == spent_nonces::outcome::first) {
                    firsts[static_cast<std::size_t>(i)].fetch_add(1);
                }
                EXPECT_TRUE(table.spent(nonce));
            }
        });
    }
    for (std::thread& one : all) {
        one.join();
    }
    for (const auto& count : firsts) {
        EXPECT_EQ(count.load(), 1);
    }
    EXPECT_EQ(table.size(), static_cast<std::size_t>(nonces));
}

}  // namespace
}  // namespace pillion::mcp
