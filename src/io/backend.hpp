// backend: the one interface to the kernel (io_uring, epoll) or to its simulation.
//
// It is a proactor: operations are submitted, completions come out of turn() and are dispatched
// by the reactor afterwards, never from inside a submission. All three implementations pass the
// same tests (tests/unit/io/backend_test.cpp); memory_backend.hpp is a fourth without descriptors.
//
// Thread: created and used by one shard thread; wake() alone may be called from anywhere.
#pragma once

#include <sys/uio.h>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "io/op.hpp"

namespace pillion::io {

class backend {
 public:
    virtual ~backend() = default;
    backend() = default;
    backend(const backend&) = delete;
    backend& operator=(const backend&) = delete;

    // "uring", "epoll" or "sim".
    virtual const char* name() const noexcept = 0;

    // Monotonic time in nanoseconds (virtual in the simulation).
    virtual std::int64_t now_ns() const noexcept = 0;
    // Whether that time passes only as the simulation wants.
    virtual bool has_virtual_time() const noexcept { return false; }
    // Wall clock in milliseconds since 1970 (virtual in the simulation).
    virtual std::int64_t unix_ms() const noexcept = 0;

    // Multishot accept on a listening socket: one completion per connection, res = new descriptor
    // (close-on-exec, non-blocking). Ends (more = false) on error or cancel.
    virtual void accept(op& target, int listen_fd) noexcept = 0;

    // Multishot receive into lent buffers: res > 0 with data, res == 0 at end of stream (final),
    // res < 0 on error (final). -ENOBUFS (final): no buffer free, submit again. Whoever is always
    // ready gets no more than a turn, and takes the next one behind those that got no buffer.
    virtual void receive(op& target, int fd) noexcept = 0;

    // Waits until the peer finished sending or broke the connection; res = the events as poll(2)
    // names them (POLLRDHUP, POLLHUP, POLLERR). For streams that do not receive at the moment: it
    // takes the place of receive(), at most one of both per descriptor.
    virtual void await_hangup(op& target, int fd) noexcept = 0;

    // Sends the gathered bytes; res = bytes sent, which may be fewer than asked. The vector and
    // the bytes must live until the completion. At most one send per descriptor at a time.
    virtual void send(transfer_op& target, int fd, const iovec* parts,
                      std::size_t count) noexcept = 0;

    // Sends now what the system takes of these bytes: how many that were, or -errno. For a large
    // message, while it is in the processor's caches. REQUIRES: no send in flight.
    virtual std::ptrdiff_t send_at_once(int fd, const char* from, std::size_t bytes) noexcept;

    // Plain read/write at the current position, for pipes, ttys, event descriptors and files.
    // Never changes the descriptor's flags (it may be shared with the parent's terminal).
    virtual void read(transfer_op& target, int fd, char* to, std::size_t bytes) noexcept = 0;
    virtual void write(transfer_op& target, int fd, const char* from,
                       std::size_t bytes) noexcept = 0;

    // Connects a non-blocking socket; res = 0 or -errno.
    virtual void connect(transfer_op& target, int fd, const void* address,
                         std::size_t bytes) noexcept = 0;

    // Asks for an early end. The op's final completion still comes (usually -ECANCELED; its own
    // result if it wins the race).
    virtual void cancel(op& target) noexcept = 0;

    // shutdown(2). Takes effect at once; pending receives end with res == 0.
    virtual void shutdown(int fd, int how) noexcept = 0;
    // Whether there are received bytes that no completion has told of yet, and about how many; 0
    // when unknown.
    virtual std::size_t unread_bytes(int fd) noexcept = 0;

    // Whether a receive of this backend may miss a reset that arrives together with data. Owners
    // then keep an await_hangup() armed beside it, and receive anew when it reports an error.
    virtual bool receive_may_miss_reset() const noexcept { return false; }
    // Closes a descriptor. REQUIRES: no op in flight on it. A descriptor that was ever given to
    // this backend is closed this way only, except listening sockets and inherited ones.
    virtual void close(int fd) noexcept = 0;

    // Submits what is queued, waits for completions at most `wait_ns` (0: don't wait, negative:
    // for ever) and appends them to `out`. Buffers lent by them go back with give_back().
    virtual void turn(std::int64_t wait_ns, std::vector<completion>& out) noexcept = 0;

    // Returns a receive buffer.
    virtual void give_back(std::uint32_t buffer_id) noexcept = 0;

    // Ends a turn() in progress (or the next one) early. Any thread.
    virtual void wake() noexcept = 0;

    // Operations submitted whose final completion has not been reported: zero at shutdown.
    virtual std::size_t in_flight() const noexcept = 0;
    // Receive buffers lent out at this moment.
    virtual std::size_t buffers_lent() const noexcept = 0;
    // System calls made by this backend so far, for the bench and the metrics.
    virtual std::uint64_t system_calls() const noexcept { return system_calls_; }

 protected:
    std::uint64_t system_calls_ = 0;
};

}  // namespace pillion::io
