// engine: the MCP server of one shard. It takes requests whose envelope and era are settled, runs
// the method, and sees each one to its end: reply, deadline, cancellation, disconnect.
//
// A handler that answers without suspending never touches the deadline wheel or the in-flight
// table: both are for those that wait. Thread: its shard.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <pillion/task.hpp>

#include "base/hash.hpp"
#include "base/intrusive_list.hpp"
#include "coro/scope.hpp"
#include "coro/stop.hpp"
#include "io/reactor.hpp"
#include "json/object_memo.hpp"
#include "mcp/client_call.hpp"
#include "mcp/hub.hpp"
#include "mcp/limiter.hpp"
#include "mcp/meters.hpp"
#include "mcp/replies.hpp"
#include "mcp/request.hpp"
#include "mcp/service.hpp"
#include "mcp/shard_part.hpp"
#include "mcp/stragglers.hpp"
#include "mcp/task_desk.hpp"
#include "mcp/token_watch.hpp"

namespace pillion::mcp {

class legacy_sse;
class stream_follower;
struct follower_tag;

class engine {
 public:
    engine(service& shared, io::reactor& loop, std::size_t shard);
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;
    // Asserts that no request is left.
    ~engine();

    io::reactor& loop() noexcept { return loop_; }
    service& shared() noexcept { return shared_; }
    // What a request that begins now is served from; valid until the next one begins.
    const registry& registered() noexcept { return *current_edition().offers; }
    std::size_t shard() const noexcept { return shard_; }
    // What this shard serves by at present; valid until it returns to its loop.
    const service_options& options() const noexcept { return *options_; }
    // From the next request on. REQUIRES: nothing in it is null.
    void change(std::shared_ptr<const service_options> to) noexcept { options_ = std::move(to); }
    limiter& limits() noexcept { return limiter_; }
    // For parsing messages of clients.
    json::object_memo& metas() noexcept { return metas_; }
    // Refusals for the metrics.
    const limit_counters& refusals() const noexcept { return limiter_.counters(); }
    // Whether this shard has more to do than it should; requests are shed then.
    bool overloaded() const noexcept { return limiter_.overloaded(under_way(), options_->limit); }
    hub& changes() noexcept { return hub_; }
    task_desk& tasks() noexcept { return tasks_; }
    token_watch& tokens() noexcept { return tokens_; }
    // What handlers of this shard share, one of each type: Part(loop, helpers) the first time.
    template <class Part>
    Part& part() {
        static const char key = 0;  // its address
        for (const kept_part& one : parts_) {
            if (one.key == &key) {
                return static_cast<Part&>(*one.it);
            }
        }
        parts_.push_back({&key, std::make_unique<Part>(loop_, shared_.blocking())});
        return static_cast<Part&>(*parts_.back().it);
    }
    std::int64_t now_ms() const noexcept { return loop_.now_ns() / 1'000'000; }

    // How many lists the requests that wait are spread over.
    static constexpr std::size_t buckets = 1024;

    // ---- for the transports ----

    // An empty request; it frees itself when replied and finished. Or free it with discard().
    request& make() noexcept;
    void discard(request& r) noexcept;

    // Runs a request whose id, params, method, rev, session and channel are set and whose
    // transport-level checks (headers, session) passed. The reply may come before it returns.
    void serve(request& r) noexcept;
    // Answers with an error and finishes (for requests that never ran).
    void refuse(request& r, const fault& why) noexcept;
    // A legacy client's notifications/cancelled. Looks on all shards: the request may run on
    // another connection's.
    void cancel(const session_ref& of, json::view request_id) noexcept;
    // The same on this shard only; `key` as key_of() makes it.
    void cancel_here(const session* of, std::string_view key) noexcept;
    // The client of this request went away. Some stop (request::ends_with_client); others run on
    // without a reply.
    void disconnected(request& r) noexcept;
    // The input of a pipe ended: every modern request that came through it has lost its client.
    // Returns how many there were.
    std::size_t disconnect_modern(const reply_channel& pipe) noexcept;
    // The pipe takes more again: whoever waits to write goes on.
    void writable() noexcept;
    // True when a suspended request of this session and id runs on this shard.
    bool running(const session* of, json::view request_id) const noexcept;

