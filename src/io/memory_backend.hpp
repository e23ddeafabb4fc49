// memory_backend: a backend without a kernel behind it. Its clock is virtual and jumps to whatever
// is due next; only helper threads take real time, and the clock stands still for them. For servers
// that talk to clients in the same process (app/test_host). Operations on descriptors end with
// -ENOSYS.
//
// Thread: its reactor's; wake() from any.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>

#include "io/backend.hpp"

namespace pillion::io {

class memory_backend final : public backend {
 public:
    // `busy` tells whether a helper thread works: then turn() waits for its wake().
    explicit memory_backend(std::function<bool()> busy) : busy_(std::move(busy)) {}

    // While on, turn() lets no time pass.
    void hold_time(bool on) noexcept { held_ = on; }
    // The last turn() had nothing to do; with time running: nothing that time could bring either.
    bool idle() const noexcept { return idle_; }

    const char* name() const noexcept override { return "memory"; }
    std::int64_t now_ns() const noexcept override { return now_ns_; }
    bool has_virtual_time() const noexcept override { return true; }
    std::int64_t unix_ms() const noexcept override { return epoch_ms + now_ns_ / 1'000'000; }

    void accept(op& target, int) noexcept override { refuse(target); }
    void receive(op& target, int) noexcept override { refuse(target); }
    void await_hangup(op& target, int) noexcept override { refuse(target); }
    void send(transfer_op& target, int, const iovec*, std::size_t) noexcept override {
        refuse(target);
    }
    void read(transfer_op& target, int, char*, std::size_t) noexcept override { refuse(target); }
    void write(transfer_op& target, int, const char*, std::size_t) noexcept override {
        refuse(target);
    }
    void connect(transfer_op& target, int, const void*, std::size_t) noexcept override {
        refuse(target);
    }
    void cancel(op&) noexcept override {}
    void shutdown(int, int) noexcept override {}
    std::size_t unread_bytes(int) noexcept override { return 0; }
    void close(int) noexcept override {}
    void turn(std::int64_t wait_ns, std::vector<completion>& out) noexcept override;
    void give_back(std::uint32_t) noexcept override {}
    void wake() noexcept override;
    std::size_t in_flight() const noexcept override { return refused_.size(); }
    std::size_t buffers_lent() const noexcept override { return 0; }
    std::ptrdiff_t send_at_once(int, const char*, std::size_t) noexcept override { return 0; }

 private:
    // 2027-01-15T08:00:00Z: the same wall clock in every run.
    static constexpr std::int64_t epoch_ms = 1'800'000'000'000;

    void refuse(op& target) noexcept;
    bool wait_for_helpers() noexcept;

    std::function<bool()> busy_;
    std::int64_t now_ns_ = 1'000'000'000;
    bool held_ = false;
    bool idle_ = false;
    std::vector<completion> refused_;
    std::mutex mutex_;  // guards woken_
    std::condition_variable wakes_;
    bool woken_ = false;
};

}  // namespace pillion::io
