// tcp_stream: io::stream over a connected socket (TCP or unix), on any backend.
//
// One multishot receive is armed while reading; one send is in flight at most, everything queued
// meanwhile leaves in the next one, at the end of a turn. Teardown: no new sends → cancel what is
// in flight → when the last completion is in: close, then on_closed(), once, at the end of a turn
// (never from inside a call of the owner).
// Steady state: no heap. Thread: its shard.
#pragma once

#include <sys/uio.h>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "io/op.hpp"
#include "io/out_queue.hpp"
#include "io/reactor.hpp"
#include "io/send_slots.hpp"
#include "io/socket.hpp"
#include "io/stream.hpp"

namespace pillion::io {

namespace detail {

// The two operations of a tcp_stream that may be under way all its life. They are bases of it, so
// that a completion finds its stream without a pointer.
struct receive_op : op {
    using op::op;
};
struct hangup_op : op {
    using op::op;
};

}  // namespace detail

class tcp_stream final : public stream,
                         private flushable,
                         private detail::receive_op,
                         private detail::hangup_op {
 public:
    // Takes ownership of `fd`, a connected non-blocking socket.
    tcp_stream(reactor& on, int fd, const peer_name& peer) noexcept;
    tcp_stream(const tcp_stream&) = delete;
    tcp_stream& operator=(const tcp_stream&) = delete;
    // REQUIRES: on_closed() was delivered, or start() was never called.
    ~tcp_stream() override;

    void start(stream_reader& reader) noexcept override;
    void pause_reading() noexcept override;
    void resume_reading() noexcept override;
    bool write(base::chunk* bytes) noexcept override;
    bool write_static(std::string_view bytes) noexcept override;
    std::size_t queued_bytes() const noexcept override { return queue_.bytes(); }
    bool congested() const noexcept override { return over_high_; }
    void shutdown_write() noexcept override;
    void close(bool flush) noexcept override;
    bool close_if_quiet() noexcept override;
    std::string_view peer() const noexcept override { return peer_.view(); }
    std::string_view peer_address() const noexcept override { return peer_.address(); }
    std::string_view peer_principal() const noexcept override { return peer_.principal(); }

    int fd() const noexcept { return fd_; }

 private:
    static void on_receive(op& self, const completion& what) noexcept;
    static void on_send(op& self, const completion& what) noexcept;
    static void on_hangup(op& self, const completion& what) noexcept;

    op& receive() noexcept { return static_cast<detail::receive_op&>(*this); }
    // Under way where receives may miss a reset.
    op& hangup() noexcept { return static_cast<detail::hangup_op&>(*this); }
    void received(char* data, std::size_t bytes) noexcept;
    void receive_ended(std::int32_t res) noexcept;
    void hold(const char* data, std::size_t bytes) noexcept;
    void deliver_held() noexcept;
    void end_of_stream() noexcept;
    void send_done(std::int32_t res) noexcept;
    void send_at_once(base::chunk& bytes) noexcept;
    bool wrote() noexcept;
    bool writable() const noexcept { return phase_ == phase::open && !shut_requested_; }
    void arm_receive() noexcept;
    void flush() noexcept override;
    void queue_sent() noexcept;
    void fail(int os_errno) noexcept;
    void tear_down() noexcept;
    void finish() noexcept;

    enum class phase : std::uint8_t { created, open, flushing, tearing, closed };

    reactor& reactor_;
    stream_reader* reader_ = nullptr;
    int fd_;
    int broke_ = 0;  // the errno that ended it
    phase phase_ = phase::created;
    bool paused_ = false;
    bool eof_ = false;        // the peer finished
    bool eof_told_ = false;   // … and the reader knows
    bool watching_ = false;   // the receive waits for a hang-up instead of data
    bool over_high_ = false;  // write() returned false: owes on_drained()
    bool shut_requested_ = false;
    bool shut_done_ = false;
    base::chunk* held_ = nullptr;  // what still arrived after pause_reading(), in order
    out_queue queue_;
    send_slot* send_ = nullptr;          // in flight
    base::chunk* more_parts_ = nullptr;  // in place of the slot's while a longer gather is out
    peer_name peer_;
};

}  // namespace pillion::io