    // ---- for the methods ----

    // Sends the final message, once, with the request's HTTP status; afterwards the request has no
    // channel.
    void reply(request& r, base::byte_buffer message) noexcept {
        reply(r, std::move(message), nullptr);
    }
    // The same with the text of a chunk behind it, unless that is null: this share of it passes.
    void reply(request& r, base::byte_buffer message, base::chunk* rest) noexcept;
    void reply_error(request& r, const fault& why) noexcept;
    // Runs an asynchronous body as the request's own task and sees to deadline and cancellation.
    void run(request& r, task<> body) noexcept;
    // Runs a task beside the request's own; it must end before that does.
    void spawn(task<> body) noexcept { handlers_.spawn(std::move(body)); }
    // Makes a call whose handler has begun a task, if its client and its tool allow that; whether
    // it is one now.
    bool become_task(request& r) noexcept;
    // The request's work is done; frees it unless its reply is still due.
    void finish(request& r) noexcept;

    // The handler has said something, or begins to wait: the next sign of life is due from here.
    void await_heartbeat(request& r) noexcept;

    // ---- deadlines (engine_deadlines.cpp) ----

    // Sets the deadline of a call whose handler is known. False: `why` says that the client asks
    // for no time there is, or that too many calls of this handler were stopped and have not ended.
    bool begin_call(request& r, fault& why) noexcept;
    // The handler has told of progress: the soft deadline begins anew.
    void progress_made(request& r) noexcept;
    // The time of a question does not count against the deadline of the request that asks.
    void pause_deadline(request& r) noexcept;
    void resume_deadline(request& r) noexcept;
    // Asks the handler to stop. One that has not ended after the grace period is a straggler.
    void stop(request& r, coro::stop_reason why) noexcept;
    const stragglers& stragglers_here() const noexcept { return stragglers_; }

    // ---- questions to the client (client_call.hpp) ----

    void add_call(client_call& call) noexcept { calls_.push_back(call); }
    // Questions of this shard that wait for an answer; and the end of all of them.
    std::size_t questions() const noexcept { return calls_.count(); }
    void end_questions() noexcept;
    // Open subscriptions/listen of pipes, which stay requests; and one more or less of them.
    std::size_t pipe_listens() const noexcept { return pipe_listens_; }
    void pipe_listen_began() noexcept { ++pipe_listens_; }
    void pipe_listen_ended() noexcept { --pipe_listens_; }
    // A response arrived from session `from` (null: none): whoever waits for it on any shard gets
    // it; one that nobody waits for is dropped.
    void take_response(const session_ref& from, json::view response) noexcept;

    // ---- streams of the legacy HTTP+SSE transport (legacy_sse.hpp) ----

    void add_sse(legacy_sse& stream);
    void remove_sse(legacy_sse& stream) noexcept;
    // Hands a message to the stream of that id; dropped when it has closed meanwhile.
    void sse_message(std::string_view id, std::string_view message, const granted& rights);

    // ---- streams that clients came back to (stream_follower.hpp) ----

    void add_follower(stream_follower& f) noexcept;
    // Tells the followers on `shard` that a stream of `s` has grown or ended.
    void wake_follower(std::size_t shard, const session_ref& s, std::uint32_t number) noexcept;
    void wake_followers_here(const session* s, std::uint32_t number) noexcept;
    // Tells the calls of `s` on `shard` that wait for a slow reader to go on.
    void wake_writers(std::size_t shard, const session_ref& s) noexcept;
    void wake_writers_here(const session* s) noexcept;

    // ---- what is counted (engine_metrics.cpp) ----

    meters& counted() noexcept { return meters_; }
    // Its numbers are shown with those of this shard until it unlinks.
    void add_source(metrics_source& of) noexcept { sources_.push_back(of); }
    // All that is counted on this shard.
    void collect(base::metrics_page& to);

    // ---- draining ----

