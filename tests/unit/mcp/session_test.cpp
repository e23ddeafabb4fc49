#include "mcp/session.hpp"

#include <set>

#include <gtest/gtest.h>

#include "base/limits.hpp"

namespace pillion::mcp {
namespace {

using subscribing = session::subscribing;

session_ref make(std::size_t owner, std::int64_t now_ms = 0) {
    return std::make_shared<session>(session_table::new_id(owner), owner, revision::r2025_06_18,
                                     "{}", "client", "1", now_ms);
}

TEST(session, ids_are_visible_ascii_and_unique) {
    std::set<std::string> seen;
    for (std::size_t owner : {0U, 1U, 15U, 16U, 255U}) {
        for (int i = 0; i < 200; ++i) {
            const std::string id = session_table::new_id(owner);
            EXPECT_EQ(id.size(), 34U);
            for (const char c : id) {
                EXPECT_TRUE(c >= 0x21 && c <= 0x7E) << id;
            }
            EXPECT_TRUE(seen.insert(id).second) << id;
        }
    }
}

TEST(session, what_was_inserted_is_found_until_it_is_removed) {
    session_table table(3, 100);
    std::vector<session_ref> all;
    for (std::size_t i = 0; i < 30; ++i) {
        all.push_back(make(i % 3));
        ASSERT_TRUE(table.insert(all.back()));
    }
    EXPECT_EQ(table.size(), 30U);
    for (const session_ref& s : all) {
        EXPECT_EQ(table.find(s->id()), s);
        EXPECT_TRUE(s->alive());
    }
    EXPECT_TRUE(table.remove(all[4]->id()));
    EXPECT_FALSE(all[4]->alive());
    EXPECT_EQ(table.find(all[4]->id()), nullptr);
    EXPECT_FALSE(table.remove(all[4]->id()));
    EXPECT_EQ(table.size(), 29U);
}

TEST(session, malformed_and_foreign_ids_are_not_found) {
    session_table table(2, 10);
    const session_ref s = make(1);
    ASSERT_TRUE(table.insert(s));
    const std::string id = s->id();
    for (const std::string& bad :
         {std::string(), id.substr(1), id + "0", "0" + id, "zz" + id.substr(2), "ff" + id.substr(2),
          "00" + id.substr(2), std::string(34, '\0'), std::string(34, '\xFF'),
          std::string(100'000, '0')}) {
        EXPECT_EQ(table.find(bad), nullptr);
        EXPECT_FALSE(table.remove(bad));
    }
    EXPECT_EQ(table.find(id), s);
}

TEST(session, cap_counts_removals_and_expiries) {
    session_table table(1, 2);
    const session_ref a = make(0);
    const session_ref b = make(0);
    ASSERT_TRUE(table.insert(a));
    ASSERT_TRUE(table.insert(b));
    EXPECT_FALSE(table.insert(make(0)));
    EXPECT_EQ(table.size(), 2U);
    EXPECT_TRUE(table.remove(a->id()));
    EXPECT_TRUE(table.insert(make(0)));
    EXPECT_FALSE(table.insert(make(0)));
    EXPECT_EQ(table.expire(0, 1).size(), 2U);
    EXPECT_EQ(table.size(), 0U);
    EXPECT_TRUE(table.insert(make(0)));
}

TEST(session, kill_is_true_for_exactly_one_call) {
    const session_ref s = make(0);
    EXPECT_TRUE(s->kill());
    EXPECT_FALSE(s->kill());
    EXPECT_FALSE(s->alive());
}

TEST(session, a_killed_session_is_not_found_and_not_removed_again) {
    session_table table(1, 10);
    const session_ref s = make(0);
    ASSERT_TRUE(table.insert(s));
    EXPECT_TRUE(s->kill());
    EXPECT_EQ(table.find(s->id()), nullptr);
    EXPECT_FALSE(table.remove(s->id()));
    EXPECT_EQ(table.size(), 0U);
}

TEST(session, only_idle_ones_of_the_owner_expire) {
    session_table table(2, 10);
    const session_ref old = make(0, 1000);
    const session_ref held = make(0, 1000);
    const session_ref touched = make(0, 1000);
    const session_ref foreign = make(1, 1000);
    for (const session_ref& s : {old, held, touched, foreign}) {
        ASSERT_TRUE(table.insert(s));
    }
    held->hold();
    touched->touch(5000);
    EXPECT_TRUE(table.expire(0, 1000).empty());
    auto ended = table.expire(0, 1001);
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_EQ(ended[0], old);
    EXPECT_FALSE(old->alive());
    EXPECT_TRUE(held->alive() && touched->alive() && foreign->alive());
    held->release(6000);
    ended = table.expire(0, 6000);
    ASSERT_EQ(ended.size(), 1U);
    EXPECT_EQ(ended[0], touched);
    EXPECT_EQ(table.expire(0, 6001).size(), 1U);
    EXPECT_EQ(table.expire(1, 6001).size(), 1U);
}

TEST(session, touches_that_follow_each_other_at_once_store_nothing) {
    const session_ref s = make(0, 1000);
    s->touch(1099);
    EXPECT_TRUE(s->idle_since(1001));
    s->touch(1100);
    EXPECT_FALSE(s->idle_since(1100));
    EXPECT_TRUE(s->idle_since(1101));
}

TEST(session, newest_open_stream_wins_and_hands_back_when_it_closes) {
    const session_ref s = make(0);
    const std::uint64_t a = s->open_stream(0);
    EXPECT_TRUE(s->is_newest_stream(a));
    const std::uint64_t b = s->open_stream(0);
    const std::uint64_t c = s->open_stream(0);
    EXPECT_FALSE(s->is_newest_stream(a) || s->is_newest_stream(b));
    EXPECT_TRUE(s->is_newest_stream(c));
    s->close_stream(b);
    EXPECT_TRUE(s->is_newest_stream(c));
    s->close_stream(c);
    EXPECT_TRUE(s->is_newest_stream(a));
    s->close_stream(a);
    EXPECT_FALSE(s->is_newest_stream(a));
    const std::uint64_t d = s->open_stream(0);
    EXPECT_TRUE(s->is_newest_stream(d));
    EXPECT_FALSE(s->is_newest_stream(a) || s->is_newest_stream(b) || s->is_newest_stream(c));
}

TEST(session, a_change_is_told_once_and_none_before_the_first_stream) {
    const session_ref s = make(0);
    const std::uint64_t a = s->open_stream(5);
    EXPECT_FALSE(s->claim(5));
    EXPECT_TRUE(s->claim(6));
    EXPECT_FALSE(s->claim(6));
    // A second one takes over what the first was due.
    const std::uint64_t b = s->open_stream(9);
    EXPECT_TRUE(s->claim(8));
    EXPECT_TRUE(s->close_stream(b));
    EXPECT_FALSE(s->close_stream(a));
}

TEST(session, subscriptions_are_a_bounded_set) {
    const session_ref s = make(0);
    EXPECT_FALSE(s->subscribed("u"));
    EXPECT_EQ(s->subscribe("u"), subscribing::added);
    EXPECT_EQ(s->subscribe("u"), subscribing::unchanged);
    EXPECT_TRUE(s->subscribed("u"));
    EXPECT_FALSE(s->unsubscribe("never"));
    for (std::size_t i = 1; i < limits::session_subscriptions_max; ++i) {
        EXPECT_EQ(s->subscribe("u" + std::to_string(i)), subscribing::added);
    }
    EXPECT_EQ(s->subscribe("one too many"), subscribing::too_many);
    EXPECT_EQ(s->subscribe("u"), subscribing::unchanged);  // already there
    EXPECT_TRUE(s->unsubscribe("u"));
    EXPECT_FALSE(s->subscribed("u"));
    EXPECT_EQ(s->subscribe("one too many"), subscribing::added);
    EXPECT_EQ(s->end_subscriptions().size(), limits::session_subscriptions_max);
    EXPECT_TRUE(s->end_subscriptions().empty());
    EXPECT_EQ(s->subscribe("u"), subscribing::unchanged);
    EXPECT_FALSE(s->subscribed("u"));
}

TEST(session, threshold_is_info_until_set) {
    const session_ref s = make(0);
    EXPECT_EQ(s->threshold(), log_level::info);
    s->set_threshold(log_level::debug);
    EXPECT_EQ(s->threshold(), log_level::debug);
}

}  // namespace
}  // namespace pillion::mcp
