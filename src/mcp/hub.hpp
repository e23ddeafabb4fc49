// hub: who on this shard wants to hear that something changed.
//
// Listeners are the open `subscriptions/listen` requests (2026-07-28), the GET streams of legacy
// sessions and the stdio pipe. A publisher posts one event to every shard; each hub walks its own
// list, so nothing here is locked. Thread: its shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "base/intrusive_list.hpp"
#include "mcp/task_record.hpp"

namespace pillion::mcp {

enum class change : std::uint8_t { tools, prompts, resources, resource_updated };

class session;

// What changed; `uri` only for resource_updated. Numbers grow in the order of publication, which is
// the order in which every shard hears of them.
struct change_event {
    change what;
    std::string_view uri;
    std::uint64_t number = 0;
};

class change_listener : public base::list_hook<> {
 public:
    // Delivers the event if this listener asked for it. Must not add or remove listeners other
    // than itself.
    virtual void on_change(const change_event& event) noexcept = 0;
    // A task of a legacy session has changed.
    virtual void on_task_status(const task_record& /*now*/) noexcept {}
    // A legacy session has ended: its streams close.
    virtual void on_session_end(const session* which) noexcept = 0;
    // A legacy session has a new GET stream: one that only collects is not needed any more.
    virtual void on_stream_replaced(const session* /*of*/) noexcept {}
    // Another stream of a legacy session has gone, so this one may be the newest now.
    virtual void on_stream_promoted(const session* /*of*/) noexcept {}
    // The shard drains: streams end properly.
    virtual void on_drain() noexcept = 0;

 protected:
    ~change_listener() = default;
};

class hub {
 public:
    void add(change_listener& listener) noexcept { listeners_.push_back(listener); }

    // Tells every listener.
    void publish(const change_event& event) noexcept {
        if (recent_.size() == recent_max) {
            recent_.pop_front();
        }
        recent_.push_back({event.what, std::string(event.uri), event.number});
        tell([&](change_listener& l) { l.on_change(event); });
    }
    // The last events, oldest first: for a stream that takes over from one on another shard, where
    // they may have come too late.
    template <class Take>
    void recent(Take&& take) const {
        for (const kept& event : recent_) {
            take(change_event{event.what, event.uri, event.number});
        }
    }
    void task_status(const task_record& now) noexcept {
        tell([&](change_listener& l) { l.on_task_status(now); });
    }
    void session_ended(const session* which) noexcept {
        tell([&](change_listener& l) { l.on_session_end(which); });
    }
    void stream_replaced(const session* of) noexcept {
        tell([&](change_listener& l) { l.on_stream_replaced(of); });
    }
    void stream_promoted(const session* of) noexcept {
        tell([&](change_listener& l) { l.on_stream_promoted(of); });
    }
    void drain() noexcept {
        tell([](change_listener& l) { l.on_drain(); });
    }

 private:
    // A listener may unlink or destroy itself when told.
    template <class Tell>
    void tell(Tell&& one) noexcept {
        base::intrusive_list<change_listener> told;
        while (change_listener* listener = listeners_.pop_front()) {
            told.push_back(*listener);
            one(*listener);
        }
        listeners_.splice_back(told);
    }

    struct kept {
        change what;
        std::string uri;
        std::uint64_t number;
    };
    static constexpr std::size_t recent_max = 64;

    base::intrusive_list<change_listener> listeners_;
    std::deque<kept> recent_;
};

// "notifications/tools/list_changed" and so on.
constexpr std::string_view notification_of(change what) noexcept {
    switch (what) {
        case change::tools:
            return "notifications/tools/list_changed";
        case change::prompts:
            return "notifications/prompts/list_changed";
        case change::resources:
            return "notifications/resources/list_changed";
        case change::resource_updated:
            return "notifications/resources/updated";
    }
    return {};
}

}  // namespace pillion::mcp
