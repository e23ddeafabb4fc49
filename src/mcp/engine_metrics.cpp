// What an engine counts and logs of its requests, and what it shows of its shard.
#include "base/log_line.hpp"
#include "base/process_stats.hpp"
#include "coro/frame_pool.hpp"
#include "mcp/engine.hpp"

namespace pillion::mcp {

namespace {

bool runs_handler(method_id m) noexcept {
    return m == method_id::tools_call || m == method_id::prompts_get ||
           m == method_id::resources_read;
}

// Where a call is counted: the row of its tool or prompt.
std::uint32_t row_of(const request& r) noexcept {
    const registry& offers = r.registered();
    if (r.tool != nullptr) {
        return r.served_from.rows.tools[static_cast<std::size_t>(r.tool - offers.tools().data())];
    }
    if (r.prompt != nullptr) {
        return r.served_from.rows
            .prompts[static_cast<std::size_t>(r.prompt - offers.prompts().data())];
    }
    return meters::other;
}

// One line a call (STANDARD row 108); never arguments, tokens or bodies.
void log_call(const request& r, std::int64_t now_ns, std::int64_t duration_us,
              std::size_t bytes) noexcept {
    using log::kv;
    using log::kv_word;
    // The method is one that is known.
    log::info_at(now_ns, "mcp.call", kv_word("method", r.method), kv("target", r.target),
                 kv("request_id", r.request_id), kv("duration_us", duration_us),
                 kv_word("status", r.outcome), kv("bytes", bytes),
                 log::kv_unless_empty("principal", r.principal),
                 log::kv_unless_empty("trace_id", r.trace.trace_id()));
}

}  // namespace

void engine::note_end(const request& r, std::size_t bytes) noexcept {
    const std::int64_t now_ns = loop_.clock_ns();
    const std::int64_t spent_ns = now_ns - r.started_ns;
    meters_.ended(r.mid, row_of(r), r.outcome, spent_ns);
    if (runs_handler(r.mid) && log::enabled(log::level::info)) {
        log_call(r, now_ns, spent_ns / 1000, bytes);
    }
}

void engine::collect(base::metrics_page& to) {
    meters_.collect(to);
    to.gauge("mcp_server_requests_in_flight",
             "Requests that have begun and have not ended, those that ignore their stop included.",
             static_cast<double>(live_));
    to.gauge("mcp_server_questions_open", "Questions to clients that wait for an answer.",
             static_cast<double>(questions()));
    to.gauge("pillion_handlers_straggling",
             "Handlers that were stopped and have not ended when their grace was over.",
             static_cast<double>(stragglers_.now()));
    to.counter("pillion_stragglers_total", "How many of them there ever were.",
               stragglers_.total());
    limiter_.counters().collect(to);
    to.gauge("pillion_threads", "Event loops, by what they wait with.", 1,
             {{"io", loop_.ops().name()}});
    to.counter("pillion_loop_turns_total", "Turns of the event loops.", loop_.turns());
    to.counter("pillion_loop_stalls_total",
               "Turns that took more than 10 ms: something blocked a loop.", loop_.slow_turns());
    to.highest("pillion_loop_stall_longest_seconds", "The longest turn so far.",
               static_cast<double>(loop_.slowest_turn_ns()) / 1e9);
    base::show_memory(to, "chunks", loop_.chunks().bytes());
    base::show_memory(to, "coroutines", coro::frame_pool::bytes());
    to.gauge("pillion_chunks_in_use", "Blocks of memory that hold input, arenas and output.",
             static_cast<double>(loop_.chunks().live()));
    for (const metrics_source& one : sources_) {
        one.collect(to);
    }
}

}  // namespace pillion::mcp