    // Ends listen streams, lets the rest finish. stop_all() asks the rest to stop as well.
    void drain() noexcept;
    void stop_all() noexcept;
    bool draining() const noexcept { return draining_.requested(); }
    std::size_t live_requests() const noexcept { return live_; }
    // Those that are the server's turn: neither tasks nor waiting for a user.
    std::size_t under_way() const noexcept {
        const std::size_t others = asking_ + tasks_.running();
        return live_ > others ? live_ - others : 0;
    }
    // Nothing is left: no request, and no task that still has to return after its request's end.
    bool idle() const noexcept { return live_ == 0 && handlers_.running() == 0; }
    // Closes the parts and turns the loop until they are idle. False: they are not in time, and
    // nothing that they use may be destroyed. REQUIRES: idle().
    bool end_parts() noexcept;
    // Requested at drain(): what serves for ever (listen streams) hangs on it.
    coro::stop_node& drain_node() noexcept { return draining_; }

    // Ends idle sessions of this shard; called by its own timer.
    void expire_sessions() noexcept;
    // Called on each shard when a session has ended: its streams end, its calls stop.
    void session_ended(session* which) noexcept;

 private:
    friend struct detail::request_state;
    static void on_deadline(io::timer& self, void* owner) noexcept;
    static void on_heartbeat(io::timer& self, void* owner) noexcept;
    static void on_sweep(io::timer& self, void* owner) noexcept;
    // The one place where what users throw is caught.
    task<> guarded(request& r, task<> body);
    void went_async(request& r) noexcept;
    void arm_deadline(request& r) noexcept;
    void answer_here(const session* from, std::string_view id, std::string_view message) noexcept;
    void maybe_free(request& r) noexcept;
    bool admit(request& r, fault& why) noexcept;
    // A tools/call whose tool has a cap.
    void run_gated(request& r);
    edition& current_edition() noexcept;
    // A request ends now, as its outcome says: counts it, and writes the call's line in the log.
    void note_end(const request& r, std::size_t bytes) noexcept;
    void drop_old_editions() noexcept;

    // methods_*.cpp
    void method_initialize(request& r);
    void method_discover(request& r);
    void method_set_level(request& r);
    void method_subscribe(request& r, bool on);
    void method_tools_list(request& r);
    void method_prompts_list(request& r);
    void method_resources_list(request& r);
    void method_templates_list(request& r);
    void method_tools_call(request& r);
    void method_prompts_get(request& r);
    void method_resources_read(request& r);
    void method_complete(request& r);
    void method_listen(request& r);
    void method_tasks_get(request& r);
    void method_tasks_list(request& r);
    void method_tasks_result(request& r);
    void method_tasks_update(request& r);
    void method_tasks_cancel(request& r);
    // Whether this call runs as a task. False when it may not run this way: with a fault, or
    // without one where the client's revision knows no tasks.
    bool choose_task(request& r, fault& why);

    using in_flight_list = base::intrusive_list<request, detail::in_flight_tag>;
    static constexpr std::size_t spare_max = 256;
    struct kept_part {
        const void* key;
        std::unique_ptr<shard_part> it;
    };

    service& shared_;
    io::reactor& loop_;
    std::size_t shard_;
    std::shared_ptr<const service_options> options_;
    hub hub_;
    coro::stop_node root_;      // everything this shard runs
    coro::stop_node draining_;  // drain() requests it
    coro::scope handlers_;
    std::array<in_flight_list, buckets> in_flight_;
    std::vector<std::unique_ptr<edition>> editions_;  // oldest first, the last one is current
    void* spare_ = nullptr;                           // freed request blocks
    std::size_t spares_ = 0;
    std::size_t live_ = 0;
    std::size_t asking_ = 0;  // of those: that wait for a user's answer
    std::size_t pipe_listens_ = 0;
    limiter limiter_;
    std::unordered_map<std::string, legacy_sse*, base::bytes_hash, std::equal_to<>> sse_;
    base::intrusive_list<stream_follower, follower_tag> followers_;
    base::intrusive_list<client_call> calls_;  // questions without an answer
    meters meters_;
    base::intrusive_list<metrics_source> sources_;
    task_desk tasks_;
    stragglers stragglers_;
    io::timer sweep_;
    token_watch tokens_;
    json::object_memo metas_{"_meta"};  // comes with every request of 2026-07-28
    std::vector<kept_part> parts_;      // in the order in which they were made
};

}  // namespace pillion::mcp
