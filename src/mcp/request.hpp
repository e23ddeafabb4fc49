// request_state: one JSON-RPC request from its bytes to its last effect.
//
// It owns everything the handler can see (input bytes, DOM, results: all in its arena) and lives
// until the later of "reply sent" and "handler finished", independent of the connection it came
// from: a client that goes away or a deadline that passes only takes its reply channel away.
// Thread: the shard it arrived on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <pillion/context.hpp>
#include <pillion/json.hpp>

#include "base/arena.hpp"
#include "base/byte_buffer.hpp"
#include "base/intrusive_list.hpp"
#include "coro/stop.hpp"
#include "coro/sync.hpp"
#include "http/head.hpp"
#include "io/timer_wheel.hpp"
#include "mcp/caller.hpp"
#include "mcp/limit_tables.hpp"
#include "mcp/meters.hpp"
#include "mcp/method.hpp"
#include "mcp/outcome.hpp"
#include "mcp/registry.hpp"
#include "mcp/reply_channel.hpp"
#include "mcp/request_meta.hpp"
#include "mcp/revision.hpp"
#include "mcp/session.hpp"
#include "mcp/shared_pages.hpp"

namespace pillion::mcp {
class ask_chain;
class engine;
class progress_pace;
class task_run;

// A registry as one shard uses it, with the number of the shard's requests that do.
struct edition {
    std::uint64_t number = 0;
    std::shared_ptr<const registry> offers;
    meters::rows rows;  // where its tools are counted
    shared_pages pages;
    std::size_t requests = 0;
};

}  // namespace pillion::mcp

namespace pillion::detail {

struct in_flight_tag {};

struct request_state : base::list_hook<in_flight_tag> {
    request_state(mcp::engine& on, mcp::edition& from) noexcept;
    request_state(const request_state&) = delete;
    request_state& operator=(const request_state&) = delete;
    ~request_state();

    // Names what the public classes befriend.
    static result_state* state_of(const tool_result& r) noexcept { return r.state_; }
    static result_state* state_of(const prompt_result& r) noexcept { return r.state_; }
    static result_state* state_of(const resource_result& r) noexcept { return r.state_; }
    static result_state* state_of(const completion_result& r) noexcept { return r.state_; }

    static request_state& of(context& ctx) noexcept { return *ctx.state_; }
    // Requested when the handler of this context shall end.
    static coro::stop_node& stop_of(context& ctx) noexcept { return ctx.stop_node(); }

    // What the request is given, with what its _meta says.
    void set_params(json::view given) noexcept {
        params = given;
        usual = mcp::request_params::of(given);
        meta = mcp::request_meta::of(usual.meta);
    }

    // Who pays for it, and whose it is.
    void charge(const mcp::caller& who) noexcept {
        payer = who;
        payer.name = principal = memory.dup(who.name);
        if (who.limited) {
            payer.scopes = memory.dup(who.scopes);
        }
    }

    // A buffer for an outgoing message, with room for any framing in front.
    base::byte_buffer new_message() noexcept;

    // Parses a copy of `text` in the request's memory; a missing view when it is not JSON.
    json::view parse(std::string_view text, const json::parse_limits& most = {}) noexcept;

    bool modern() const noexcept { return mcp::is_modern(rev); }
    // A client that hangs up wants no more of it: a call of 2026-07-28 is cancelled (REVISIONS
    // §5.5), and a tasks/result waits only; whoever still wants to know asks again.
    bool ends_with_client() const noexcept {
        return modern() || mid == mcp::method_id::tasks_result;
    }
    // What the server offered when this request began: the same until its end.
    const mcp::registry& registered() const noexcept { return *served_from.offers; }

    mcp::engine& engine;
    mcp::edition& served_from;
    base::arena memory;
    context ctx;

    mcp::reply_channel* channel = nullptr;
    mcp::session_ref session;  // null for modern requests
    mcp::revision rev = mcp::modern;
    mcp::method_id mid = mcp::method_id::unknown;
    std::string_view method;
    std::string_view target;
    std::string_view request_id;
    trace_context trace;
    // Who is asking; empty where nobody has to say.
    std::string_view principal;
    // All the scopes it needs, with blanks between them, where it was refused for want of one.
    std::string_view lacking;
    // … and whose budgets pay for it; what it has of those for requests under way.
    mcp::caller payer;
    mcp::count_table::hold counted;

    json::view id;
    json::view params;
    mcp::request_params usual;  // members of params
    mcp::request_meta meta;     // what its _meta says
    json::view arguments;
    json::view client_capabilities;
    json::view progress_token;

    const mcp::tool* tool = nullptr;
    const mcp::prompt* prompt = nullptr;
    const mcp::resource* resource = nullptr;
    resource_provider* provider = nullptr;
    mcp::template_value* variables = nullptr;
    std::size_t variable_count = 0;
    // The HTTP head it came with; only while engine::serve() runs, null on stdio.
    const http::request_head* head = nullptr;

    mcp::ask_chain* chain = nullptr;     // modern: questions to the client
    mcp::progress_pace* pace = nullptr;  // from the first progress on

    // wanted: the call becomes a task as soon as it waits for something.
    enum class task_mode : std::uint8_t { none, wanted, running };
    task_mode as_task = task_mode::none;
    mcp::task_run* run = nullptr;  // owned; set while and after it runs as a task

    coro::stop_node stop;
    coro::event drained{true};
    io::timer deadline;
    io::timer heartbeat;
    // When it must have been answered. Progress extends it by the soft limit, up to the hard one.
    std::int64_t deadline_ns = INT64_MAX;
    std::int64_t hard_deadline_ns = INT64_MAX;
    std::int64_t soft_timeout_ns = 0;
    std::int64_t asked_timeout_ms = 0;  // by header; 0: none, negative: what it said is no time
    std::int64_t started_ns = 0;
    std::int64_t paused_ns = 0;  // since when the client is asked
    std::uint32_t asking = 0;    // questions to the client without an answer
    double last_progress = 0;
    bool progressed = false;
    bool has_log_level = false;  // modern: the request asked for log messages
    log_level threshold = log_level::emergency;

    request_state* parent = nullptr;  // a batch's holder of the shared input
    std::uint32_t children = 0;
    std::uint32_t retry_after_s = 0;  // of the error it ends with
    bool replied = false;
    bool finished = false;
    bool held_session = false;
    bool in_table = false;
    bool straggling = false;  // was stopped long ago (stragglers.hpp)
    mcp::outcome outcome;
    std::uint16_t http_status = 200;  // of the answer, where nothing was sent before it
};

}  // namespace pillion::detail
