#include "auth/key_board.hpp"

#include <algorithm>
#include <utility>

#include "auth/authenticator.hpp"

namespace pillion::auth {

key_board::entry* key_board::find(const key_source& of) noexcept {
    const auto at = std::find_if(all_.begin(), all_.end(),
                                 [&of](const entry& one) { return one.source == of; });
    return at == all_.end() ? nullptr : &*at;
}

const key_board::entry* key_board::find(const key_source& of) const noexcept {
    const auto at = std::find_if(all_.begin(), all_.end(),
                                 [&of](const entry& one) { return one.source == of; });
    return at == all_.end() ? nullptr : &*at;
}

void key_board::keep(const std::vector<key_source>& sources) {
    const std::lock_guard lock(mutex_);
    std::vector<entry> next;
    for (const key_source& one : sources) {
        entry* const known = find(one);
        next.push_back(known != nullptr ? std::move(*known) : entry{one, nullptr});
    }
    all_ = std::move(next);
}

void key_board::on_wanted(std::function<void()> told) {
    const std::lock_guard lock(mutex_);
    told_ = std::move(told);
}

std::vector<key_source> key_board::wanted() const {
    const std::lock_guard lock(mutex_);
    std::vector<key_source> out;
    for (const entry& one : all_) {
        if (one.wanted) {
            out.push_back(one.source);
        }
    }
    return out;
}

void key_board::settle(const key_source& of, text keys, std::int64_t now_ns) {
    const std::lock_guard lock(mutex_);
    entry* const at = find(of);
    if (at == nullptr) {
        return;
    }
    if (std::exchange(at->wanted, false)) {
        at->next_refetch_ns = now_ns + refetch_pause_ns;
    }
    // The same text keeps its place, so that nobody parses it again.
    if (keys != nullptr && (at->keys == nullptr || *at->keys != *keys)) {
        at->keys = std::move(keys);
    }
}

void key_board::expire(const key_source& of) {
    const std::lock_guard lock(mutex_);
    if (entry* const at = find(of)) {
        at->keys = nullptr;
    }
}

key_board::text key_board::keys(const key_source& of) const {
    const std::lock_guard lock(mutex_);
    const entry* const at = find(of);
    return at == nullptr ? nullptr : at->keys;
}

bool key_board::want(const key_source& of, const text& held, std::int64_t now_ns) {
    const std::lock_guard lock(mutex_);
    entry* const at = find(of);
    if (at == nullptr || !told_) {
        return false;
    }
    if (at->wanted || at->keys != held) {
        return true;
    }
    if (now_ns < at->next_refetch_ns) {
        return false;
    }
    at->wanted = true;
    told_();
    return true;
}

bool key_board::complete() const {
    const std::lock_guard lock(mutex_);
    return std::all_of(all_.begin(), all_.end(),
                       [](const entry& one) { return one.keys != nullptr; });
}

std::vector<key_source> sources_of(const auth_options& options) {
    std::vector<key_source> out;
    for (const auth_options::issuer& one : options.issuers) {
        if (!one.source.empty()) {
            out.push_back({one.rules.issuer, one.source});
        }
    }
    return out;
}

}  // namespace pillion::auth
