#include "mcp/progress_pace.hpp"

#include "base/limits.hpp"
#include "mcp/engine.hpp"
#include "mcp/replies.hpp"

namespace pillion::mcp {

namespace {

constexpr std::int64_t interval_ns = limits::progress_interval_ms * 1'000'000;
constexpr std::int64_t burst_ns = limits::progress_burst * interval_ns;

}  // namespace

progress_pace::progress_pace(request& r) noexcept
    : request_(&r), paid_ns_(r.engine.loop().now_ns() - burst_ns) {}

bool progress_pace::report(request& r, double done, double total,
                           std::string_view message) noexcept {
    if (r.pace == nullptr) {
        r.pace = r.memory.make<progress_pace>(r);
    }
    r.progressed = true;
    r.last_progress = done;
    r.engine.progress_made(r);
    progress_pace& pace = *r.pace;
    if (!pace.may_send(r.engine.loop().now_ns())) {
        pace.hold(done, total, message);
        return true;
    }
    if (pace.held_) {
        // The newer value stands for it.
        pace.held_ = false;
        r.heartbeat.cancel();
    }
    r.engine.await_heartbeat(r);
    return r.channel->notify(r, progress_message(r, done, total, message));
}

// Each message pays for one interval; what was not used lately is the burst.
bool progress_pace::may_send(std::int64_t now_ns) noexcept {
    const std::int64_t from = paid_ns_ < now_ns - burst_ns ? now_ns - burst_ns : paid_ns_;
    if (from + interval_ns > now_ns) {
        return false;
    }
    paid_ns_ = from + interval_ns;
    return true;
}

void progress_pace::hold(double done, double total, std::string_view message) noexcept {
    done_ = done;
    total_ = total;
    if (message.size() > text_room_) {
        // Room doubles, so a handler that tells much takes little of the arena.
        text_room_ = 2 * message.size();
        text_ = static_cast<char*>(request_->memory.try_allocate(text_room_, 1));
        text_room_ = text_ == nullptr ? 0 : text_room_;
    }
    text_size_ = message.size() > text_room_ ? 0 : message.copy(text_, message.size());
    if (!held_) {
        held_ = true;
        request_->engine.loop().timers().arm(request_->heartbeat, paid_ns_ + interval_ns);
    }
}

void progress_pace::postpone() noexcept {
    request_->engine.loop().arm_in_ms(request_->heartbeat, limits::progress_interval_ms);
}

bool progress_pace::flush() noexcept {
    held_ = false;
    paid_ns_ += interval_ns;
    request& r = *request_;
    const std::string_view message =
        text_size_ == 0 ? std::string_view() : std::string_view(text_, text_size_);
    return r.channel->notify(r, progress_message(r, done_, total_, message));
}

}  // namespace pillion::mcp
