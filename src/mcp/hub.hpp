// hub: who on this shard wants to hear that something changed.
//
// Listeners are the open `subscriptions/listen` requests (2026-07-28), the GET streams of legacy
// sessions and the stdio pipe. What has changed is read from the change_board, once per turn; each
// hub walks its own list, so nothing here is locked. Thread: its shard.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/intrusive_list.hpp"
#include "mcp/task_record.hpp"

namespace pillion::mcp {

enum class change : std::uint8_t { tools, prompts, resources, resource_updated };

class session;

// What changed; `uri` only for resource_updated. Numbers grow in the order of publication, and
// every shard hears of them in that order. Of several changes of the same thing a shard may hear
// the last one only.
struct change_event {
    change what;
    std::string_view uri;
    std::uint64_t number = 0;
};

// The same with its own text.
struct kept_change {
    change what;
    std::string uri;
    std::uint64_t number;
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
    // The pipe of this process takes more again.
    virtual void on_writable() noexcept {}
    // The shard drains: streams end properly.
    virtual void on_drain() noexcept = 0;
    // The token that the stream was opened with is over (mcp/token_watch). May destroy this.
    virtual void on_token_end() noexcept {}
    // Whether what let the stream's client in still does, now that others may be let in.
    virtual bool still_let_in() const noexcept { return true; }
    // When that is, in seconds since 1970; INT64_MAX: never.
    std::int64_t token_ends_s() const noexcept { return token_ends_s_; }
    void set_token_end(std::int64_t at_s) noexcept { token_ends_s_ = at_s; }

 protected:
    ~change_listener() = default;

 private:
    std::int64_t token_ends_s_ = INT64_MAX;
};

class hub {
 public:
    // What changed up to this number was before its time. Once, before anything else.
    void begin_after(std::uint64_t number) noexcept { heard_ = number; }
    void add(change_listener& listener) noexcept { listeners_.push_back(listener); }

    // What changed, oldest first, is to be told to every listener. REQUIRES: !telling().
    void begin_telling(std::vector<kept_change> news) noexcept {
        if (!news.empty()) {
            news_ = std::move(news);
            heard_ = news_.back().number;
            waiting_.splice_back(listeners_);
        }
    }
    // Tells as many listeners as one turn should, at least one and then as long as `has_time()`, so
    // that thousands of them neither hold up requests nor need their messages in memory all at
    // once.
    template <class HasTime>
    void tell_some(HasTime&& has_time) noexcept {
        for (std::size_t told = 0; told == 0 || (told < told_per_turn && has_time());
             told += news_.size()) {
            change_listener* const listener = waiting_.pop_front();
            if (listener == nullptr) {
                break;
            }
            listeners_.push_back(*listener);
            for (const kept_change& news : news_) {
                listener->on_change({news.what, news.uri, news.number});
                if (listeners_.back() != listener) {
                    break;  // it has left
                }
            }
        }
    }
    // Somebody has still to be told.
    bool telling() const noexcept { return !waiting_.empty(); }
    // The number of the last change that was, or is being, told here.
    std::uint64_t heard() const noexcept { return heard_; }
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
    void writable() noexcept {
        tell([](change_listener& l) { l.on_writable(); });
    }
    void drain() noexcept {
        tell([](change_listener& l) { l.on_drain(); });
    }
    // Tells those whose tokens have ended. Returns when the next one does.
    std::int64_t end_tokens(std::int64_t now_s) noexcept {
        std::int64_t next_s = INT64_MAX;
        tell([&](change_listener& l) {
            if (l.token_ends_s() > now_s) {
                next_s = std::min(next_s, l.token_ends_s());
                return;
            }
            l.set_token_end(INT64_MAX);
            l.on_token_end();
        });
        return next_s;
    }
    // Others may be let in from now on: the streams of those who are not any more end.
    void judge_anew() noexcept {
        tell([](change_listener& l) {
            if (!l.still_let_in()) {
                l.set_token_end(INT64_MAX);
                l.on_token_end();
            }
        });
    }

 private:
    using listener_list = base::intrusive_list<change_listener>;

    // A listener may unlink or destroy itself when told.
    template <class Tell>
    void tell(Tell&& one) noexcept {
        tell(listeners_, one);
        tell(waiting_, one);
    }
    template <class Tell>
    static void tell(listener_list& all, Tell& one) noexcept {
        listener_list told;
        while (change_listener* listener = all.pop_front()) {
            told.push_back(*listener);
            one(*listener);
        }
        all.splice_back(told);
    }

    static constexpr std::size_t told_per_turn = 256;

    listener_list listeners_;
    listener_list waiting_;  // those who have not heard the news
    std::vector<kept_change> news_;
    std::uint64_t heard_ = 0;
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
