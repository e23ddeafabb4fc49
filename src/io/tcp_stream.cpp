#include "io/tcp_stream.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "base/limits.hpp"

namespace pillion::io {

// See http/connection.cpp.
static_assert(sizeof(tcp_stream) <= 264);

namespace {

// Messages from this size on are sent when they are written. Gathered until the end of a turn,
// those of many connections would push each other out of the caches; smaller ones do not, and share
// a system call.
constexpr std::size_t at_once_bytes_min = 16 * 1024;

}  // namespace

tcp_stream::tcp_stream(reactor& on, int fd, const peer_name& peer) noexcept
    : detail::receive_op(&tcp_stream::on_receive),
      detail::hangup_op(&tcp_stream::on_hangup),
      reactor_(on),
      fd_(fd),
      queue_(on.chunks()),
      peer_(peer) {
    const auto behind =
        reinterpret_cast<std::uintptr_t>(&reader_) - reinterpret_cast<std::uintptr_t>(&receive());
    receive().reader_at = static_cast<std::uint8_t>(behind / sizeof reader_);
}

tcp_stream::~tcp_stream() {
    PILLION_ASSERT(phase_ == phase::created || phase_ == phase::closed);
    if (phase_ == phase::created) {
        reactor_.ops().close(fd_);
    }
}

void tcp_stream::start(stream_reader& reader) noexcept {
    PILLION_ASSERT(phase_ == phase::created);
    reader_ = &reader;
    phase_ = phase::open;
    arm_receive();
    if (reactor_.ops().receive_may_miss_reset()) {
        reactor_.ops().await_hangup(hangup(), fd_);
    }
}

void tcp_stream::on_hangup(op& self, const completion& what) noexcept {
    auto& s = static_cast<tcp_stream&>(static_cast<detail::hangup_op&>(self));
    if (s.phase_ > phase::flushing) {
        return s.finish();
    }
    // An orderly end is the receive's to report. A reset may have been missed by it: cancelled, it
    // is armed again and meets whatever is left, bytes first.
    const bool reset = what.res > 0 && (what.res & (POLLERR | POLLHUP)) != 0;
    if (reset && !s.eof_ && s.receive().in_flight && !s.watching_) {
        s.reactor_.ops().cancel(s.receive());
    }
}

// Keeps the receive armed with what is wanted now: data, or while paused only the peer's hang-up.
void tcp_stream::arm_receive() noexcept {
    if (phase_ > phase::flushing || eof_) {
        return;
    }
    if (receive().in_flight) {
        // It comes back here with -ECANCELED and is armed in the other way.
        if (watching_ != paused_) {
            reactor_.ops().cancel(receive());
        }
        return;
    }
    watching_ = paused_;
    if (paused_) {
        reactor_.ops().await_hangup(receive(), fd_);
    } else {
        reactor_.ops().receive(receive(), fd_);
    }
}

void tcp_stream::pause_reading() noexcept {
    if (!paused_) {
        paused_ = true;
        arm_receive();
    }
}

void tcp_stream::resume_reading() noexcept {
    if (paused_) {
        paused_ = false;
        // What was held is delivered from flush(): never inside this call.
        if (held_ != nullptr || (eof_ && !eof_told_)) {
            reactor_.mark_dirty(*this);
        }
        arm_receive();
    }
}

void tcp_stream::on_receive(op& self, const completion& what) noexcept {
    auto& s = static_cast<tcp_stream&>(static_cast<detail::receive_op&>(self));
    if (what.res > 0 && what.data != nullptr) {
        s.received(what.data, static_cast<std::size_t>(what.res));
    } else if (!what.more) {
        s.receive_ended(what.res);
    }
}

void tcp_stream::received(char* data, std::size_t bytes) noexcept {
    // After close() the peer's bytes are of no interest any more.
    if (phase_ != phase::open) {
        return;
    }
    if (paused_ || held_ != nullptr) {
        hold(data, bytes);
    } else {
        reader_->on_data(data, bytes);
    }
}

void tcp_stream::hold(const char* data, std::size_t bytes) noexcept {
    base::chunk* kept = reactor_.chunks().take(bytes + limits::padding);
    std::memcpy(kept->data(), data, bytes);
    kept->end = static_cast<std::uint32_t>(bytes);
    base::chunk** last = &held_;
    while (*last != nullptr) {
        last = &(*last)->next;
    }
    *last = kept;
}

void tcp_stream::deliver_held() noexcept {
    while (held_ != nullptr && !paused_ && phase_ == phase::open) {
        base::chunk* kept = held_;
        // Unlinked only afterwards: bytes arriving meanwhile must queue behind it. They cannot (no
        // completion is dispatched here), but pause_reading() and close() may come.
        reader_->on_data(kept->data() + kept->begin, kept->size());
        held_ = kept->next;
        kept->next = nullptr;
        base::chunk_pool::give(kept);
    }
    if (held_ == nullptr && eof_) {
        end_of_stream();
    }
}

void tcp_stream::receive_ended(std::int32_t res) noexcept {
    const bool watched = std::exchange(watching_, false);
    if (phase_ > phase::flushing) {
        return finish();
    }
    switch (res) {
        case 0:
            eof_ = true;
            return end_of_stream();
        case -ENOBUFS:  // all buffers are lent: they are back before this takes effect
        case -ECANCELED:
        case -EINTR:
        case -EAGAIN:
            return arm_receive();
        default:
            break;
    }
    if (res < 0) {
        return fail(-res);
    }
    if (!watched) {
        return arm_receive();
    }
    if ((res & (POLLERR | POLLHUP)) != 0) {
        return fail(ECONNRESET);
    }
    // The peer finished while reading was paused. With unread bytes in front the end is not
    // reported yet: resuming will meet both, in order.
    if (!paused_) {
        return arm_receive();
    }
    if (held_ != nullptr || reactor_.ops().unread_bytes(fd_) > 0) {
        return;
    }
    eof_ = true;
    if (phase_ == phase::open && !eof_told_) {
        eof_told_ = true;
        reader_->on_eof();
    }
}

void tcp_stream::end_of_stream() noexcept {
    if (phase_ == phase::open && !eof_told_ && !paused_ && held_ == nullptr) {
        eof_told_ = true;
        reader_->on_eof();
    }
}

bool tcp_stream::write(base::chunk* bytes) noexcept {
    if (!writable()) {
        base::chunk_pool::give(bytes);
        return true;
    }
    // Shared text is in the caches already, and nobody may say of it what is sent.
    if (bytes != nullptr && bytes->size() >= at_once_bytes_min && bytes->shares == 0 &&
        queue_.empty() && send_ == nullptr) {
        send_at_once(*bytes);
    }
    queue_.push(bytes);
    return wrote();
}

// What is not sent, or why nothing was, the send at the end of the turn meets again.
void tcp_stream::send_at_once(base::chunk& bytes) noexcept {
    const std::ptrdiff_t sent =
        reactor_.ops().send_at_once(fd_, bytes.data() + bytes.begin, bytes.size());
    bytes.begin += sent > 0 ? static_cast<std::uint32_t>(sent) : 0;
}

bool tcp_stream::write_static(std::string_view bytes) noexcept {
    if (!writable()) {
        return true;
    }
    queue_.push_static(bytes);
    return wrote();
}

bool tcp_stream::wrote() noexcept {
    // One large message may pass the cap by itself, whatever is written around it; who goes on
    // writing to a peer that does not read is cut off.
    const std::size_t hard = reactor_.output().hard;
    if (queue_.bytes() > hard && queue_.bytes() - queue_.largest() > hard) {
        fail(ENOBUFS);
        return true;
    }
    if (send_ == nullptr && !queue_.empty()) {
        reactor_.mark_dirty(*this);
    }
    if (queue_.bytes() <= reactor_.output().high) {
        return true;
    }
    over_high_ = true;
    return false;
}

void tcp_stream::flush() noexcept {
    if (phase_ == phase::tearing) {
        return finish();
    }
    if (held_ != nullptr || (eof_ && !eof_told_)) {
        deliver_held();
    }
    if (phase_ > phase::flushing || send_ != nullptr) {
        return;
    }
    if (queue_.empty()) {
        return queue_sent();
    }
    send_ = reactor_.sends().take(&tcp_stream::on_send, this);
    iovec* parts = send_->parts;
    if (queue_.gathers_many()) {
        more_parts_ = reactor_.chunks().take(sizeof(iovec) * out_queue::gather_max);
        parts = reinterpret_cast<iovec*>(more_parts_->data());
    }
    const std::size_t count = queue_.gather(parts);
    reactor_.ops().send(*send_, fd_, parts, count);
}

void tcp_stream::on_send(op& self, const completion& what) noexcept {
    static_cast<tcp_stream*>(static_cast<send_slot&>(self).owner)->send_done(what.res);
}

void tcp_stream::send_done(std::int32_t res) noexcept {
    base::chunk_pool::give(std::exchange(more_parts_, nullptr));
    reactor_.sends().give(std::exchange(send_, nullptr));
    if (phase_ > phase::flushing) {
        return finish();
    }
    if (res < 0 && res != -EINTR && res != -EAGAIN) {
        return fail(-res);
    }
    queue_.sent(res > 0 ? static_cast<std::size_t>(res) : 0);
    if (queue_.empty()) {
        queue_sent();
    } else {
        // Together with what this turn still writes.
        reactor_.mark_dirty(*this);
    }
    if (over_high_ && queue_.bytes() < reactor_.output().low) {
        over_high_ = false;
        if (phase_ == phase::open) {
            reader_->on_drained();
        }
    }
}

// Everything has been handed to the system: what waited for that happens now.
void tcp_stream::queue_sent() noexcept {
    if (phase_ == phase::flushing) {
        return tear_down();
    }
    if (shut_requested_ && !shut_done_) {
        shut_done_ = true;
        reactor_.ops().shutdown(fd_, SHUT_WR);
    }
}

void tcp_stream::shutdown_write() noexcept {
    if (!writable()) {
        return;
    }
    shut_requested_ = true;
    if (queue_.empty() && send_ == nullptr) {
        queue_sent();
    }
}

void tcp_stream::close(bool flush) noexcept {
    if (phase_ != phase::open && phase_ != phase::flushing) {
        return;
    }
    if (!flush || (queue_.empty() && send_ == nullptr)) {
        return tear_down();
    }
    if (phase_ == phase::open) {
        phase_ = phase::flushing;
        // From now on bytes are read only to notice a reset; they are dropped.
        paused_ = false;
        arm_receive();
    }
}

bool tcp_stream::close_if_quiet() noexcept {
    if (phase_ != phase::open) {
        return true;
    }
    if (held_ != nullptr || reactor_.ops().unread_bytes(fd_) > 0) {
        return false;
    }
    // Before the teardown with its turns: the peer learns of the end while that still holds.
    reactor_.ops().shutdown(fd_, SHUT_RDWR);
    tear_down();
    return true;
}

void tcp_stream::fail(int os_errno) noexcept {
    if (phase_ <= phase::flushing) {
        broke_ = os_errno;
        tear_down();
    }
}

void tcp_stream::tear_down() noexcept {
    phase_ = phase::tearing;
    if (receive().in_flight) {
        reactor_.ops().cancel(receive());
    }
    if (hangup().in_flight) {
        reactor_.ops().cancel(hangup());
    }
    if (send_ != nullptr) {
        reactor_.ops().cancel(*send_);
        reactor_.ops().shutdown(fd_, SHUT_RDWR);
    }
    // on_closed() comes from flush(), in no one's call.
    reactor_.mark_dirty(*this);
}

void tcp_stream::finish() noexcept {
    if (receive().in_flight || send_ != nullptr || hangup().in_flight) {
        return;
    }
    phase_ = phase::closed;
    reactor_.unmark_dirty(*this);
    queue_.clear();
    while (held_ != nullptr) {
        base::chunk_pool::give(std::exchange(held_, held_->next));
    }
    reactor_.ops().close(fd_);
    reader_->on_closed(broke_);  // may destroy this
}

}  // namespace pillion::io
