// loop_share: what the TLS streams of one loop share: the memory that a record is decrypted into,
// the time that handshakes may take of a turn, and counts.
//
// A step of a handshake is up to a millisecond of arithmetic, so a crowd of newcomers would hold up
// everybody who is connected. In each turn handshakes may begin steps for limits::tls_turn_ns; the
// others wait their turn, in order.
//
// Outlives its streams. Thread: its loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/intrusive_list.hpp"
#include "coro/ready_queue.hpp"
#include "io/reactor.hpp"

namespace pillion::tls {

struct tls_counts {
    std::uint64_t full = 0;     // handshakes
    std::uint64_t resumed = 0;  // … by a ticket
    std::uint64_t failed = 0;
    std::uint64_t late = 0;    // … that took too long
    std::uint64_t plain = 0;   // connections that spoke plain HTTP
    std::uint64_t broken = 0;  // … that ended by a record that is none
    std::uint64_t rested = 0;  // times that a connection gave its memory back
};

// Somebody whose handshake waits.
class handshake_waiter : public base::list_hook<> {
 public:
    // There is time now for one step at least.
    virtual void handshake_turn() noexcept = 0;

 protected:
    ~handshake_waiter() = default;
};

class loop_share : private coro::ready_node {
 public:
    // The largest plaintext of a record (RFC 8446 §5.1).
    static constexpr std::size_t record_bytes_max = 16 * 1024;

    explicit loop_share(io::reactor& loop) noexcept;
    loop_share(const loop_share&) = delete;
    loop_share& operator=(const loop_share&) = delete;
    // REQUIRES: idle().
    ~loop_share();

    io::reactor& loop() noexcept { return loop_; }
    // record_bytes_max bytes with limits::padding behind them.
    char* record() noexcept;

    // Whether a step may begin in this turn; then end_step() says that it is over. Else wait(): the
    // waiter is called in one of the next turns, unless it is unlinked before.
    bool begin_step() noexcept;
    void end_step() noexcept;
    void wait(handshake_waiter& one) noexcept;
    // Nobody waits, and nothing of it is in the queue of what is ready: it may be destroyed.
    bool idle() const noexcept { return waiting_.empty() && !queued_; }

    tls_counts& counts() noexcept { return counts_; }
    const tls_counts& counts() const noexcept { return counts_; }

 private:
    void run_later() noexcept;
    static void run_waiting(coro::ready_node& self) noexcept;

    io::reactor& loop_;
    std::unique_ptr<char[]> record_;
    base::intrusive_list<handshake_waiter> waiting_;
    std::uint64_t turn_ = 0;
    std::int64_t spent_ns_ = 0;  // in that turn
    std::int64_t began_ns_ = 0;
    bool queued_ = false;   // in the queue of what is ready
    bool serving_ = false;  // in run_waiting()
    tls_counts counts_;
};

}  // namespace pillion::tls
