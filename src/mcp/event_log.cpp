#include "mcp/event_log.hpp"

#include <charconv>

namespace pillion::mcp {

std::size_t event_id::write(char* to) const noexcept {
    char* at = std::to_chars(to, to + room, stream).ptr;
    *at++ = '-';
    return static_cast<std::size_t>(std::to_chars(at, to + room, sequence).ptr - to);
}

std::optional<event_id> event_id::parse(std::string_view text) noexcept {
    event_id id;
    const char* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, id.stream);
    if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '-') {
        return std::nullopt;
    }
    const auto second = std::from_chars(first.ptr + 1, end, id.sequence);
    if (second.ec != std::errc{} || second.ptr != end) {
        return std::nullopt;
    }
    // Only our own spelling: "07-3" names nothing.
    char canonical[room];
    return std::string_view(canonical, id.write(canonical)) == text ? std::optional(id)
                                                                    : std::nullopt;
}

std::uint32_t event_log::open(bool standalone, std::int64_t now_ms, std::size_t shard) {
    const std::lock_guard lock(mutex_);
    while (streams_.size() >= streams_max) {
        // One that is still open is forgotten only when all are.
        auto oldest = streams_.begin();
        for (auto at = oldest; at != streams_.end(); ++at) {
            if (at->second.finished) {
                oldest = at;
                break;
            }
        }
        for (const kept_event& e : oldest->second.events) {
            bytes_ -= e.text.size();
        }
        events_ -= oldest->second.events.size();
        streams_.erase(oldest);
    }
    const std::uint32_t number = next_stream_++;
    entry& s = streams_[number];
    s.standalone = standalone;
    s.writer_shard = shard;
    s.touched_ms = now_ms;
    return number;
}

std::uint64_t event_log::append(std::uint32_t stream, std::string_view text, std::int64_t now_ms) {
    const std::lock_guard lock(mutex_);
    const auto at = streams_.find(stream);
    if (at == streams_.end()) {
        return 0;
    }
    entry& s = at->second;
    s.touched_ms = now_ms;
    const std::uint64_t sequence = s.next++;
    s.events.push_back({sequence, std::string(text)});
    bytes_ += text.size();
    ++events_;
    s.ahead_bytes += text.size();
    ++s.ahead_events;
    // The newest event stays even when it alone is over the cap: it may be the answer.
    while ((bytes_ > bytes_max || events_ > events_max) && events_ > 1) {
        drop_oldest(s);
    }
    return sequence;
}

void event_log::drop_oldest(const entry& growing) {
    // Finished streams first, then whoever was quiet longest.
    auto victim = streams_.end();
    for (auto at = streams_.begin(); at != streams_.end(); ++at) {
        if (at->second.events.size() <= (&at->second == &growing ? 1U : 0U)) {
            continue;
        }
        const bool better = victim == streams_.end() ||
                            (at->second.finished && !victim->second.finished) ||
                            (at->second.finished == victim->second.finished &&
                             at->second.touched_ms < victim->second.touched_ms);
        victim = better ? at : victim;
    }
    entry& s = victim->second;
    bytes_ -= s.events.front().text.size();
    --events_;
    s.dropped = s.events.front().sequence;
    s.events.pop_front();
}

void event_log::finish(std::uint32_t stream) {
    const std::lock_guard lock(mutex_);
    const auto at = streams_.find(stream);
    if (at != streams_.end()) {
        at->second.finished = true;
    }
}

event_log::outcome event_log::read(event_id after, replay& out, std::size_t at_most) const {
    const std::lock_guard lock(mutex_);
    const auto at = streams_.find(after.stream);
    if (at == streams_.end() || after.sequence >= at->second.next) {
        return outcome::unknown;
    }
    const entry& s = at->second;
    if (after.sequence < s.dropped) {
        return outcome::gap;
    }
    std::size_t bytes = 0;
    bool all = true;
    for (const kept_event& e : s.events) {
        if (e.sequence <= after.sequence) {
            continue;
        }
        if (bytes >= at_most) {
            all = false;
            break;
        }
        bytes += e.text.size();
        out.events.push_back(e);
    }
    out.finished = all && s.finished;
    out.standalone = s.standalone;
    return outcome::found;
}

std::uint64_t event_log::follow(std::uint32_t stream, std::size_t shard,
                                std::optional<std::size_t>* earlier) {
    const std::lock_guard lock(mutex_);
    const auto at = streams_.find(stream);
    if (at == streams_.end()) {
        return 0;
    }
    if (earlier != nullptr && at->second.follower_token != 0) {
        *earlier = at->second.follower_shard;
    }
    at->second.follower_token = next_token_++;
    at->second.follower_shard = shard;
    at->second.ahead_bytes = 0;
    at->second.ahead_events = 0;
    at->second.followed = true;
    return at->second.follower_token;
}

bool event_log::is_follower(std::uint32_t stream, std::uint64_t token) const {
    const std::lock_guard lock(mutex_);
    const auto at = streams_.find(stream);
    return at != streams_.end() && at->second.follower_token == token;
}

std::optional<std::size_t> event_log::follower(std::uint32_t stream) const {
    const std::lock_guard lock(mutex_);
    const auto at = streams_.find(stream);
    if (at == streams_.end() || at->second.follower_token == 0) {
        return std::nullopt;
    }
    return at->second.follower_shard;
}

bool event_log::is_behind(std::uint32_t stream) const {
    const std::lock_guard lock(mutex_);
    const auto at = streams_.find(stream);
    return at != streams_.end() && at->second.behind();
}

event_log::entry* event_log::followed_by(std::uint32_t stream, std::uint64_t token) {
    const auto at = streams_.find(stream);
    return at != streams_.end() && at->second.follower_token == token ? &at->second : nullptr;
}

bool event_log::caught_up(std::uint32_t stream, std::uint64_t token) {
    const std::lock_guard lock(mutex_);
    entry* const s = followed_by(stream, token);
    const bool was = s != nullptr && s->behind();
    if (s != nullptr) {
        s->ahead_bytes = 0;
        s->ahead_events = 0;
    }
    return was;
}

bool event_log::leave(std::uint32_t stream, std::uint64_t token) {
    const std::lock_guard lock(mutex_);
    entry* const s = followed_by(stream, token);
    const bool was = s != nullptr && s->behind();
    if (s != nullptr) {
        s->followed = false;
    }
    return was;
}

std::optional<std::size_t> event_log::writer(std::uint32_t stream) const {
    const std::lock_guard lock(mutex_);
    const auto at = streams_.find(stream);
    if (at == streams_.end() || at->second.finished) {
        return std::nullopt;
    }
    return at->second.writer_shard;
}

void event_log::trim(std::int64_t now_ms) {
    const std::lock_guard lock(mutex_);
    for (auto at = streams_.begin(); at != streams_.end();) {
        entry& s = at->second;
        if (now_ms - s.touched_ms < age_max_ms) {
            ++at;
            continue;
        }
        for (const kept_event& e : s.events) {
            bytes_ -= e.text.size();
        }
        events_ -= s.events.size();
        if (s.finished) {
            at = streams_.erase(at);
            continue;
        }
        // A stream that is still open keeps its place; what it said long ago is gone.
        s.dropped = s.next - 1;
        s.events.clear();
        ++at;
    }
}

}  // namespace pillion::mcp
