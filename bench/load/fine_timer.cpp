#include "fine_timer.hpp"

#include <sys/timerfd.h>
#include <time.h>
#include <utility>

namespace pillion::load {

bool fine_timer::start() noexcept {
    fd_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (fd_ >= 0) {
        read();
    }
    return fd_ >= 0;
}

void fine_timer::read() noexcept {
    loop_.ops().read(read_, fd_, expirations_, sizeof expirations_);
}

void fine_timer::on_read(io::op& self, const io::completion&) noexcept {
    fine_timer& t = *static_cast<read_op&>(self).owner;
    t.armed_ns_ = 0;
    if (t.stopping_) {
        t.loop_.ops().close(std::exchange(t.fd_, -1));
    } else {
        t.read();
    }
}

void fine_timer::arm(std::int64_t at_ns) noexcept {
    if (fd_ < 0 || armed_ns_ == at_ns) {
        return;
    }
    armed_ns_ = at_ns;
    itimerspec when{};
    when.it_value = {at_ns / 1'000'000'000, at_ns % 1'000'000'000};
    ::timerfd_settime(fd_, TFD_TIMER_ABSTIME, &when, nullptr);
}

void fine_timer::stop() noexcept {
    if (fd_ >= 0 && !stopping_) {
        stopping_ = true;
        loop_.ops().cancel(read_);
    }
}

}  // namespace pillion::load
