#include "io/stdio_stream.hpp"

#include <cerrno>
#include <utility>

#include "base/assert.hpp"
#include "base/limits.hpp"

namespace pillion::io {

stdio_stream::stdio_stream(reactor& on, int in_fd, int out_fd) noexcept
    : reactor_(on), in_fd_(in_fd), out_fd_(out_fd), queue_(on.chunks()) {}

stdio_stream::~stdio_stream() {
    PILLION_ASSERT(phase_ == phase::created || phase_ == phase::closed);
}

void stdio_stream::start(stream_reader& reader) noexcept {
    PILLION_ASSERT(phase_ == phase::created);
    reader_ = &reader;
    phase_ = phase::open;
    in_ = reactor_.chunks().take(read_bytes + limits::padding);
    arm_read();
}

void stdio_stream::arm_read() noexcept {
    if (phase_ == phase::open && !read_.in_flight && !paused_ && !eof_ && held_ == 0) {
        reactor_.ops().read(read_, in_fd_, in_->data(), read_bytes);
    }
}

void stdio_stream::pause_reading() noexcept {
    // A read under way may finish; its bytes are held.
    paused_ = true;
}

void stdio_stream::resume_reading() noexcept {
    if (!paused_) {
        return;
    }
    paused_ = false;
    if (held_ > 0 || (eof_ && !eof_told_)) {
        reactor_.mark_dirty(*this);
    } else {
        arm_read();
    }
}

void stdio_stream::on_read(op& self, const completion& what) noexcept {
    static_cast<stream_op&>(self).owner->read_done(what.res);
}

void stdio_stream::read_done(std::int32_t res) noexcept {
    if (phase_ == phase::tearing) {
        return finish();
    }
    if (res > 0) {
        held_ = static_cast<std::size_t>(res);
    } else if (res == 0 || res == -EIO || res == -ECONNRESET) {
        eof_ = true;  // EIO: the terminal went away
    } else if (res != -EINTR && res != -EAGAIN) {
        return fail(-res);
    }
    deliver();
}

// Hands over what was read, then goes on reading.
void stdio_stream::deliver() noexcept {
    if (paused_ || phase_ != phase::open) {
        return;
    }
    if (held_ > 0) {
        reader_->on_data(in_->data(), std::exchange(held_, 0));
    } else if (eof_ && !eof_told_) {
        eof_told_ = true;
        reader_->on_eof();
    }
    arm_read();
}

bool stdio_stream::write(base::chunk* bytes) noexcept {
    if (!writable()) {
        base::chunk_pool::give(bytes);
        return true;
    }
    queue_.push(bytes);
    return wrote();
}

bool stdio_stream::write_static(std::string_view bytes) noexcept {
    if (!writable()) {
        return true;
    }
    queue_.push_static(bytes);
    return wrote();
}

bool stdio_stream::wrote() noexcept {
    // No hard cap: the reader is the process that started us, and cutting it off would lose what it
    // asked for. Who writes stops taking requests instead (write() returns false).
    if (!write_.in_flight) {
        reactor_.mark_dirty(*this);
    }
    if (queue_.bytes() <= reactor_.output().high) {
        return true;
    }
    over_high_ = true;
    return false;
}

void stdio_stream::flush() noexcept {
    if (phase_ == phase::tearing) {
        return finish();
    }
    if (held_ > 0 || (eof_ && !eof_told_)) {
        deliver();
    }
    if (phase_ > phase::flushing || write_.in_flight) {
        return;
    }
    if (queue_.empty()) {
        return phase_ == phase::flushing ? tear_down() : void();
    }
    // A write takes one piece; small ones were joined by the queue.
    queue_.gather(parts_);
    reactor_.ops().write(write_, out_fd_, static_cast<const char*>(parts_[0].iov_base),
                         parts_[0].iov_len);
}

void stdio_stream::on_write(op& self, const completion& what) noexcept {
    static_cast<stream_op&>(self).owner->write_done(what.res);
}

void stdio_stream::write_done(std::int32_t res) noexcept {
    if (phase_ == phase::tearing) {
        return finish();
    }
    if (res < 0 && res != -EINTR && res != -EAGAIN) {
        return fail(-res);
    }
    queue_.sent(res > 0 ? static_cast<std::size_t>(res) : 0);
    if (!queue_.empty() || phase_ == phase::flushing) {
        reactor_.mark_dirty(*this);
    }
    if (over_high_ && queue_.bytes() < reactor_.output().low) {
        over_high_ = false;
        if (phase_ == phase::open) {
            reader_->on_drained();
        }
    }
}

void stdio_stream::shutdown_write() noexcept { shut_ = true; }

void stdio_stream::close(bool flush) noexcept {
    if (phase_ != phase::open && phase_ != phase::flushing) {
        return;
    }
    if (!flush || (queue_.empty() && !write_.in_flight)) {
        return tear_down();
    }
    phase_ = phase::flushing;
}

void stdio_stream::fail(int os_errno) noexcept {
    if (phase_ <= phase::flushing) {
        broke_ = os_errno;
        tear_down();
    }
}

void stdio_stream::tear_down() noexcept {
    phase_ = phase::tearing;
    for (stream_op* const o : {&read_, &write_}) {
        if (o->in_flight) {
            reactor_.ops().cancel(*o);
        }
    }
    reactor_.mark_dirty(*this);
}

void stdio_stream::finish() noexcept {
    if (read_.in_flight || write_.in_flight) {
        return;
    }
    phase_ = phase::closed;
    reactor_.unmark_dirty(*this);
    queue_.clear();
    base::chunk_pool::give(std::exchange(in_, nullptr));
    reader_->on_closed(broke_);  // may destroy this
}

}  // namespace pillion::io
