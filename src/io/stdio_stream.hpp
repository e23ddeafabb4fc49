// stdio_stream: io::stream over standard input and output (pipes, ttys, files, sockets).
//
// The descriptors are shared with the parent, so their flags are never touched and they are not
// closed at the end. One read and one write are in flight at most; the read buffer is the
// stream's own, padded like a lent one. EOF on input → on_eof(); a reader of the output that went
// away (EPIPE) → on_closed(EPIPE). Thread: its shard.
#pragma once

#include <sys/uio.h>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/chunk.hpp"
#include "io/op.hpp"
#include "io/out_queue.hpp"
#include "io/reactor.hpp"
#include "io/stream.hpp"

namespace pillion::io {

class stdio_stream final : public stream, private flushable {
 public:
    // Does not own the descriptors.
    explicit stdio_stream(reactor& on, int in_fd = 0, int out_fd = 1) noexcept;
    stdio_stream(const stdio_stream&) = delete;
    stdio_stream& operator=(const stdio_stream&) = delete;
    // REQUIRES: on_closed() was delivered, or start() was never called.
    ~stdio_stream() override;

    void start(stream_reader& reader) noexcept override;
    void pause_reading() noexcept override;
    void resume_reading() noexcept override;
    bool write(base::chunk* bytes) noexcept override;
    bool write_static(std::string_view bytes) noexcept override;
    std::size_t queued_bytes() const noexcept override { return queue_.bytes(); }
    // There is no half-close of a shared descriptor: remembered, nothing more can be written.
    void shutdown_write() noexcept override;
    void close(bool flush) noexcept override;
    std::string_view peer() const noexcept override { return "stdio"; }
    std::string_view peer_address() const noexcept override { return {}; }

 private:
    static void on_read(op& self, const completion& what) noexcept;
    static void on_write(op& self, const completion& what) noexcept;

    void read_done(std::int32_t res) noexcept;
    void deliver() noexcept;
    void write_done(std::int32_t res) noexcept;
    bool wrote() noexcept;
    bool writable() const noexcept { return phase_ == phase::open && !shut_; }
    void arm_read() noexcept;
    void flush() noexcept override;
    void fail(int os_errno) noexcept;
    void tear_down() noexcept;
    void finish() noexcept;

    struct stream_op : transfer_op {
        stream_op(handler h, stdio_stream& s) noexcept : transfer_op(h), owner(&s) {}
        stdio_stream* owner;
    };

    enum class phase : std::uint8_t { created, open, flushing, tearing, closed };

    static constexpr std::size_t read_bytes = 48 * 1024;

    reactor& reactor_;
    stream_reader* reader_ = nullptr;
    int in_fd_;
    int out_fd_;
    int broke_ = 0;  // the errno that ended it
    phase phase_ = phase::created;
    bool paused_ = false;
    bool eof_ = false;
    bool eof_told_ = false;
    bool over_high_ = false;
    bool shut_ = false;
    std::size_t held_ = 0;  // bytes that were read but not delivered yet (paused)
    base::chunk* in_ = nullptr;
    stream_op read_{&stdio_stream::on_read, *this};
    stream_op write_{&stdio_stream::on_write, *this};
    out_queue queue_;
    iovec parts_[out_queue::gather_max];
};

}  // namespace pillion::io
