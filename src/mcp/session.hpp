// session: one legacy client over HTTP (or the one of a stdio pipe), and the table of them.
//
// A record is immutable but for a few atomics, shared by reference: a connection remembers the one
// it saw last, so the hot path compares bytes and reads one flag, with no lock and no hop to an
// owner; killing a session is one store that every thread sees at once, which makes the 404
// afterwards exact. (The design brief proposed a cache per shard dropped by mailbox; sharing the
// record needs neither the cache nor its invalidation.) The table is striped by owner shard and
// locked only when a connection meets a session for the first time, at birth and at death.
//
// Thread-safety: everything here may be called from any shard.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <pillion/context.hpp>

#include "base/hash.hpp"
#include "mcp/event_log.hpp"
#include "mcp/revision.hpp"

namespace pillion::mcp {

class session {
 public:
    // What initialize established. `capabilities_json` is the client's object as text.
    session(std::string id, std::size_t owner, revision r, std::string capabilities_json,
            std::string client_name, std::string client_version, std::int64_t now_ms,
            const session_limits& most = {});

    const std::string& id() const noexcept { return id_; }
    std::uint64_t hash() const noexcept { return hash_; }  // of the id
    std::size_t owner() const noexcept { return owner_; }
    revision negotiated() const noexcept { return revision_; }
    const std::string& capabilities_json() const noexcept { return capabilities_json_; }
    const std::string& client_name() const noexcept { return client_name_; }
    const std::string& client_version() const noexcept { return client_version_; }
    // Whose it is: nobody else's requests find it. Empty: it was begun by somebody unknown. Set
    // before others see the session.
    const std::string& principal() const noexcept { return principal_; }
    void set_principal(std::string_view who) { principal_ = who; }

    bool alive() const noexcept { return alive_.load(std::memory_order_acquire); }
    // True for the one call that ended it.
    bool kill() noexcept { return alive_.exchange(false, std::memory_order_acq_rel); }

    // Idle expiry: touched by every request, held while a request or a stream is open.
    void touch(std::int64_t now_ms) noexcept {
        // A store only when the value has moved keeps the cache line quiet between threads.
        if (now_ms - last_seen_ms_.load(std::memory_order_relaxed) >= 100) {
            last_seen_ms_.store(now_ms, std::memory_order_relaxed);
        }
    }
    void hold() noexcept { holds_.fetch_add(1, std::memory_order_relaxed); }
    void release(std::int64_t now_ms) noexcept {
        last_seen_ms_.store(now_ms, std::memory_order_relaxed);
        holds_.fetch_sub(1, std::memory_order_relaxed);
    }
    bool idle_since(std::int64_t before_ms) const noexcept {
        return holds_.load(std::memory_order_relaxed) == 0 &&
               last_seen_ms_.load(std::memory_order_relaxed) < before_ms;
    }

    // logging/setLevel; "info" until the client says otherwise. The specifications leave the
    // default free; a bridge that keeps setLevel to itself would silence a higher one.
    log_level threshold() const noexcept { return threshold_.load(std::memory_order_relaxed); }
    void set_threshold(log_level lowest) noexcept {
        threshold_.store(lowest, std::memory_order_relaxed);
    }

    // How often its client has said that its roots are others.
    std::uint32_t roots_changes() const noexcept {
        return roots_changes_.load(std::memory_order_relaxed);
    }
    void note_roots_change() noexcept { roots_changes_.fetch_add(1, std::memory_order_relaxed); }

    // What its event streams said, for clients that come back.
    event_log& events() noexcept { return events_; }

