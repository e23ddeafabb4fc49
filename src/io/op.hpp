// op: one kernel operation in flight, and completion: what came of it.
//
// An op is embedded in its owner (a connection, a listener, an awaiter) and is named to the
// backend by address, so an op must not be destroyed before its *final* completion was dispatched
// (flag `more` unset). The destructor asserts it. Cancelling means: ask the backend, then wait for
// the final completion like for any other.
//
// Thread: the shard that submitted it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/assert.hpp"

namespace pillion::io {

struct completion;

// What a backend was asked for.
enum class op_kind : std::uint8_t { accept, receive, hangup, send, read, write, connect };

struct op {
    // Called by the reactor when a completion is dispatched, never from inside a backend call, so
    // it may submit, cancel and (on the final completion) destroy the op itself.
    using handler = void (*)(op& self, const completion& what) noexcept;

    explicit op(handler h) noexcept : on_complete(h) {}
    op(const op&) = delete;
    op& operator=(const op&) = delete;
    ~op() { PILLION_ASSERT(!in_flight); }

    handler on_complete;
    std::int32_t fd = -1;
    std::uint8_t kind = 0;
    std::uint8_t flags = 0;  // the backend's own
    // Set by the backend at submission, cleared by the reactor just before the final completion
    // is handed to on_complete.
    bool in_flight = false;
    // So many words of 8 bytes behind its begin there is a pointer to the stream_reader that its
    // handler will call; 0: nowhere. The reactor has what that touches brought into the caches.
    std::uint8_t reader_at = 0;
};

// One that moves bytes of its owner, or connects: where they are, kept by the backend until it is
// done. An idle connection has none.
struct transfer_op : op {
    using op::op;
    std::uint64_t memory = 0;  // bytes, parts or an address
    std::uint64_t size = 0;
};

struct completion {
    op* target = nullptr;
    // Bytes, a file descriptor or -errno, as the system call would return it.
    std::int32_t res = 0;
    // A multishot op stays armed: further completions will come.
    bool more = false;
    // For receives that delivered bytes: the lent buffer. Valid until on_complete returns; the
    // reactor gives it back to the backend right after. limits::padding readable bytes follow.
    char* data = nullptr;
    std::uint32_t buffer_id = 0;
};

}  // namespace pillion::io
