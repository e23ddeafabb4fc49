// The log behind resumable streams: event ids, what is kept, what is dropped, and who follows.
#include "mcp/event_log.hpp"

#include <limits>
#include <set>

#include <gtest/gtest.h>

namespace pillion::mcp {
namespace {

std::string text_of(event_id id) {
    char buffer[event_id::room];
    return {buffer, id.write(buffer)};
}

// "1=a 2=b", or the outcome when it is not found.
std::string replayed(const event_log& log, std::uint32_t stream, std::uint64_t after) {
    event_log::replay out;
    switch (log.read({stream, after}, out)) {
        case event_log::outcome::unknown:
            return "unknown";
        case event_log::outcome::gap:
            return "gap";
        case event_log::outcome::found:
            break;
    }
    std::string all;
    for (const kept_event& e : out.events) {
        all += (all.empty() ? "" : " ") + std::to_string(e.sequence) + "=" + e.text;
    }
    return all;
}

std::vector<kept_event> kept(const event_log& log, std::uint32_t stream, std::uint64_t after) {
    event_log::replay out;
    EXPECT_EQ(log.read({stream, after}, out), event_log::outcome::found);
    return out.events;
}

bool finished(const event_log& log, std::uint32_t stream) {
    event_log::replay out;
    EXPECT_EQ(log.read({stream, 0}, out), event_log::outcome::found);
    return out.finished;
}

// ---- ids ----

TEST(event_ids, what_is_written_is_read_again) {
    const std::uint32_t streams[] = {0, 1, 9, 10, 4294967295U};
    const std::uint64_t sequences[] = {0, 1, 99, std::numeric_limits<std::uint64_t>::max()};
    std::set<std::string> all;
    for (const std::uint32_t stream : streams) {
        for (const std::uint64_t sequence : sequences) {
            const std::string text = text_of({stream, sequence});
            EXPECT_LE(text.size(), event_id::room);
            EXPECT_TRUE(all.insert(text).second) << text;
            const auto id = event_id::parse(text);
            ASSERT_TRUE(id) << text;
            EXPECT_EQ(id->stream, stream);
            EXPECT_EQ(id->sequence, sequence);
        }
    }
    EXPECT_EQ(text_of({7, 3}), "7-3");
}

TEST(event_ids, every_truncation_that_is_no_id_is_refused) {
    const std::string longest = text_of({4294967295U, std::numeric_limits<std::uint64_t>::max()});
    const std::size_t dash = longest.find('-');
    for (std::size_t n = 0; n < longest.size(); ++n) {
        EXPECT_EQ(event_id::parse(std::string_view(longest).substr(0, n)).has_value(), n > dash + 1)
            << n;
        EXPECT_EQ(event_id::parse(std::string_view(longest).substr(n)).has_value(), n < dash) << n;
    }
}

TEST(event_ids, other_spellings_are_refused) {
    const std::string_view wrong[] = {"",
                                      "-",
                                      "--",
                                      "1",
                                      "1-",
                                      "-1",
                                      "1--1",
                                      "-1-1",
                                      "+1-1",
                                      "1-+1",
                                      "1--",
                                      "01-1",
                                      "1-01",
                                      "00-0",
                                      "0-00",
                                      " 1-1",
                                      "1-1 ",
                                      "1 -1",
                                      "1- 1",
                                      "\t1-1",
                                      "1-1\n",
                                      "1-1-",
                                      "1-1-1",
                                      "1-1x",
                                      "x1-1",
                                      "1x-1",
                                      "1_1",
                                      "1.0-1",
                                      "1-1.0",
                                      "1e1-1",
                                      "0x1-1",
                                      "1-0x1",
                                      "a-b",
                                      "1-a",
                                      "a-1",
                                      "4294967296-1",
                                      "99999999999999999999-1",
                                      "1-18446744073709551616",
                                      "\xEF\xBC\x91-1",
                                      "1\xE2\x80\x93"
                                      "1",
                                      "1-99999999999999999999999999999999999999999999999999999999"};
    for (const std::string_view text : wrong) {
        EXPECT_FALSE(event_id::parse(text)) << text;
    }
    EXPECT_FALSE(event_id::parse(std::string_view("1-1\0", 4)));
    EXPECT_FALSE(
        event_id::parse(std::string_view("\0"
                                         "1-1",
                                         4)));
    EXPECT_FALSE(event_id::parse(std::string_view("1\0-1", 4)));
}

TEST(event_ids, every_changed_byte_gives_another_id_or_none) {
    const std::string good = "12-34";
    for (std::size_t at = 0; at < good.size(); ++at) {
        for (int byte = 0; byte < 256; ++byte) {
            std::string text = good;
            text[at] = static_cast<char>(byte);
            if (const auto id = event_id::parse(text)) {
                EXPECT_EQ(text_of(*id), text);
            }
        }
    }
}

// ---- keeping ----

TEST(event_log_test, events_are_numbered_and_replayed_behind_every_position) {
    event_log log;
    const std::uint32_t s = log.open(false, 0);
    EXPECT_EQ(replayed(log, s, 0), "");
    EXPECT_EQ(log.append(s, "a", 0), 1U);
    EXPECT_EQ(log.append(s, "b", 0), 2U);
    EXPECT_EQ(log.append(s, "", 0), 3U);
    EXPECT_EQ(replayed(log, s, 0), "1=a 2=b 3=");
    EXPECT_EQ(replayed(log, s, 1), "2=b 3=");
    EXPECT_EQ(replayed(log, s, 2), "3=");
    EXPECT_EQ(replayed(log, s, 3), "");
    EXPECT_EQ(replayed(log, s, 4), "unknown");
    EXPECT_EQ(replayed(log, s, std::numeric_limits<std::uint64_t>::max()), "unknown");
}

TEST(event_log_test, streams_do_not_mix) {
    event_log log;
    const std::uint32_t call = log.open(false, 0);
    const std::uint32_t standalone = log.open(true, 0);
    EXPECT_NE(call, standalone);
    log.append(call, "c1", 0);
    log.append(standalone, "s1", 0);
    log.append(call, "c2", 0);
    EXPECT_EQ(replayed(log, call, 0), "1=c1 2=c2");
    EXPECT_EQ(replayed(log, standalone, 0), "1=s1");
    event_log::replay out;
    ASSERT_EQ(log.read({standalone, 0}, out), event_log::outcome::found);
    EXPECT_TRUE(out.standalone);
    event_log::replay other;
    ASSERT_EQ(log.read({call, 0}, other), event_log::outcome::found);
    EXPECT_FALSE(other.standalone);
}

TEST(event_log_test, a_stream_that_never_was_is_unknown_to_everything) {
    event_log log;
    const std::uint32_t s = log.open(false, 0);
    for (const std::uint32_t stream : {std::uint32_t{0}, s + 1, 4294967295U}) {
        EXPECT_EQ(replayed(log, stream, 0), "unknown");
        EXPECT_EQ(log.append(stream, "x", 0), 0U);
        EXPECT_EQ(log.follow(stream, 0), 0U);
        EXPECT_FALSE(log.follower(stream));
        EXPECT_FALSE(log.is_follower(stream, 1));
        log.finish(stream);
    }
    EXPECT_EQ(replayed(log, s, 0), "");
}

TEST(event_log_test, a_finished_stream_says_so_and_is_still_replayed) {
    event_log log;
    const std::uint32_t s = log.open(false, 0);
    log.append(s, "answer", 0);
    EXPECT_FALSE(finished(log, s));
    log.finish(s);
    EXPECT_TRUE(finished(log, s));
    EXPECT_EQ(replayed(log, s, 0), "1=answer");
    EXPECT_EQ(replayed(log, s, 1), "");
}

// ---- caps ----

TEST(event_log_caps, the_oldest_events_go_and_a_gap_is_told) {
    event_log log;
    const std::uint32_t s = log.open(false, 0);
    for (std::size_t i = 1; i <= limits::session_events_max; ++i) {
        log.append(s, std::to_string(i), 0);
    }
    EXPECT_EQ(kept(log, s, 0).size(), limits::session_events_max);
    log.append(s, "one more", 0);
    EXPECT_EQ(replayed(log, s, 0), "gap");
    EXPECT_EQ(kept(log, s, 1).size(), limits::session_events_max);
    EXPECT_EQ(kept(log, s, 1).front().text, "2");
    log.append(s, "and more", 0);
    EXPECT_EQ(replayed(log, s, 1), "gap");
    EXPECT_EQ(kept(log, s, 2).back().text, "and more");
}

TEST(event_log_caps, bytes_are_counted_exactly) {
    event_log log;
    const std::uint32_t s = log.open(false, 0);
    const std::string half(limits::session_event_bytes_max / 2, 'x');
    log.append(s, half, 0);
    log.append(s, half, 0);
    EXPECT_EQ(kept(log, s, 0).size(), 2U);
    log.append(s, "y", 0);
    EXPECT_EQ(replayed(log, s, 0), "gap");
    EXPECT_EQ(kept(log, s, 1).size(), 2U);
    // Half and the one byte are left: one byte less than half fits.
    log.append(s, half.substr(1), 0);
    EXPECT_EQ(kept(log, s, 1).size(), 3U);
}

TEST(event_log_caps, the_newest_event_survives_even_alone_over_the_cap) {
    event_log log;
    const std::uint32_t s = log.open(false, 0);
    log.append(s, "early", 0);
    const std::string huge(limits::session_event_bytes_max + 1, 'x');
    log.append(s, huge, 0);
    EXPECT_EQ(replayed(log, s, 0), "gap");
    ASSERT_EQ(kept(log, s, 1).size(), 1U);
    EXPECT_EQ(kept(log, s, 1)[0].text.size(), huge.size());
    log.append(s, "late", 0);
    EXPECT_EQ(replayed(log, s, 1), "gap");
    EXPECT_EQ(replayed(log, s, 2), "3=late");
}

// Events of the same millisecond made the stream that was opened first the victim, and with it the
// very event that was being kept.
TEST(event_log_caps, the_newest_event_survives_beside_other_streams_of_the_same_time) {
    for (const bool by_bytes : {true, false}) {
        event_log log;
        const std::uint32_t first = log.open(false, 0);
        const std::uint32_t second = log.open(false, 0);
        if (by_bytes) {
            log.append(second, std::string(limits::session_event_bytes_max, 'x'), 5);
        } else {
            for (std::size_t i = 0; i < limits::session_events_max; ++i) {
                log.append(second, "x", 5);
            }
        }
        log.append(first, "answer", 5);
        EXPECT_EQ(replayed(log, first, 0), "1=answer");
        EXPECT_EQ(replayed(log, second, 0), "gap");
        // A shard whose clock is behind keeps its newest event, too.
        const std::uint32_t third = log.open(false, 4);
        log.append(third, std::string(limits::session_event_bytes_max - 1, 'y'), 4);
        EXPECT_EQ(kept(log, third, 0).size(), 1U);
    }
}

TEST(event_log_caps, finished_streams_pay_first_then_the_quietest) {
    event_log log;
    const std::uint32_t quiet = log.open(false, 0);
    const std::uint32_t busy = log.open(false, 0);
    const std::uint32_t over = log.open(false, 0);
    const std::string third(limits::session_event_bytes_max / 3, 'x');
    log.append(quiet, third, 1);
    log.append(busy, third, 2);
    log.append(over, third, 3);
    log.finish(over);
    log.append(busy, third, 4);
    EXPECT_EQ(replayed(log, over, 0), "gap");
    EXPECT_EQ(kept(log, quiet, 0).size(), 1U);
    EXPECT_EQ(kept(log, busy, 0).size(), 2U);
    log.append(busy, third, 5);
    EXPECT_EQ(replayed(log, quiet, 0), "gap");
    EXPECT_EQ(kept(log, busy, 0).size(), 3U);
}

TEST(event_log_caps, the_number_of_streams_is_bounded) {
    event_log log;
    std::vector<std::uint32_t> all;
    for (std::size_t i = 0; i < limits::session_streams_max + 10; ++i) {
        all.push_back(log.open(false, static_cast<std::int64_t>(i)));
        log.append(all.back(), "x", static_cast<std::int64_t>(i));
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(replayed(log, all[i], 0), i < 10 ? "unknown" : "1=x") << i;
    }
    EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size());
}

// The GET stream is the first that a session opens; after 256 calls with progress it was forgotten,
// its events all got the id "1-0", and nothing could resume it.
TEST(event_log_caps, finished_streams_make_room_before_open_ones) {
    event_log log;
    const std::uint32_t standalone = log.open(true, 0);
    const std::uint32_t call = log.open(false, 0);
    log.append(call, "progress", 0);
    for (std::size_t i = 0; i < 2 * limits::session_streams_max; ++i) {
        const std::uint32_t s = log.open(false, 1);
        log.append(s, "answer", 1);
        EXPECT_EQ(replayed(log, s, 0), "1=answer");
        log.finish(s);
    }
    EXPECT_EQ(log.append(standalone, "changed", 2), 1U);
    EXPECT_EQ(replayed(log, standalone, 0), "1=changed");
    EXPECT_EQ(replayed(log, call, 0), "1=progress");
    EXPECT_EQ(replayed(log, call + 1, 0), "unknown");
}

// GET streams that had ended kept their places: after as many as there are, each new stream pushed
// out the one finished call whose answer was still to be fetched.
TEST(event_log_caps, a_stream_without_a_call_that_ended_makes_room_as_well) {
    event_log log;
    for (std::size_t i = 0; i < limits::session_streams_max; ++i) {
        log.finish(log.open(true, 0));
    }
    const std::uint32_t call = log.open(false, 1);
    log.append(call, "answer", 1);
    log.finish(call);
    log.open(true, 2);
    log.open(false, 2);
    EXPECT_EQ(replayed(log, call, 0), "1=answer");
}

TEST(event_log_test, a_stream_is_finished_when_all_who_wrote_it_have_said_so) {
    event_log log;
    const std::uint32_t s = log.open(true, 0);
    log.reopen(s);
    log.finish(s);
    EXPECT_FALSE(finished(log, s));
    log.finish(s);
    EXPECT_TRUE(finished(log, s));
    log.reopen(s);
    EXPECT_FALSE(finished(log, s));
    log.finish(s, event_log::age_max_ms);
    log.finish(s, event_log::age_max_ms);
    EXPECT_TRUE(finished(log, s));
    // It ages from its end on, however long ago it said something.
    log.trim(2 * event_log::age_max_ms - 1);
    EXPECT_EQ(replayed(log, s, 0), "");
    log.trim(2 * event_log::age_max_ms);
    EXPECT_EQ(replayed(log, s, 0), "unknown");
    log.reopen(s);
}

TEST(event_log_caps, a_forgotten_stream_gives_its_share_back) {
    event_log log;
    const std::uint32_t first = log.open(false, 0);
    log.append(first, std::string(limits::session_event_bytes_max, 'x'), 0);
    log.finish(first);
    for (std::size_t i = 0; i < limits::session_streams_max; ++i) {
        log.open(false, 1);
    }
    EXPECT_EQ(replayed(log, first, 0), "unknown");
    const std::uint32_t s = log.open(false, 2);
    log.append(s, std::string(limits::session_event_bytes_max - 1, 'x'), 2);
    log.append(s, "y", 2);
    EXPECT_EQ(kept(log, s, 0).size(), 2U);
}

// ---- followers ----

TEST(event_log_followers, the_newest_wins) {
    event_log log;
    const std::uint32_t s = log.open(false, 0);
    EXPECT_FALSE(log.follower(s));
    EXPECT_FALSE(log.is_follower(s, 1));
    const std::uint64_t first = log.follow(s, 3);
    EXPECT_NE(first, 0U);
    EXPECT_TRUE(log.is_follower(s, first));
    EXPECT_EQ(log.follower(s), 3U);
    std::optional<std::size_t> earlier;
    const std::uint64_t second = log.follow(s, 0, &earlier);
    EXPECT_EQ(earlier, 3U);
    EXPECT_NE(first, second);
    EXPECT_FALSE(log.is_follower(s, first));
    EXPECT_TRUE(log.is_follower(s, second));
    EXPECT_EQ(log.follower(s), 0U);
}

TEST(event_log_followers, a_token_is_good_for_one_stream) {
    event_log log;
    const std::uint32_t a = log.open(false, 0);
    const std::uint32_t b = log.open(false, 0);
    const std::uint64_t of_a = log.follow(a, 1);
    EXPECT_FALSE(log.is_follower(b, of_a));
    EXPECT_FALSE(log.follower(b));
    const std::uint64_t of_b = log.follow(b, 2);
    EXPECT_TRUE(log.is_follower(a, of_a));
    EXPECT_TRUE(log.is_follower(b, of_b));
    EXPECT_EQ(log.follower(a), 1U);
}

// Who had come back once and left was taken for somebody who hears, for ever.
TEST(event_log_followers, nobody_is_there_when_the_newest_has_left) {
    event_log log;
    const std::uint32_t s = log.open(false, 0);
    EXPECT_FALSE(log.is_followed(s));
    EXPECT_FALSE(log.is_followed(s + 1));
    const std::uint64_t first = log.follow(s, 1);
    const std::uint64_t second = log.follow(s, 2);
    log.leave(s, first);
    EXPECT_TRUE(log.is_followed(s));
    log.leave(s, second);
    EXPECT_FALSE(log.is_followed(s));
    EXPECT_EQ(log.follower(s), 2U);
}

// A follower may be behind by so much and no more; who has left or was replaced holds nobody back.
TEST(event_log_followers, a_writer_learns_that_it_is_too_far_ahead) {
    event_log log;
    const std::uint32_t s = log.open(false, 0, 5);
    EXPECT_EQ(log.writer(s), 5U);
    log.append(s, std::string(limits::session_event_bytes_max / 8 + 1, 'x'), 0);
    EXPECT_FALSE(log.is_behind(s));
    const std::uint64_t first = log.follow(s, 1);
    EXPECT_FALSE(log.is_behind(s));
    log.append(s, std::string(limits::session_event_bytes_max / 8, 'x'), 0);
    EXPECT_FALSE(log.is_behind(s));
    EXPECT_FALSE(log.caught_up(s, first));
    for (std::size_t i = 0; i <= limits::session_events_max / 8; ++i) {
        EXPECT_FALSE(log.is_behind(s)) << i;
        log.append(s, "x", 0);
    }
    EXPECT_TRUE(log.is_behind(s));
    EXPECT_FALSE(log.caught_up(s, first + 1));
    EXPECT_TRUE(log.caught_up(s, first));
    EXPECT_FALSE(log.is_behind(s));
    log.append(s, std::string(limits::session_event_bytes_max / 8 + 1, 'x'), 0);
    EXPECT_TRUE(log.is_behind(s));
    const std::uint64_t second = log.follow(s, 2);
    EXPECT_FALSE(log.leave(s, first));
    log.append(s, std::string(limits::session_event_bytes_max / 8 + 1, 'x'), 0);
    EXPECT_TRUE(log.leave(s, second));
    EXPECT_FALSE(log.is_behind(s));
    log.finish(s);
    EXPECT_FALSE(log.writer(s));
}

TEST(event_log_test, a_replay_comes_in_portions) {
    event_log log;
    const std::uint32_t s = log.open(false, 0);
    for (const char* text : {"aa", "bb", "cc"}) {
        log.append(s, text, 0);
    }
    log.finish(s);
    const std::pair<std::size_t, std::size_t> portions[] = {{0, 0}, {1, 1}, {2, 1}, {3, 2},
                                                            {4, 2}, {5, 3}, {6, 3}};
    for (const auto& [at_most, events] : portions) {
        event_log::replay out;
        ASSERT_EQ(log.read({s, 0}, out, at_most), event_log::outcome::found);
        EXPECT_EQ(out.events.size(), events) << at_most;
        EXPECT_EQ(out.finished, events == 3) << at_most;
    }
}

// ---- age ----

TEST(event_log_age, an_old_finished_stream_is_forgotten) {
    event_log log;
    const std::uint32_t s = log.open(false, 0);
    log.append(s, "answer", 1000);
    log.finish(s);
    log.trim(1000 + event_log::age_max_ms - 1);
    EXPECT_EQ(replayed(log, s, 0), "1=answer");
    log.trim(1000 + event_log::age_max_ms);
    EXPECT_EQ(replayed(log, s, 0), "unknown");
}

TEST(event_log_age, an_open_stream_keeps_its_place) {
    event_log log;
    const std::uint32_t s = log.open(true, 0);
    log.append(s, "a", 0);
    log.append(s, "b", 0);
    log.trim(event_log::age_max_ms);
    EXPECT_EQ(replayed(log, s, 0), "gap");
    EXPECT_EQ(replayed(log, s, 1), "gap");
    EXPECT_EQ(replayed(log, s, 2), "");
    log.trim(2 * event_log::age_max_ms);
    EXPECT_EQ(log.append(s, "c", 2 * event_log::age_max_ms), 3U);
    EXPECT_EQ(replayed(log, s, 2), "3=c");
    log.trim(2 * event_log::age_max_ms + 1);
    EXPECT_EQ(replayed(log, s, 2), "3=c");
}

TEST(event_log_age, a_stream_that_says_nothing_has_no_gap) {
    event_log log;
    const std::uint32_t s = log.open(true, 0);
    log.trim(event_log::age_max_ms);
    EXPECT_EQ(replayed(log, s, 0), "");
}

TEST(event_log_age, what_was_trimmed_counts_no_more) {
    event_log log;
    const std::uint32_t open = log.open(false, 0);
    const std::uint32_t over = log.open(false, 0);
    log.append(open, std::string(limits::session_event_bytes_max / 2, 'x'), 0);
    log.append(over, std::string(limits::session_event_bytes_max / 2, 'x'), 0);
    log.finish(over);
    log.trim(event_log::age_max_ms);
    const std::uint32_t s = log.open(false, event_log::age_max_ms);
    log.append(s, std::string(limits::session_event_bytes_max - 1, 'x'), event_log::age_max_ms);
    log.append(s, "y", event_log::age_max_ms);
    EXPECT_EQ(kept(log, s, 0).size(), 2U);
}

}  // namespace
}  // namespace pillion::mcp
