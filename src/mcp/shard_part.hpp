// shard_part: what handlers keep for each event loop and not for each call: connections to other
// servers, children. An engine makes one of a kind when it is first asked for, and ends it after
// the last request.
//
// Thread: its loop's.
#pragma once

namespace pillion::mcp {

class shard_part {
 public:
    // REQUIRES: idle(), after close().
    virtual ~shard_part() = default;
    // Ends what is under way. Nothing is asked of it afterwards.
    virtual void close() noexcept = 0;
    // Nothing of it is in flight any more.
    virtual bool idle() const noexcept = 0;
};

}  // namespace pillion::mcp
