// bridged_call: one call of a client that a server behind us answers, as both ends see it: the
// handler on its shard, and the server's loop, which may be another one.
//
// What the server says is queued, and the handler woken wherever it is at that moment: a client of
// 2026-07-28 that is asked something comes back with another request, and the call goes on where it
// was (bridge_desk.hpp).
//
// Ownership: shared by both ends. Thread-safety: the queue has a lock; the rest says whose it is.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coro/sync.hpp"
#include "mcp/service.hpp"

namespace pillion::sidecar {

struct call_event {
    enum class kind : std::uint8_t { progress, log, question, result, error };
    kind what = kind::error;
    double done = 0;   // progress
    double total = 0;  // 0: not known
    // progress: its message. log, question: params, as JSON. result: JSON. error: its message.
    std::string text;
    std::string method;       // question
    std::string id;           // question: of the server's request, as JSON
    std::uint64_t asked = 0;  // question: which of all that servers have asked
    int code = 0;             // error
    std::string data;         // error: JSON, or empty

    call_event() {}  // NOLINT(modernize-use-equals-default): no aggregate
};

class bridged_call final : public std::enable_shared_from_this<bridged_call> {
 public:
    // Events that wait for a handler, whose client may read slowly.
    static constexpr std::size_t events_max = 256;

    // What is asked, and by whom.
    struct request {
        std::string method;
        std::string params;               // its members but for _meta, as JSON without the braces
        std::string capabilities;         // what the client can be asked, as JSON
        std::string log_level;            // the least that it wants to hear; empty: nothing
        std::string owner;                // who must come back for it; empty: has no name
        std::uint32_t roots_changes = 0;  // that the client has told of so far
    };
    bridged_call(mcp::service& shared, request what) : what_(std::move(what)), shared_(shared) {}

    // Constant.
    const request& asked() const noexcept { return what_; }

    // ---- the handler's end ----

    // From now on `arrived` is set on `shard`, this thread's, whenever there are events. Whoever
    // was attached is overtaken: a client may send a round twice. Its own is set, too, and it gets
    // no event any more.
    void attach(std::size_t shard, coro::event& arrived);
    // Must follow. False: it was overtaken.
    bool detach(const coro::event& arrived);
    bool is_overtaken(const coro::event& arrived);
    // Any thread: a handler is attached.
    bool is_attended();
    // The oldest event, if there is one: it stays until pop(), so that whoever comes next sees it
    // again.
    std::optional<call_event> front(coro::event& arrived);
    void pop(const coro::event& arrived);

    // ---- the server's end; the server's loop ----

    // Queues an event. After a result or an error there is nothing more. False: it says too much
    // while nobody listens, and is told so by being dropped; never a result or an error.
    bool push(call_event what);
    std::uint64_t number = 0;  // of the request to the server; 0: none
    bool was_refused = false;  // by a server that had forgotten its session

 private:
    struct listener {
        std::size_t shard = 0;
        coro::event* arrived = nullptr;
    };

    void wake_on(std::size_t shard);
    void wake(std::size_t shard);

    request what_;
    mcp::service& shared_;
    std::mutex mutex_;  // guards the rest
    std::deque<call_event> events_;
    listener now_;                     // null: nobody listens
    std::vector<listener> overtaken_;  // that have not detached yet
};

}  // namespace pillion::sidecar
