// event_log: the events of a session's streams, kept for a while so that a client that lost its
// connection can ask for what it missed (Last-Event-ID, REVISIONS §5.5; revisions up to
// 2025-11-25).
//
// An event id is "<stream>-<sequence>": unique in the session, and it names the one stream to
// replay. What is kept is bounded in bytes, events and age; what was dropped is reported as a gap,
// never skipped silently. Thread-safety: any thread (one lock; only event streams come here).
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/limit_options.hpp"

namespace pillion::mcp {

struct event_id {
    std::uint32_t stream = 0;
    std::uint64_t sequence = 0;

    // "7-3". The text form is short enough for `room` bytes; returns its length.
    static constexpr std::size_t room = 32;
    std::size_t write(char* to) const noexcept;
    // nullopt for anything write() did not make.
    static std::optional<event_id> parse(std::string_view text) noexcept;
};

struct kept_event {
    std::uint64_t sequence;
    std::string text;
};

class event_log {
 public:
    static constexpr std::int64_t age_max_ms = 5 * 60 * 1000;
    static constexpr std::size_t bytes_unlimited = ~std::size_t{0};

    explicit event_log(const session_limits& most = {}) noexcept
        : bytes_max_(most.event_bytes_max),
          events_max_(most.events_max),
          streams_max_(most.streams_max) {}

    // A new stream, written on `shard`; `standalone` when a GET opened it. Sequence 0 is its
    // beginning.
    std::uint32_t open(bool standalone, std::int64_t now_ms, std::size_t shard = 0);
    // Keeps an event; returns its sequence (1, 2, …).
    std::uint64_t append(std::uint32_t stream, std::string_view text, std::int64_t now_ms);
    // No more events will come from one who wrote it; the stream is finished when none is left, and
    // ages from `now_ms` on.
    void finish(std::uint32_t stream, std::int64_t now_ms = 0);
    // One more writes it: a GET stream is continued by a newer one.
    void reopen(std::uint32_t stream);

    enum class outcome : std::uint8_t { found, unknown, gap };
    struct replay {
        std::vector<kept_event> events;
        bool finished = false;
        bool standalone = false;
    };
    // The events of a stream behind `after`, until they have `at_most` bytes. A gap: some of them
    // are no longer kept. `finished` only where no more will ever follow.
    outcome read(event_id after, replay& out, std::size_t at_most = bytes_unlimited) const;

    // Somebody on `shard` continues the stream: from now on events are delivered by him alone. The
    // token tells the newest follower from earlier ones. `earlier` gets the shard of the one
    // before, who has to be told.
    std::uint64_t follow(std::uint32_t stream, std::size_t shard,
                         std::optional<std::size_t>* earlier = nullptr);
    bool is_follower(std::uint32_t stream, std::uint64_t token) const;
    // The shard to wake after an append; nothing while the first connection has the stream.
    std::optional<std::size_t> follower(std::uint32_t stream) const;
    // Whether that follower is still there: one that left is nobody who hears.
    bool is_followed(std::uint32_t stream) const;

    // More has been appended than the follower should be behind: whoever writes waits for it.
    bool is_behind(std::uint32_t stream) const;
    // That follower has sent all it knows of, or follows no more. True when it was behind: whoever
    // writes may go on.
    bool caught_up(std::uint32_t stream, std::uint64_t token);
    bool leave(std::uint32_t stream, std::uint64_t token);
    // The shard that writes an unfinished stream.
    std::optional<std::size_t> writer(std::uint32_t stream) const;

    // Drops what is too old.
    void trim(std::int64_t now_ms);

 private:
    // Most sessions have one stream, which says little.
    struct entry {
        std::uint32_t number = 0;
        bool standalone = false;
        bool finished = false;
        bool followed = false;
        std::list<kept_event> events;
        std::uint64_t next = 1;
        std::uint64_t dropped = 0;  // the last sequence that is no longer kept
        std::int64_t touched_ms = 0;
        std::uint64_t follower_token = 0;
        std::uint16_t follower_shard = 0;
        std::uint16_t writer_shard = 0;
        std::uint32_t writers = 1;
        std::uint32_t ahead_events = 0;
        std::size_t ahead_bytes = 0;
    };
    // The writer of a stream may be an eighth of what is kept ahead of its follower.
    bool behind(const entry& s) const noexcept {
        return s.followed && (s.ahead_bytes > bytes_max_ / 8 || s.ahead_events > events_max_ / 8);
    }
    entry* find(std::uint32_t stream) noexcept;
    const entry* find(std::uint32_t stream) const noexcept;
    entry* followed_by(std::uint32_t stream, std::uint64_t token);
    // Drops one event, but not the last of the stream that has just grown.
    void drop_oldest(const entry& growing);

    const std::size_t bytes_max_;
    const std::size_t events_max_;
    const std::size_t streams_max_;
    mutable std::mutex mutex_;
    std::vector<entry> streams_;  // by number
    std::uint32_t next_stream_ = 1;
    std::uint64_t next_token_ = 1;
    std::size_t bytes_ = 0;
    std::size_t events_ = 0;
};

}  // namespace pillion::mcp
