// Results that are kept whole: how long, how many, and what goes first.
#include "mcp/result_store.hpp"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pillion::mcp {
namespace {

kept_result of_bytes(std::size_t bytes, std::int64_t expires_ms) {
    kept_result out;
    out.expires_ms = expires_ms;
    kept_piece piece;
    piece.bytes.assign(bytes, 'x');
    out.pieces.push_back(piece);
    return out;
}

TEST(result_store, keeps_until_the_time_is_over) {
    result_store store(100'000);
    const std::string id = store.keep(of_bytes(10, 2000), 1000);
    ASSERT_EQ(id.size(), 27U);
    ASSERT_NE(store.find(id, 1999), nullptr);
    EXPECT_EQ(store.find(id, 1999)->pieces.at(0).bytes, "xxxxxxxxxx");
    EXPECT_EQ(store.find(id, 2000), nullptr);
    EXPECT_EQ(store.find("", 1000), nullptr);
    EXPECT_EQ(store.count(), 1U);
    store.expire(2000);
    EXPECT_EQ(store.count(), 0U);
    EXPECT_EQ(store.bytes(), 0U);
}

TEST(result_store, the_oldest_makes_room_and_whoever_reads_it_keeps_it) {
    const std::size_t each = of_bytes(1000, 0).bytes();
    result_store store(3 * each);
    std::vector<std::string> ids;
    for (int i = 0; i < 3; ++i) {
        ids.push_back(store.keep(of_bytes(1000, 9000), 0));
    }
    const kept_ref held = store.find(ids[0], 0);
    ids.push_back(store.keep(of_bytes(1000, 9000), 0));
    EXPECT_EQ(store.find(ids[0], 0), nullptr);
    EXPECT_NE(store.find(ids[1], 0), nullptr);
    EXPECT_EQ(held->bytes(), each);
    EXPECT_EQ(store.bytes(), 3 * each);
    EXPECT_TRUE(store.takes(3 * each));
    EXPECT_FALSE(store.takes(3 * each + 1));
    const std::string whole = store.keep(of_bytes(1000 + 2 * each, 9000), 0);
    EXPECT_EQ(store.count(), 1U);
    EXPECT_NE(store.find(whole, 0), nullptr);
}

TEST(result_store, ids_are_never_alike) {
    result_store store(1'000'000);
    std::set<std::string> ids;
    for (int i = 0; i < 1000; ++i) {
        ids.insert(store.keep(of_bytes(1, 9000), 0));
    }
    EXPECT_EQ(ids.size(), 1000U);
}

}  // namespace
}  // namespace pillion::mcp
