#include "sidecar/parked_calls.hpp"

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
    // A client that is there and waits for its answer loses its place after all others.
    for (std::size_t left = order_.size(); calls_.size() >= calls_max && left > 0; --left) {
        const auto oldest = calls_.find(order_.front());
        std::string of = std::move(order_.front());
        order_.pop_front();
        if (oldest != calls_.end() && left > 1 && oldest->second.what.call->is_attended()) {
            order_.push_back(std::move(of));
        } else if (oldest != calls_.end()) {
            overflow = std::move(oldest->second.what);
            calls_.erase(oldest);
        }
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
    calls_.erase(name);
}

parked_call parked_calls::take_older(std::int64_t than_ms, std::int64_t now_ms) {
    const std::lock_guard lock(mutex_);
    for (std::size_t left = order_.size(); left > 0; --left) {
        const auto oldest = calls_.find(order_.front());
        if (oldest != calls_.end() && now_ms - oldest->second.since_ms < than_ms) {
            break;
        }
        const std::string name = std::move(order_.front());
        order_.pop_front();
        if (oldest != calls_.end() && oldest->second.what.call->is_attended()) {
            make_youngest(name, now_ms);
        } else if (oldest != calls_.end()) {
            parked_call out = std::move(oldest->second.what);
            calls_.erase(oldest);
            return out;
        }
    }
    return {};
}

}  // namespace pillion::sidecar
