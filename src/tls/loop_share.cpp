#include "tls/loop_share.hpp"

#include "base/assert.hpp"
#include "base/limits.hpp"

namespace pillion::tls {

loop_share::loop_share(io::reactor& loop) noexcept : loop_(loop) { run = &loop_share::run_waiting; }

loop_share::~loop_share() { PILLION_ASSERT(idle()); }

char* loop_share::record() noexcept {
    if (record_ == nullptr) {
        record_.reset(new char[record_bytes_max + limits::padding]());
    }
    return record_.get();
}

bool loop_share::begin_step() noexcept {
    if (turn_ != loop_.turns()) {
        turn_ = loop_.turns();
        spent_ns_ = 0;
    }
    // Whoever comes now is behind those that wait already.
    if (spent_ns_ >= limits::tls_turn_ns || (!waiting_.empty() && !serving_)) {
        return false;
    }
    began_ns_ = loop_.clock_ns();
    return true;
}

void loop_share::end_step() noexcept { spent_ns_ += loop_.clock_ns() - began_ns_; }

void loop_share::wait(handshake_waiter& one) noexcept {
    waiting_.push_back(one);
    run_later();
}

void loop_share::run_later() noexcept {
    if (!queued_) {
        queued_ = true;
        coro::ready_queue::current().push(*this);
    }
}

void loop_share::run_waiting(coro::ready_node& self) noexcept {
    auto& me = static_cast<loop_share&>(self);
    me.queued_ = false;
    me.serving_ = true;
    while (!me.waiting_.empty() && me.begin_step()) {
        me.waiting_.pop_front()->handshake_turn();
    }
    me.serving_ = false;
    if (!me.waiting_.empty()) {
        me.run_later();
    }
}

}  // namespace pillion::tls
