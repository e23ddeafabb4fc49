#include "mcp/session.hpp"

#include <utility>

#include "base/ascii.hpp"
#include "base/assert.hpp"
#include "base/random.hpp"
#include "mcp/shard_digits.hpp"

namespace pillion::mcp {

namespace {

using base::hex_digits;

}  // namespace

session::session(std::string id, std::size_t owner, revision r, std::string capabilities_json,
                 std::string client_name, std::string client_version, std::int64_t now_ms,
                 const session_limits& most)
    : id_(std::move(id)),
      hash_(base::hash_bytes(id_)),
      owner_(owner),
      revision_(r),
      capabilities_json_(std::move(capabilities_json)),
      client_name_(std::move(client_name)),
      client_version_(std::move(client_version)),
      subscriptions_max_(most.subscriptions_max),
      streams_max_(most.streams_max),
      last_seen_ms_(now_ms),
      events_(most) {}

bool session::takes_stream() const {
    const std::lock_guard lock(mutex_);
    return streams_.size() < streams_max_;
}

std::uint64_t session::open_stream(std::uint64_t published) {
    const std::lock_guard lock(mutex_);
    if (newest_stream_.load(std::memory_order_relaxed) == 0) {
        claim(published);
    }
    streams_.push_back(++last_stream_);
    newest_stream_.store(last_stream_, std::memory_order_release);
    return last_stream_;
}

bool session::detach_stream(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    std::erase(streams_, number);
    if (streams_.empty() && newest_stream_.load(std::memory_order_relaxed) == number) {
        collecting_.store(true, std::memory_order_release);
        return true;
    }
    if (!streams_.empty()) {
        newest_stream_.store(streams_.back(), std::memory_order_release);
    }
    return false;
}

bool session::close_stream(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    std::erase(streams_, number);
    const std::uint64_t newest = streams_.empty() ? 0 : streams_.back();
    return newest_stream_.exchange(newest, std::memory_order_acq_rel) != newest && newest != 0;
}

bool session::claim(std::uint64_t change_number) noexcept {
    std::uint64_t told = told_.load(std::memory_order_acquire);
    while (told < change_number) {
        if (told_.compare_exchange_weak(told, change_number, std::memory_order_acq_rel)) {
            return true;
        }
    }
    return false;
}

session::subscribing session::subscribe(std::string_view uri) {
    const std::lock_guard lock(mutex_);
    if (!subscribes_ || (uris_ != nullptr && uris_->contains(std::string(uri)))) {
        return subscribing::unchanged;
    }
    if (uris_ == nullptr) {
        uris_ = std::make_unique<std::unordered_set<std::string>>();
    } else if (uris_->size() >= subscriptions_max_) {
        return subscribing::too_many;
    }
    uris_->emplace(uri);
    return subscribing::added;
}

bool session::unsubscribe(std::string_view uri) {
    const std::lock_guard lock(mutex_);
    return uris_ != nullptr && uris_->erase(std::string(uri)) > 0;
}

std::unordered_set<std::string> session::end_subscriptions() {
    const std::lock_guard lock(mutex_);
    subscribes_ = false;
    const auto ended = std::exchange(uris_, nullptr);
    return ended == nullptr ? std::unordered_set<std::string>() : std::move(*ended);
}

bool session::subscribed(std::string_view uri) const {
    const std::lock_guard lock(mutex_);
    return uris_ != nullptr && uris_->contains(std::string(uri));
}

session_table::session_table(std::size_t shards, std::size_t sessions_max)
    : sessions_max_(sessions_max) {
    PILLION_ASSERT(shards > 0 && shards <= 256);
    for (std::size_t i = 0; i < shards; ++i) {
        stripes_.push_back(std::make_unique<stripe>());
    }
}

std::string session_table::new_id(std::size_t owner) {
    unsigned char random[16];
    base::os_random(random, sizeof random);
    std::string id(2, '0');
    id.reserve(34);
    put_shard(id.data(), owner);
    for (const unsigned char byte : random) {
        id.push_back(hex_digits[byte >> 4U]);
        id.push_back(hex_digits[byte & 15U]);
    }
    return id;
}

std::optional<std::size_t> session_table::owner_of(std::string_view id) noexcept {
    return id.size() == 34 ? read_shard(id) : std::nullopt;
}

const session_table::stripe* session_table::stripe_of(std::string_view id) const noexcept {
    const auto owner = owner_of(id);
    return owner && *owner < stripes_.size() ? stripes_[*owner].get() : nullptr;
}

bool session_table::insert(session_ref s) {
    if (count_.fetch_add(1, std::memory_order_relaxed) >= sessions_max_) {
        count_.fetch_sub(1, std::memory_order_relaxed);
        return false;
    }
    stripe& to = *stripes_[s->owner()];
    const std::lock_guard lock(to.mutex);
    to.records.insert(std::move(s));
    return true;
}

session_ref session_table::find(std::string_view id) const {
    const stripe* in = stripe_of(id);
    if (in == nullptr) {
        return nullptr;
    }
    const std::lock_guard lock(in->mutex);
    const auto at = in->records.find(id);
    return at != in->records.end() && (*at)->alive() ? *at : nullptr;
}

bool session_table::remove(std::string_view id) {
    stripe* in = const_cast<stripe*>(stripe_of(id));
    if (in == nullptr) {
        return false;
    }
    const std::lock_guard lock(in->mutex);
    const auto at = in->records.find(id);
    if (at == in->records.end()) {
        return false;
    }
    const bool was_alive = (*at)->kill();
    in->records.erase(at);
    count_.fetch_sub(1, std::memory_order_relaxed);
    return was_alive;
}

void session_table::trim_events(std::size_t owner, std::int64_t now_ms) {
    stripe& in = *stripes_[owner];
    const std::lock_guard lock(in.mutex);
    for (const session_ref& record : in.records) {
        record->events().trim(now_ms);
    }
}

std::vector<session_ref> session_table::expire(std::size_t owner, std::int64_t before_ms) {
    std::vector<session_ref> ended;
    stripe& in = *stripes_[owner];
    const std::lock_guard lock(in.mutex);
    for (auto at = in.records.begin(); at != in.records.end();) {
        if (!(*at)->idle_since(before_ms)) {
            ++at;
            continue;
        }
        (*at)->kill();
        ended.push_back(*at);
        at = in.records.erase(at);
        count_.fetch_sub(1, std::memory_order_relaxed);
    }
    return ended;
}

}  // namespace pillion::mcp
