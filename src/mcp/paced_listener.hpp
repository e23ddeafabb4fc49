// paced_listener: a change_listener that never has more queued for its client than the client
// reads. While output waits it is told nothing; once there is room again it reads the change_board
// from where it stopped, each change once, however often it happened meanwhile. Thread: its shard.
#pragma once

#include <cstdint>

#include "mcp/engine.hpp"
#include "mcp/hub.hpp"

namespace pillion::mcp {

class paced_listener : public change_listener {
 protected:
    // Hears what is published from now on.
    explicit paced_listener(engine& e) noexcept : engine_(e), told_(e.shared().published()) {}
    ~paced_listener() = default;

    // Tells of one change, if it is wanted. False when the client reads too slowly: then
    // catch_up() is due when there is room. Must not destroy this.
    virtual bool tell(const change_event& event) noexcept = 0;
    // There was no room for limits::listener_behind_ms, and another change has come. May destroy
    // this.
    virtual void on_stalled() noexcept {}
    void catch_up() noexcept;
    // Whether it waits for room; and that it does after some other message.
    bool behind() const noexcept { return behind_since_ms_ >= 0; }
    void fall_behind() noexcept { behind_since_ms_ = engine_.now_ms(); }

    engine& engine_;

 private:
    void on_change(const change_event& event) noexcept final;
    void hear(const change_event& event) noexcept;

    std::uint64_t told_;
    std::int64_t behind_since_ms_ = -1;
};

}  // namespace pillion::mcp
