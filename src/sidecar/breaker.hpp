// breaker: whether a service is asked at all. After some failures in a row nobody asks for a while;
// then one request may try, and what becomes of it decides for all. A request that was sent before
// says nothing about the time after.
//
// Time is given, so that it can be tested. Thread-safety: any thread; atomics, no lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace pillion::sidecar {

class breaker {
 public:
    // What a request that may go on hands back with what became of it.
    struct permit {
        bool given = false;
        bool probe = false;
        std::uint32_t era = 0;
    };
    enum class outcome : std::uint8_t { good, bad, unknown };

    // 0 failures: it never opens.
    breaker(std::size_t failures_max, std::int64_t open_ms) noexcept
        : failures_max_(failures_max), open_ms_(open_ms) {}

    // Whether a request may go on. `harmless`: it changes nothing. Others try only when no such one
    // has for as long again.
    permit ask(bool harmless, std::int64_t now_ms) noexcept;
    void tell(const permit& of, outcome what, std::int64_t now_ms) noexcept;
    // Until somebody may try; 0: now.
    std::int64_t closed_for_ms(std::int64_t now_ms) const noexcept;

 private:
    void open(std::int64_t now_ms) noexcept;

    const std::size_t failures_max_;
    const std::int64_t open_ms_;
    std::atomic<std::size_t> failures_{0};     // in a row
    std::atomic<std::int64_t> open_until_{0};  // 0: it is closed
    std::atomic<std::uint32_t> era_{0};        // counts how often it has opened and closed
    std::atomic<bool> trying_{false};
};

// retry_budget: repeated requests are at most a tenth of all, so that a service in trouble is not
// asked twice as often. Thread-safety: any thread.
class retry_budget {
 public:
    void asked() noexcept;
    // Whether one more may be repeated; it is counted.
    bool spend() noexcept;

 private:
    static constexpr int price = 10;
    static constexpr int most = 10 * price;
    std::atomic<int> left_{most};
};

}  // namespace pillion::sidecar
