#include "answer_poster.hpp"

#include <utility>

namespace pillion::load {

void answer_poster::post(std::string request) noexcept {
    if (!leaving_ && waiting_.size() < waiting_max) {
        waiting_.push_back(std::move(request));
        go_on();
    }
}

void answer_poster::go_on() noexcept {
    if (waiting_.empty() || sent_) {
        return;
    }
    if (is_ == state::none) {
        is_ = state::opening;
        link_.open();
    } else if (is_ == state::open) {
        sent_ = true;
        link_.send(waiting_.front(), 0, 0, {});
    }
}

void answer_poster::on_open(int os_errno) noexcept {
    is_ = os_errno == 0 ? state::open : state::none;
    if (os_errno != 0) {
        waiting_.clear();
    } else if (leaving_) {
        close();
    } else {
        go_on();
    }
}

void answer_poster::on_reply(const reply_end& how) noexcept {
    waiting_.pop_front();
    sent_ = false;
    served_ = true;
    how.goes_on ? go_on() : close();
}

void answer_poster::on_lost() noexcept { close(); }

void answer_poster::close() noexcept {
    if (is_ == state::open) {
        is_ = state::closing;
        link_.close();
    }
}

// A server may end a connection between two messages at any time (RFC 9112 §9.6): what was sent
// through one that had been in use goes again, once.
void answer_poster::on_closed(int) noexcept {
    is_ = state::none;
    if (std::exchange(sent_, false) && !std::exchange(served_, false) && !waiting_.empty()) {
        waiting_.pop_front();
    }
    served_ = false;
    if (!leaving_) {
        go_on();
    }
}

void answer_poster::leave() noexcept {
    leaving_ = true;
    waiting_.clear();
    if (is_ == state::opening) {
        link_.cancel_open();
    } else if (is_ == state::closing) {
        link_.close();
    } else {
        close();
    }
}

}  // namespace pillion::load
