// fan_out: streams of subscriptions/listen (2026-07-28) that wait for changes, and the round in
// which each of them is to hear of one.
//
// Thread: its shard.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "connection.hpp"

namespace pillion::load {

// Who causes the changes.
class fan_out_watcher {
 public:
    // A listener has heard of the change of this round, for the first time.
    virtual void on_change(std::int64_t at_ns) noexcept = 0;
    // A stream could not be had, or ended; it is begun anew.
    virtual void on_stream_failed(const verdict& how, std::string_view example) noexcept = 0;
    virtual void on_bytes(std::size_t in, std::size_t out) noexcept = 0;

 protected:
    ~fan_out_watcher() = default;
};

class fan_out final : private connection_watcher {
 public:
    // `like` says where to, how and by whose judgement; `listening` is what its scenario would be.
    fan_out(const connection_plan& like, const scenario& listening, std::size_t listeners,
            fan_out_watcher& watcher);
    fan_out(const fan_out&) = delete;
    fan_out& operator=(const fan_out&) = delete;
    // REQUIRES: is_gone(), or open() was never called.
    ~fan_out();

    void open();
    bool is_ready() const noexcept { return ready_ == all_.size(); }
    // From now on each listener has still to hear of a change.
    void begin_round() noexcept;
    // How many have not.
    std::size_t missing() const noexcept { return missing_; }
    void look_at_clock() noexcept;
    void leave() noexcept;
    bool is_gone() const noexcept;

 private:
    struct listener;

    void on_free(connection& c) noexcept override;
    void on_answer(std::int64_t due_ns, std::int64_t at_ns, const verdict& how,
                   std::string_view example) noexcept override;
    void on_unasked(const verdict& how, std::string_view example) noexcept override;
    void on_failed(const verdict& how, std::string_view example) noexcept override;
    void on_reconnect() noexcept override {}
    void on_bytes(std::size_t in, std::size_t out) noexcept override;
    void heard(listener& who, json::view message) noexcept;

    connection_plan plan_;
    fan_out_watcher& watcher_;
    std::vector<std::unique_ptr<listener>> all_;
    std::size_t ready_ = 0;
    std::size_t missing_ = 0;
    std::uint64_t round_ = 0;
    bool leaving_ = false;
};

}  // namespace pillion::load
