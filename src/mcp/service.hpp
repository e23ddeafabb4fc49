// service: what all shards share: the registry, the sessions, the options, and the way to
// reach the other shards.
//
// Built by the application before the shards start and destroyed after they ended. Thread-safety:
// immutable, or safe to call from any thread where noted.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/function_ref.hpp"
#include "base/limits.hpp"
#include "crypto/key_ring.hpp"
#include "io/blocking_pool.hpp"
#include "json/document.hpp"
#include "mcp/change_board.hpp"
#include "mcp/hub.hpp"
#include "mcp/limiter.hpp"
#include "mcp/registry.hpp"
#include "mcp/result_store.hpp"
#include "mcp/session.hpp"
#include "mcp/spent_nonces.hpp"
#include "mcp/sse_directory.hpp"
#include "mcp/subscribers.hpp"
#include "mcp/task_store.hpp"

namespace pillion {
class server;
}

namespace pillion::mcp {

class engine;

// What can be configured. A shard may be given others while it runs (engine::change); those marked
// "start" count once.
struct service_options {
    std::int64_t session_idle_ms = limits::session_idle_ms;
    std::size_t sessions_max = limits::sessions_max;  // start
    std::int64_t request_timeout_ms = limits::request_timeout_ms;
    std::int64_t request_timeout_ms_max = limits::request_timeout_ms_max;
    bool timeout_header = false;  // clients may ask by X-Request-Timeout-Ms
    std::int64_t task_timeout_ms_max = limits::task_ttl_ms_max;
    std::int64_t grace_ms = limits::grace_ms;
    std::size_t stragglers_max = limits::stragglers_max;
    std::size_t result_bytes_max = limits::result_bytes_max;
    std::int64_t kept_result_ms = limits::kept_result_ms;
    std::size_t kept_result_bytes_max = limits::kept_result_bytes_max;  // start
    std::size_t request_memory_bytes_max = limits::request_memory_bytes_max;
    std::size_t body_bytes_max = limits::body_bytes_max;  // also a line of stdio
    std::size_t batch_messages_max = limits::batch_messages_max;
    std::size_t in_flight_per_pipe_max = limits::in_flight_per_connection_max;
    limit_options limit;
    // -32003 is not said to clients of 2026-07-28 (error_map.hpp).
    bool strict_e_codes = false;
    // What seals the state of calls that ask; null: a random key.
    std::shared_ptr<const crypto::key_ring> state_keys;
    // Where tasks are kept; null: in memory. start
    std::shared_ptr<task_store> tasks;

    service_options() noexcept {}  // NOLINT(modernize-use-equals-default): no aggregate
};

// A condition for /ready. `good` may be called on any shard.
struct ready_check {
    std::string name;
    std::function<bool()> good;
};

class service {
 public:
    service(std::shared_ptr<const registry> registered, pillion::server& host,
            io::offload& blocking, std::size_t shards, const service_options& options);

    // What the server offers at present, and which edition that is: engines compare the number with
    // every request and fetch the registry when it has moved. Any thread.
    std::shared_ptr<const registry> registered() const;
    std::uint64_t edition() const noexcept { return edition_.load(std::memory_order_acquire); }
    // From now on requests are served from `next`.
    void replace(std::shared_ptr<const registry> next);

