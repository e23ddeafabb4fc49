#include "base/zeroed_array.hpp"

#include <array>
#include <atomic>
#include <cstdint>

#include <gtest/gtest.h>

namespace pillion::base {
namespace {

TEST(zeroed_array, begins_with_zeros_and_keeps_what_is_put) {
    const zeroed_array<std::array<std::atomic<std::uint64_t>, 8>> all(4096);
    for (std::size_t i = 0; i < 4096; ++i) {
        for (std::atomic<std::uint64_t>& one : all[i]) {
            ASSERT_EQ(one.load(), 0U);
            one.store(i);
        }
    }
    EXPECT_EQ(all[4095][7].load(), 4095U);
    EXPECT_EQ(all[1][0].load(), 1U);
}

}  // namespace
}  // namespace pillion::base
