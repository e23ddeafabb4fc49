#include "sidecar/parked_calls.hpp"

#include <algorithm>
#include <utility>

#include "base/random.hpp"

namespace pillion::sidecar {

namespace {

std::string random_name() {
    constexpr std::string_view digits = "0123456789abcdef";
    unsigned char bytes[16];
    base::os_random(bytes, sizeof bytes);
    std::string name;
    for (const unsigned char b : bytes) {
        name += digits[b >> 4];
        name += digits[b & 15];
    }
    return name;
}

}  // namespace

std::string parked_calls::keep(parked_call what, std::int64_t now_ms, parked_call& overflow) {
    const std::lock_guard lock(mutex_);
    // A client that is there and waits for its answer keeps its place.
    if (calls_.size() >= calls_max) {
        const auto gone = std::find_if(order_.begin(), order_.end(), [this](const auto& name) {
            return !calls_.at(name).what.call->is_attended();
        });
        if (gone == order_.end()) {
            return {};
        }
        overflow = std::move(calls_.at(*gone).what);
        calls_.erase(*gone);
        order_.erase(gone);
    }
    std::string name = random_name();
    calls_[name] = {std::move(what), now_ms};
    order_.push_back(name);
    return name;
}

parked_call parked_calls::find(const std::string& name, const std::string& owner) const {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(name);
    return found != calls_.end() && found->second.what.call->asked().owner == owner
               ? found->second.what
               : parked_call();
}

void parked_calls::renew(const std::string& name, std::int64_t now_ms) {
    const std::lock_guard lock(mutex_);
    if (calls_.contains(name)) {
        std::erase(order_, name);
        make_youngest(name, now_ms);
    }
}

void parked_calls::make_youngest(const std::string& name, std::int64_t now_ms) {
    calls_[name].since_ms = now_ms;
    order_.push_back(name);
}

void parked_calls::forget(const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (calls_.erase(name) > 0) {
        std::erase(order_, name);
    }
}

parked_call parked_calls::take_older(std::int64_t than_ms, std::int64_t now_ms) {
    const std::lock_guard lock(mutex_);
    for (std::size_t left = order_.size(); left > 0; --left) {
        const auto oldest = calls_.find(order_.front());
        if (now_ms - oldest->second.since_ms < than_ms) {
            break;
        }
        const std::string name = std::move(order_.front());
        order_.pop_front();
        if (oldest->second.what.call->is_attended()) {
            make_youngest(name, now_ms);
        } else {
            parked_call out = std::move(oldest->second.what);
            calls_.erase(oldest);
            return out;
        }
    }
    return {};
}

std::size_t parked_calls::size() const {
    const std::lock_guard lock(mutex_);
    return order_.size();
}

}  // namespace pillion::sidecar
