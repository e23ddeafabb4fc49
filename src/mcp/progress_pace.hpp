// progress_pace: what a handler tells of its progress, at a pace that clients can use (STANDARD row
// 66). Values only rise. Beyond a burst, one message goes out per interval, the newest; what is
// held back follows when the interval is over, or right before the answer.
//
// Made in the arena of a request by its first ctx.progress(), so calls that tell nothing pay
// nothing. The request's heartbeat timer serves both: nothing is silent that holds something back.
// Thread: the request's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "mcp/request.hpp"

namespace pillion::mcp {

class progress_pace {
 public:
    // Takes a value that is finite and larger than the last one. False when the client reads too
    // slowly: then the request's drained event is set when there is room again.
    // REQUIRES: the request has a token and a channel.
    static bool report(request& r, double done, double total, std::string_view message) noexcept;

    // Whether something is held back.
    bool holds() const noexcept { return held_; }
    // Sends it. False as above.
    bool flush() noexcept;
    // The client has not read what it got: later.
    void postpone() noexcept;

 private:
    explicit progress_pace(request& r) noexcept;
    friend class base::arena;

    bool may_send(std::int64_t now_ns) noexcept;
    void hold(double done, double total, std::string_view message) noexcept;

    request* request_;
    std::int64_t paid_ns_;  // the burst ends when this reaches the clock
    bool held_ = false;
    double done_ = 0;
    double total_ = 0;
    char* text_ = nullptr;
    std::size_t text_size_ = 0;
    std::size_t text_room_ = 0;
};

}  // namespace pillion::mcp
