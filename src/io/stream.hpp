// stream: a connected byte stream as the layers above see it. TCP and unix sockets today, TLS and
// the simulation implement the same interface; stdio has its own pair of it.
//
// Reading is pushed: the owner implements stream_reader. Writing is queued: chunks handed to
// write() leave in order, coalesced into one send at the end of the turn, at most one send in
// flight. The stream owns queued chunks and returns them to their pool when sent.
//
// Life: close() begins the teardown (queued bytes are still sent if `flush`), the reader hears
// on_closed() exactly once, when no operation is in flight any more; only then may the owner
// destroy the stream. Thread: its shard.
#pragma once

#include <coroutine>
#include <cstddef>
#include <string_view>

#include "base/chunk.hpp"

namespace pillion::io {

class stream_reader {
 public:
    // Bytes arrived. They are lent until the call returns (limits::padding readable bytes follow
    // and the bytes may be modified in place); what is still needed must be copied out.
    virtual void on_data(char* data, std::size_t bytes) noexcept = 0;
    // The peer finished sending (half-close looks the same as a full close). Once.
    virtual void on_eof() noexcept = 0;
    // The queue drained below the loop's low mark (io/reactor.hpp) after write() had returned
    // false.
    virtual void on_drained() noexcept = 0;
    // Final call: the descriptor is closed, nothing is in flight. `os_errno` is 0 after an orderly
    // close, else what broke the stream. The reader may destroy the stream in this call.
    virtual void on_closed(int os_errno) noexcept = 0;

    // The coroutine that on_data() will resume, if one waits for that: the loop has the begin of
    // its frame brought into the caches.
    std::coroutine_handle<> waiting() const noexcept { return waiting_; }

 protected:
    ~stream_reader() = default;

    // Set while that coroutine is suspended; readers without one leave it null.
    std::coroutine_handle<> waiting_;
};

class stream {
 public:
    virtual ~stream() = default;

    // Starts reading. Once, before anything else. `reader` must outlive on_closed().
    virtual void start(stream_reader& reader) noexcept = 0;

    // Stops and restarts the delivery of data (back-pressure). While paused, a disconnect of the
    // peer is still noticed when the system can tell.
    virtual void pause_reading() noexcept = 0;
    virtual void resume_reading() noexcept = 0;

    // Queues a chunk (ownership passes, or this share of it). Returns false when the queue is above
    // the loop's high mark: the caller should wait for on_drained(). After close() or an error the
    // chunk is dropped.
    virtual bool write(base::chunk* bytes) noexcept = 0;
    // Queues bytes that outlive the stream (pre-rendered, immutable).
    virtual bool write_static(std::string_view bytes) noexcept = 0;
    virtual std::size_t queued_bytes() const noexcept = 0;
    // Whether write() has returned false and on_drained() is still to come.
    virtual bool congested() const noexcept { return false; }

    // Half-close after the queue has been sent.
    virtual void shutdown_write() noexcept = 0;
    // Closes: after the queue has been sent (flush) or at once, dropping it. Idempotent; a second
    // call with flush = false hurries the first one.
    virtual void close(bool flush) noexcept = 0;
    // Closes at once, with nothing queued, unless the system holds bytes for the reader that it has
    // not heard of yet: then nothing happens, and false.
    virtual bool close_if_quiet() noexcept {
        close(false);
        return true;
    }

    // Short text of the peer for logs ("127.0.0.1:50000", "unix:uid:1000", "stdio"). Lives with the
    // stream.
    virtual std::string_view peer() const noexcept = 0;
    // The peer's address without port, for per-address limits. Empty when it has none.
    virtual std::string_view peer_address() const noexcept = 0;
    // Who the peer is, where the system vouches for it: "uid:1000" at a unix socket. Lives with the
    // stream.
    virtual std::string_view peer_principal() const noexcept { return {}; }
};

}  // namespace pillion::io
