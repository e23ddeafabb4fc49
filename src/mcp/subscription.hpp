// subscription: what one subscriptions/listen request wants to hear, and what it is told
// (2026-07-28, REVISIONS §11). Holds copies of the few bytes it needs, so that the request it came
// with can go. Counted with the subscribers as long as it lives. Thread: its shard.
#pragma once

#include <list>
#include <string>
#include <utility>
#include <vector>

#include "mcp/engine.hpp"
#include "mcp/hub.hpp"
#include "mcp/task_desk.hpp"

namespace pillion::mcp {

// Where a subscription's messages about tasks go.
class subscriber {
 public:
    virtual base::byte_buffer new_message() const noexcept = 0;
    virtual void send_task(base::byte_buffer message) noexcept = 0;
    // The client reads too slowly: tell_tasks() is due when there is room.
    virtual bool must_wait() const noexcept = 0;

 protected:
    ~subscriber() = default;
};

class subscription {
 public:
    // REQUIRES: the params were found good.
    subscription(const request& r, subscriber& to);
    subscription(const subscription&) = delete;
    subscription& operator=(const subscription&) = delete;
    ~subscription();

    bool wants(const change_event& event) const noexcept;

    // The first message: what will be told. Then one for each change, and the result at the end.
    void write_acknowledgement(base::byte_buffer& out) const;
    void write_change(base::byte_buffer& out, const change_event& event) const;
    void write_result(base::byte_buffer& out) const;

    // How the tasks stand of which the client does not know it: all of them at the beginning.
    void tell_tasks() noexcept;

    // The request's id as JSON.
    const std::string& id_json() const noexcept { return id_; }

 private:
    // What is heard of one task.
    class task_ear final : public task_watcher {
     public:
        task_ear(subscription& of, task_ref first) : now(std::move(first)), of_(of) {}
        void on_task(const task_ref& changed) noexcept override;

        task_ref now;
        bool untold = true;

     private:
        subscription& of_;
    };

    void hear_task(const request& r, std::string_view id);
    void tag(json::writer& w) const;

    engine& engine_;
    subscriber& to_;
    std::string id_;
    std::vector<std::string> uris_;
    std::list<task_ear> tasks_;
    bool tools_ = false;
    bool prompts_ = false;
    bool resources_ = false;
    bool lists_uris_ = false;  // resourceSubscriptions was given, if empty
};

}  // namespace pillion::mcp
