// spent_nonces: which chains of questions have used up the answer that counts only once
// (elicit_request::single_use()). A nonce stays until nothing sealed with it can be valid any more
// and is never dropped before: a full table refuses new ones.
//
// One for the process; nothing else knows of it, so it takes a client to the same process or
// leaves the check to whoever owns the effect. Thread-safety: any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/hash.hpp"
#include "base/limits.hpp"

namespace pillion::mcp {

class spent_nonces {
 public:
    explicit spent_nonces(std::size_t nonces_max = limits::spent_nonces_max)
        : nonces_max_(nonces_max) {}

    enum class outcome : std::uint8_t { first, again, full };
    // Spends a nonce, at `now_ms`, for whatever is valid until `until_ms` at most.
    outcome spend(std::string_view nonce, std::int64_t now_ms, std::int64_t until_ms);
    // Whether it has been spent. Costs one atomic load while nothing was.
    bool spent(std::string_view nonce) const;
    std::size_t size() const noexcept { return count_.load(std::memory_order_acquire); }

 private:
    using nonce_set = std::unordered_set<std::string, base::bytes_hash, std::equal_to<>>;
    struct expiry {
        std::int64_t until_ms;
        const std::string* nonce;  // in the set, which never moves what it holds
        expiry(std::int64_t until, const std::string& of) noexcept : until_ms(until), nonce(&of) {}
    };

    const std::size_t nonces_max_;
    std::atomic<std::size_t> count_{0};
    mutable std::mutex mutex_;  // guards what follows
    nonce_set nonces_;
    std::deque<expiry> oldest_first_;
};

}  // namespace pillion::mcp
