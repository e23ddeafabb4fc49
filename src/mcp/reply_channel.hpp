// reply_channel: the way back from a request to its client, whatever the transport.
//
// A channel is told every outgoing message of its request as finished JSON text in a byte_buffer
// with http::exchange::head_gap room in front, so that each transport frames it in place. It is
// detached (the request's pointer is cleared) by whoever ends the relation first: the final reply,
// a disconnect or a cancellation. Thread: the request's shard.
#pragma once

#include <cstdint>
#include <utility>

#include "base/byte_buffer.hpp"

namespace pillion::detail {
struct request_state;
}

namespace pillion::http {
class exchange;
}

namespace pillion::mcp {

using request = detail::request_state;

class reply_channel {
 public:
    // A notification that belongs to the request. Returns false when the client reads too slowly;
    // the request's drained event is set when there is room again.
    virtual bool notify(request& r, base::byte_buffer message) noexcept = 0;
    // The final message. `http_status` counts where nothing was sent yet. Detaches.
    virtual void reply(request& r, base::byte_buffer message,
                       std::uint16_t http_status) noexcept = 0;
    // The same with the text of a chunk behind `message`, which many answers share
    // (chunk_pool::share()); this owner's part of it passes.
    virtual void reply_shared(request& r, base::byte_buffer message, base::chunk& rest,
                              std::uint16_t http_status) noexcept {
        message.append({rest.data() + rest.begin, rest.size()});
        base::chunk_pool::give(&rest);
        reply(r, std::move(message), http_status);
    }
    // The client cancelled it: no reply will come. Detaches.
    virtual void drop(request& r) noexcept = 0;
    // Lets the client go before the answer: it is asked to come back for the rest after
    // `retry_ms`. False where the revision or the transport cannot.
    virtual bool release(request& r, std::int64_t retry_ms) noexcept {
        static_cast<void>(r);
        static_cast<void>(retry_ms);
        return false;
    }
    // Gives the HTTP exchange away for an event stream that lives on without the request; it has
    // begun. Detaches. Null where there is none to give.
    virtual http::exchange* hand_over(request& r) noexcept {
        static_cast<void>(r);
        return nullptr;
    }
    // Whether somebody hears what is said now. If not, it is kept for who may come back.
    virtual bool is_heard() const noexcept { return true; }
    // Whether the reply's HTTP status tells the client how it went.
    virtual bool has_status() const noexcept { return false; }
    // True for stdio, where nothing but messages tells the client that a stream has ended.
    virtual bool is_pipe() const noexcept { return false; }

 protected:
    ~reply_channel() = default;
};

}  // namespace pillion::mcp
