// Goal: the verdict on a byte stream is right and is the same however the bytes arrive.
// Method: every case of the framing table is parsed whole, split in two at every position, byte by
// byte, and truncated at every position.

#include <set>

#include <gtest/gtest.h>

#include "framing_cases.hpp"
#include "framing_driver.hpp"

namespace pillion::http::testing {
namespace {

class framing : public ::testing::TestWithParam<framing_case> {};

TEST_P(framing, whole) {
    const framing_case& c = GetParam();
    framing_driver driver(c.raw.size());
    driver.feed(c.raw);
    EXPECT_EQ(driver.status, c.status);
    EXPECT_EQ(driver.requests, c.requests);
}

TEST_P(framing, split_at_every_byte) {
    const framing_case& c = GetParam();
    framing_driver whole(c.raw.size());
    whole.feed(c.raw);
    for (std::size_t at = 0; at <= c.raw.size(); ++at) {
        framing_driver split(c.raw.size());
        split.feed(std::string_view(c.raw).substr(0, at));
        split.feed(std::string_view(c.raw).substr(at));
        ASSERT_EQ(split.status, whole.status) << "split at " << at;
        ASSERT_EQ(split.requests, whole.requests) << "split at " << at;
        ASSERT_EQ(split.transcript, whole.transcript) << "split at " << at;
    }
}

// With the heads of the case known, and with those of all cases so far.
TEST_P(framing, heads_that_were_seen_before) {
    static head_memo all;
    const framing_case& c = GetParam();
    framing_driver whole(c.raw.size());
    whole.feed(c.raw);
    head_memo own;
    for (head_memo* known : {&own, &own, &all}) {
        framing_driver again(c.raw.size(), known);
        again.feed(c.raw);
        EXPECT_EQ(again.status, whole.status);
        EXPECT_EQ(again.requests, whole.requests);
        EXPECT_EQ(again.transcript, whole.transcript);
    }
}

TEST_P(framing, byte_by_byte) {
    const framing_case& c = GetParam();
    framing_driver whole(c.raw.size());
    whole.feed(c.raw);
    framing_driver dribble(c.raw.size());
    for (const char byte : c.raw) {
        dribble.feed({&byte, 1});
    }
    EXPECT_EQ(dribble.status, whole.status);
    EXPECT_EQ(dribble.requests, whole.requests);
    EXPECT_EQ(dribble.transcript, whole.transcript);
}

// Found by fuzzing: the shortcut for slow senders let a bad method pass until its line ended.
TEST_P(framing, every_prefix_gets_one_verdict_however_it_arrives) {
    const framing_case& c = GetParam();
    framing_driver dribble(c.raw.size());
    for (std::size_t at = 0; at < std::min<std::size_t>(c.raw.size(), 600); ++at) {
        dribble.feed(std::string_view(c.raw).substr(at, 1));
        framing_driver whole(c.raw.size());
        whole.feed(std::string_view(c.raw).substr(0, at + 1));
        ASSERT_EQ(dribble.status, whole.status) << "prefix of " << at + 1;
        ASSERT_EQ(dribble.transcript, whole.transcript) << "prefix of " << at + 1;
    }
}

TEST_P(framing, truncated_at_every_byte_never_completes_more) {
    const framing_case& c = GetParam();
    framing_driver whole(c.raw.size());
    whole.feed(c.raw);
    int requests_before = 0;
    for (std::size_t at = 0; at < c.raw.size(); ++at) {
        framing_driver part(c.raw.size());
        part.feed(std::string_view(c.raw).substr(0, at));
        ASSERT_TRUE(part.status == 0 || part.status == c.status) << "truncated at " << at;
        ASSERT_GE(part.requests, requests_before) << "truncated at " << at;
        ASSERT_LE(part.requests, c.requests) << "truncated at " << at;
        ASSERT_TRUE(whole.transcript.starts_with(part.transcript)) << "truncated at " << at;
        requests_before = part.requests;
    }
    // Unless the case goes on behind its last request, that one needs the very last byte.
    if (c.status == 0 && c.requests > 0) {
        ASSERT_EQ(requests_before, c.requests - 1);
    }
}

INSTANTIATE_TEST_SUITE_P(rfc9112, framing, ::testing::ValuesIn(framing_cases()),
                         [](const ::testing::TestParamInfo<framing_case>& one) {
                             return std::string(one.param.name);
                         });

TEST(framing_table, has_at_least_140_cases_with_unique_names) {
    std::set<std::string> names;
    for (const framing_case& c : framing_cases()) {
        EXPECT_TRUE(names.insert(c.name).second) << c.name;
    }
    EXPECT_GE(names.size(), 140U);
    RecordProperty("cases", static_cast<int>(names.size()));
}

}  // namespace
}  // namespace pillion::http::testing