    // The GET stream that server messages go to: the newest open one (AMBIGUITIES G14).
    // `published`: the number of the last change. The first stream gets only what comes after it.
    std::uint64_t open_stream(std::uint64_t published);
    // Whether one more may be opened (two at the same moment both may).
    bool takes_stream() const;
    // True when another one is the newest now.
    bool close_stream(std::uint64_t number);
    // The connection of a stream broke. True: no other is open, so it stays the newest and collects
    // events for the client's return. False: it is closed.
    bool detach_stream(std::uint64_t number);
    // True once after a stream began to collect; asked by the next one, which replaces it.
    bool take_collecting() noexcept {
        return collecting_.exchange(false, std::memory_order_acq_rel);
    }
    // True for the one stream that may tell of this change: streams on two shards that take turns
    // would else both do it.
    bool claim(std::uint64_t change_number) noexcept;
    // The last change that was claimed.
    std::uint64_t told() const noexcept { return told_.load(std::memory_order_acquire); }
    bool is_newest_stream(std::uint64_t number) const noexcept {
        return newest_stream_.load(std::memory_order_acquire) == number;
    }

    // resources/subscribe and the opposite; whether that changed anything. A session that has ended
    // subscribes to nothing.
    enum class subscribing : std::uint8_t { added, unchanged, too_many };
    subscribing subscribe(std::string_view uri);
    bool unsubscribe(std::string_view uri);
    // The session has ended: what it was subscribed to, once.
    std::unordered_set<std::string> end_subscriptions();
    bool subscribed(std::string_view uri) const;

 private:
    const std::string id_;
    const std::uint64_t hash_;
    const std::size_t owner_;
    std::string principal_;
    const revision revision_;
    const std::string capabilities_json_;
    const std::string client_name_;
    const std::string client_version_;
    const std::size_t subscriptions_max_;
    const std::size_t streams_max_;
    std::atomic<bool> alive_{true};
    std::atomic<std::int64_t> last_seen_ms_;
    std::atomic<std::int32_t> holds_{0};
    std::atomic<log_level> threshold_{log_level::info};
    std::atomic<std::uint32_t> roots_changes_{0};
    std::atomic<std::uint64_t> newest_stream_{0};
    std::atomic<bool> collecting_{false};
    std::atomic<std::uint64_t> told_{0};  // the last change that was claimed
    event_log events_;
    mutable std::mutex mutex_;                               // guards what follows
    std::unique_ptr<std::unordered_set<std::string>> uris_;  // null: none
    bool subscribes_ = true;
    std::vector<std::uint64_t> streams_;  // the open ones, oldest first
    std::uint64_t last_stream_ = 0;
};

using session_ref = std::shared_ptr<session>;

class session_table {
 public:
    session_table(std::size_t shards, std::size_t sessions_max);

    // A new id for a session owned by `owner`: two hex digits of the shard and 128 random bits,
    // visible ASCII.
    static std::string new_id(std::size_t owner);

    // The owner named in such an id; nullopt when it is malformed.
    static std::optional<std::size_t> owner_of(std::string_view id) noexcept;

    // False when the cap is reached.
    bool insert(session_ref s);
    // The live session of that id, or null.
    session_ref find(std::string_view id) const;
    // Ends and removes it; false when there was no live one of that id.
    bool remove(std::string_view id);
    // Drops old events of the sessions of `owner`.
    void trim_events(std::size_t owner, std::int64_t now_ms);
    // Ends the sessions of `owner` that have been idle since before `before_ms`; returns them.
    std::vector<session_ref> expire(std::size_t owner, std::int64_t before_ms);

    std::size_t size() const noexcept { return count_.load(std::memory_order_relaxed); }

 private:
    // Sessions are found by their id.
    struct by_id {
        using is_transparent = void;
        static std::string_view id_of(std::string_view id) noexcept { return id; }
        static std::string_view id_of(const session_ref& s) noexcept { return s->id(); }
        std::size_t operator()(const auto& key) const noexcept {
            return base::bytes_hash()(id_of(key));
        }
        bool operator()(const auto& a, const auto& b) const noexcept {
            return id_of(a) == id_of(b);
        }
    };
    struct stripe {
        mutable std::mutex mutex;
        std::unordered_set<session_ref, by_id, by_id> records;
    };
    const stripe* stripe_of(std::string_view id) const noexcept;

    std::vector<std::unique_ptr<stripe>> stripes_;
    std::size_t sessions_max_;
    std::atomic<std::size_t> count_{0};
};

}  // namespace pillion::mcp
