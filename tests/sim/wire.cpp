#include "sim/wire.hpp"

#include <utility>

#include "base/limits.hpp"

namespace pillion::sim {

wire::wire(wire_owner& owner, server_world& in, std::size_t shard, journal& to, std::string name)
    : owner_(owner),
      world_(in),
      journal_(to),
      name_(std::move(name)),
      net_(in.net(shard)),
      peer_(in.connect(shard)),
      used_ns_(in.now_ns()) {
    journal_.note(world_.now_ns(), name_, "opens");
}

bool wire::usable() const {
    return !gone_ && !reset_ && !finished_ && !partial_ && !garbled_ && !told_close_ &&
           !impolite_ && (pending_.empty() || pending_.back().what != exchange::kind::stands);
}

void wire::send(exchange e, std::string_view bytes) {
    send_part(std::move(e), bytes);
    partial_ = false;
}

void wire::send_part(exchange e, std::string_view bytes) {
    e.sent_ns = world_.now_ns();
    // The server may be closing a connection that nobody has used for so long.
    if (pending_.empty() &&
        world_.now_ns() - used_ns_ > (limits::idle_timeout_ms - 2000) * 1'000'000) {
        impolite_ = true;
    }
    used_ns_ = world_.now_ns();
    pending_.push_back(std::move(e));
    partial_ = true;
    journal_.note(world_.now_ns(), name_, "sends", bytes);
    peer_.send(bytes);
}

void wire::send_rest(std::string_view bytes) {
    if (gone_ || reset_ || finished_) {
        return;
    }
    // It may have been given up meanwhile.
    impolite_ = true;
    partial_ = false;
    journal_.note(world_.now_ns(), name_, "sends", bytes);
    peer_.send(bytes);
}

void wire::send_garbage(std::string_view bytes) {
    garbled_ = impolite_ = true;
    journal_.note(world_.now_ns(), name_, "garbles", bytes);
    peer_.send(bytes);
}

void wire::block(bool on) {
    if (gone_) {
        return;
    }
    journal_.note(world_.now_ns(), name_, on ? "blocks" : "reads on");
    blocked_ = on;
    impolite_ = true;  // who does not read may be cut
    still_due_ = 0;
    peer_.block(on);
}

void wire::reset() {
    if (!gone_ && !reset_) {
        journal_.note(world_.now_ns(), name_, "resets");
        reset_ = true;
        peer_.reset();
    }
}

void wire::finish(bool cuts, std::size_t answered) {
    if (!gone_ && !reset_ && !finished_) {
        journal_.note(world_.now_ns(), name_, "finishes");
        finished_ = true;
        still_due_ = impolite_ ? 0 : answered;
        impolite_ = impolite_ || cuts;
        peer_.finish();
    }
}

void wire::observe() {
    if (gone_) {
        return;
    }
    if (!peer_.received().empty()) {
        const std::string bytes = peer_.take();
        used_ns_ = world_.stale_ns();
        if (!reset_) {
            journal_.note(world_.now_ns(), name_, "reads", bytes);
            if (!reader_.feed(bytes)) {
                owner_.fail(name_ + ": " + reader_.fault());
            }
        }
    }
    if (peer_.closed()) {
        return ended();
    }
    if (peer_.saw_eof() && !blocked_) {
        told_close_ = true;
        finish(false);
    }
}

// Why the server may end a connection.
bool wire::may_end() const {
    const bool idle_long = pending_.empty() && world_.now_ns() - used_ns_ + world_.leap_ns() >=
                                                   (limits::idle_timeout_ms - 1000) * 1'000'000;
    return reset_ || finished_ || impolite_ || told_close_ || partial_ || idle_long ||
           world_.draining();
}

void wire::ended() {
    gone_ = true;
    journal_.note(world_.now_ns(), name_, "is gone");
    if (!reset_ && !reader_.finish() && !impolite_ && !world_.draining()) {
        owner_.fail(name_ + ": ended in the middle of a reply");
    }
    // What waits for a reader has its time, and time may jump.
    if (!reset_ && still_due_ > 0 && !world_.draining() && world_.leap_ns() == 0) {
        owner_.fail(name_ + ": what was answered before its client hung up is lost");
    }
    if (!may_end()) {
        owner_.fail(name_ + ": closed without a reason");
    }
    net_.forget(peer_.fd());
    owner_.on_wire_gone(*this);
}

void wire::check_quiet() {
    // Behind a half-close the kernel says nothing of a reset either until something is sent.
    if (reset_ && !gone_ && !finished_ && peer_.accepted()) {
        owner_.fail(name_ + ": a connection that was reset is still open");
    }
}

exchange& wire::first(const char* what) {
    if (pending_.empty()) {
        owner_.fail(name_ + ": " + what + " that nobody asked for");
    }
    return pending_.front();
}

void wire::on_head(const reply_head& head) {
    if (garbled_ && pending_.empty()) {
        pending_.emplace_back(exchange::kind::bent, "");
    }
    exchange& e = first("a reply");
    e.status = head.status;
    e.streamed = head.streamed();
    told_close_ = told_close_ || head.get("connection") == "close";
}

void wire::on_event(const stream_event& event) {
    exchange& e = first("an event");
    ++e.events;
    owner_.on_event(*this, e, event);
}

void wire::on_end(const reply_head& head, const std::string& body) {
    // The owner may send the next one from inside the call.
    exchange e = std::move(first("the end of a reply"));
    pending_.pop_front();
    still_due_ -= still_due_ > 0 ? 1 : 0;
    owner_.on_reply(*this, e, head, body);
}

}  // namespace pillion::sim
