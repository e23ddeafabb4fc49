#include "io/file_watch.hpp"

#include <sys/inotify.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/assert.hpp"

namespace pillion::io {

file_watch::file_watch(reactor& on, base::unique_function<void()> on_change,
                       std::int64_t quiet_ms) noexcept
    : reactor_(on), on_change_(std::move(on_change)), quiet_ms_(quiet_ms) {}

file_watch::~file_watch() { PILLION_ASSERT(closed()); }

bool file_watch::change(const std::vector<std::string>& paths) {
    if (closing_) {
        return false;
    }
    if (!closed()) {
        return take(paths);
    }
    // Blocking on purpose, as with signals: older kernels do not poll another one for io_uring.
    fd_ = ::inotify_init1(IN_CLOEXEC);
    if (fd_ < 0) {
        return false;
    }
    folders_.clear();
    if (!take(paths)) {
        reactor_.ops().close(std::exchange(fd_, -1));
        return false;
    }
    if (started_) {
        arm();
    }
    return true;
}

void file_watch::start() noexcept {
    started_ = true;
    if (!closed()) {
        arm();
    }
}

// Whether anything is watched now. A folder that was and is has one number.
bool file_watch::take(const std::vector<std::string>& paths) {
    std::vector<int> next;
    names_.clear();
    for (const std::string& path : paths) {
        const std::size_t slash = path.rfind('/');
        const std::string folder = slash == path.npos ? "." : path.substr(0, slash + 1);
        names_.push_back(slash == path.npos ? path : path.substr(slash + 1));
        const int number = ::inotify_add_watch(
            fd_, folder.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_ONLYDIR);
        if (number >= 0) {
            next.push_back(number);
        }
    }
    for (const int one : folders_) {
        if (std::find(next.begin(), next.end(), one) == next.end()) {
            ::inotify_rm_watch(fd_, one);
        }
    }
    folders_ = std::move(next);
    return !folders_.empty();
}

void file_watch::arm() noexcept { reactor_.ops().read(read_, fd_, events_, sizeof events_); }

void file_watch::close() noexcept {
    timer_.cancel();
    if (std::exchange(closing_, true) || closed()) {
        return;
    }
    if (started_) {
        reactor_.ops().cancel(read_);
    } else {
        reactor_.ops().close(std::exchange(fd_, -1));
    }
}

void file_watch::on_read(op& self, const completion& what) noexcept {
    static_cast<read_op&>(self).owner->read_done(what.res);
}

void file_watch::on_timer(timer&, void* owner) noexcept {
    static_cast<file_watch*>(owner)->on_change_();
}

void file_watch::read_done(std::int32_t res) noexcept {
    if (closing_) {
        return reactor_.ops().close(std::exchange(fd_, -1));
    }
    if (res > 0) {
        if (concerns(events_, static_cast<std::size_t>(res))) {
            reactor_.arm_in_ms(timer_, quiet_ms_);
        }
        return arm();
    }
    // Only a passing failure is tried again, anything else would spin.
    if (res == -EINTR || res == -EAGAIN) {
        return arm();
    }
    reactor_.ops().close(std::exchange(fd_, -1));
}

bool file_watch::concerns(const char* events, std::size_t bytes) const noexcept {
    for (std::size_t at = 0; at + sizeof(inotify_event) <= bytes;) {
        inotify_event event;
        std::memcpy(&event, events + at, sizeof event);
        const char* const name = events + at + sizeof event;
        at += sizeof event + event.len;
        if ((event.mask & IN_Q_OVERFLOW) != 0) {
            return true;
        }
        const std::string_view text(name, ::strnlen(name, event.len));
        const auto means = [text](std::string_view one) {
            return one.starts_with('*') ? text.ends_with(one.substr(1)) : text == one;
        };
        if (text.starts_with("..") || std::any_of(names_.begin(), names_.end(), means)) {
            return true;
        }
    }
    return false;
}

}  // namespace pillion::io