    pillion::server& host() noexcept { return host_; }
    io::offload& blocking() noexcept { return blocking_; }
    session_table& sessions() noexcept { return sessions_; }
    // What the shards begin with; nothing in it is null.
    const std::shared_ptr<const service_options>& options() const noexcept { return options_; }
    task_store& tasks() const noexcept { return *options_->tasks; }
    // Whether the configuration file was good when it was last read; /ready tells. Any thread.
    void note_configuration(bool good) noexcept {
        configured_.store(good, std::memory_order_relaxed);
    }
    bool configured() const noexcept { return configured_.load(std::memory_order_relaxed); }
    // What /ready asks besides; set before the shards start.
    void set_ready_checks(std::vector<ready_check> checks) { ready_checks_ = std::move(checks); }
    const std::vector<ready_check>& ready_checks() const noexcept { return ready_checks_; }
    // Changes a task (task_store::change) and tells everybody who watches it, on every shard: of
    // one task in the order of its changes, so that the last that is heard is what it came to. Any
    // thread.
    task_store::change_result change_task(std::string_view id, std::int64_t now_ms,
                                          base::function_ref<bool(task_record&)> edit);
    std::size_t shards() const noexcept { return engines_.size(); }
    // `{}`, for calls without arguments. Any thread.
    json::view empty_object() const noexcept { return empty_object_.root(); }

    // A shard joins when its engine exists and leaves before it dies. The engine's own thread.
    void join(std::size_t shard, engine& e) noexcept;
    void leave(std::size_t shard) noexcept;

    // Runs `job` on every shard's thread that is up, in one of its next turns. Any thread.
    void broadcast(const std::function<void(engine&)>& job);

    // The open streams of the legacy HTTP+SSE transport. Any thread.
    sse_directory& sse_streams() noexcept { return sse_streams_; }

    // Who wants to hear about which resources. Any thread.
    subscribers& subscriptions() noexcept { return subscribers_; }
    // That session has ended; may be said more than once. Any thread.
    void end_subscriptions(session& of);

    // What callers have used of their budgets. Any thread.
    shared_limits& budgets() noexcept { return budgets_; }
    // Questions to clients that wait for an answer, on all shards: while there are any, whatever
    // comes in a session may be one. Any thread.
    void question_asked() noexcept { questions_.fetch_add(1, std::memory_order_relaxed); }
    void question_ended() noexcept { questions_.fetch_sub(1, std::memory_order_relaxed); }
    bool asks_somebody() const noexcept { return questions_.load(std::memory_order_relaxed) > 0; }

    // Answers that have counted once. Any thread.
    spent_nonces& spent() noexcept { return spent_; }

    // Results that were cut, whole. Any thread.
    result_store& results() noexcept { return results_; }

    // Runs `job` on one shard's thread, if it is up. Any thread.
    void post_to(std::size_t shard, std::function<void(engine&)> job);

    // Tells every listener on every shard, in one of its next turns: what is published until then
    // is told once. What a shard publishes itself it tells at the end of its turn, and the others
    // hear of it from there. Any thread.
    void publish(change what, std::string_view uri = {});
    // What was published. Any thread.
    const change_board& changes() const noexcept { return board_; }
    std::uint64_t published() const noexcept { return board_.last(); }

 private:
    struct slot {
        std::mutex mutex;  // a shard may leave while another posts to it
        mcp::engine* up = nullptr;
        std::thread::id thread;  // of `up`
        bool reads = false;      // has been asked to read the board
        bool passes_on = false;  // … and to ask the other shards then
    };

    void read_board_on(std::size_t shard) noexcept;
    void read_board(std::size_t shard) noexcept;
    bool is_this_thread(slot& s) noexcept;

    change_board board_;
    mutable std::mutex registry_mutex_;  // guards registry_
    std::shared_ptr<const registry> registry_;
    std::atomic<std::uint64_t> edition_{1};
    pillion::server& host_;
    io::offload& blocking_;
    std::shared_ptr<const service_options> options_;
    std::mutex task_mutex_;  // a task is changed and told of in one step
    std::atomic<bool> configured_{true};
    std::vector<ready_check> ready_checks_;
    session_table sessions_;
    json::document empty_object_;
    sse_directory sse_streams_;
    subscribers subscribers_;
    spent_nonces spent_;
    result_store results_;
    shared_limits budgets_;
    std::atomic<std::size_t> questions_{0};
    std::vector<std::unique_ptr<slot>> engines_;
};

}  // namespace pillion::mcp
