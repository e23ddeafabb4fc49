#include "mcp/event_log.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

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
    while (streams_.size() >= streams_max_) {
        // One that is still open is forgotten only when all are.
        auto oldest = streams_.begin();
        for (auto at = oldest; at != streams_.end(); ++at) {
            if (at->finished) {
                oldest = at;
                break;
            }
        }
        for (const kept_event& e : oldest->events) {
            bytes_ -= e.text.size();
        }
        events_ -= oldest->events.size();
        streams_.erase(oldest);
    }
    const std::uint32_t number = next_stream_++;
    entry& s = streams_.emplace_back();
    s.number = number;
    s.standalone = standalone;
    s.writer_shard = static_cast<std::uint16_t>(shard);
    s.touched_ms = now_ms;
    return number;
}

std::uint64_t event_log::append(std::uint32_t stream, std::string_view text, std::int64_t now_ms) {
    const std::lock_guard lock(mutex_);
    entry* const at = find(stream);
    if (at == nullptr) {
        return 0;
    }
    entry& s = *at;
    s.touched_ms = now_ms;
    const std::uint64_t sequence = s.next++;
    s.events.push_back({sequence, std::string(text)});
    bytes_ += text.size();
    ++events_;
    s.ahead_bytes += text.size();
    ++s.ahead_events;
    // The newest event stays even when it alone is over the cap: it may be the answer.
    while ((bytes_ > bytes_max_ || events_ > events_max_) && events_ > 1) {
        drop_oldest(s);
    }
    return sequence;
}

void event_log::drop_oldest(const entry& growing) {
    // Finished streams first, then whoever was quiet longest.
    auto victim = streams_.end();
    for (auto at = streams_.begin(); at != streams_.end(); ++at) {
        if (at->events.size() <= (&*at == &growing ? 1U : 0U)) {
            continue;
        }
        const bool better =
            victim == streams_.end() || (at->finished && !victim->finished) ||
            (at->finished == victim->finished && at->touched_ms < victim->touched_ms);
        victim = better ? at : victim;
    }
    entry& s = *victim;
    bytes_ -= s.events.front().text.size();
    --events_;
    s.dropped = s.events.front().sequence;
    s.events.pop_front();
}

void event_log::finish(std::uint32_t stream, std::int64_t now_ms) {
    const std::lock_guard lock(mutex_);
    entry* const at = find(stream);
    if (at != nullptr && at->writers > 0) {
        at->finished = --at->writers == 0;
        at->touched_ms = std::max(at->touched_ms, now_ms);
    }
}

void event_log::reopen(std::uint32_t stream) {
    const std::lock_guard lock(mutex_);
    entry* const at = find(stream);
    if (at != nullptr) {
        ++at->writers;
        at->finished = false;
    }
}

event_log::outcome event_log::read(event_id after, replay& out, std::size_t at_most) const {
    const std::lock_guard lock(mutex_);
    const entry* const at = find(after.stream);
    if (at == nullptr || after.sequence >= at->next) {
        return outcome::unknown;
    }
    const entry& s = *at;
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
    entry* const at = find(stream);
    if (at == nullptr) {
        return 0;
    }
    if (earlier != nullptr && at->follower_token != 0) {
        *earlier = at->follower_shard;
    }
    at->follower_token = next_token_++;
    at->follower_shard = static_cast<std::uint16_t>(shard);
    at->ahead_bytes = 0;
    at->ahead_events = 0;
    at->followed = true;
    return at->follower_token;
}

bool event_log::is_follower(std::uint32_t stream, std::uint64_t token) const {
    const std::lock_guard lock(mutex_);
    const entry* const at = find(stream);
    return at != nullptr && at->follower_token == token;
}

std::optional<std::size_t> event_log::follower(std::uint32_t stream) const {
    const std::lock_guard lock(mutex_);
    const entry* const at = find(stream);
    if (at == nullptr || at->follower_token == 0) {
        return std::nullopt;
    }
    return at->follower_shard;
}

bool event_log::is_followed(std::uint32_t stream) const {
    const std::lock_guard lock(mutex_);
    const entry* const at = find(stream);
    return at != nullptr && at->followed;
}

bool event_log::is_behind(std::uint32_t stream) const {
    const std::lock_guard lock(mutex_);
    const entry* const at = find(stream);
    return at != nullptr && behind(*at);
}

const event_log::entry* event_log::find(std::uint32_t stream) const noexcept {
    const auto at =
        std::lower_bound(streams_.begin(), streams_.end(), stream,
                         [](const entry& e, std::uint32_t number) { return e.number < number; });
    return at != streams_.end() && at->number == stream ? &*at : nullptr;
}

event_log::entry* event_log::find(std::uint32_t stream) noexcept {
    return const_cast<entry*>(std::as_const(*this).find(stream));
}

event_log::entry* event_log::followed_by(std::uint32_t stream, std::uint64_t token) {
    entry* const at = find(stream);
    return at != nullptr && at->follower_token == token ? at : nullptr;
}

bool event_log::caught_up(std::uint32_t stream, std::uint64_t token) {
    const std::lock_guard lock(mutex_);
    entry* const s = followed_by(stream, token);
    const bool was = s != nullptr && behind(*s);
    if (s != nullptr) {
        s->ahead_bytes = 0;
        s->ahead_events = 0;
    }
    return was;
}

bool event_log::leave(std::uint32_t stream, std::uint64_t token) {
    const std::lock_guard lock(mutex_);
    entry* const s = followed_by(stream, token);
    const bool was = s != nullptr && behind(*s);
    if (s != nullptr) {
        s->followed = false;
    }
    return was;
}

std::optional<std::size_t> event_log::writer(std::uint32_t stream) const {
    const std::lock_guard lock(mutex_);
    const entry* const at = find(stream);
    if (at == nullptr || at->finished) {
        return std::nullopt;
    }
    return at->writer_shard;
}

void event_log::trim(std::int64_t now_ms) {
    const std::lock_guard lock(mutex_);
    for (auto at = streams_.begin(); at != streams_.end();) {
        entry& s = *at;
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
