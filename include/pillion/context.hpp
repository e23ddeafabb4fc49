// context: what a handler knows about the request it serves, and what it may wait for.
//
// A handler gets a context& and runs on the event loop of one thread. It must not block: wait
// with co_await, or move CPU work and blocking calls to blocking(). The context, its arguments
// and everything made from it live until the handler's coroutine has finished, also when the
// client went away or the deadline passed meanwhile.
//
// Stopping: when the client cancels, the deadline expires or the server shuts down, stopped()
// turns true and every pending co_await of this header ends early (sleep() returns false,
// progress() and log() do nothing, …). What the handler returns after that is dropped.
//
// Thread-safety: use it only from the handler's own coroutine; functions given to blocking() run
// on another thread and must not touch it.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <pillion/ask.hpp>
#include <pillion/content.hpp>
#include <pillion/json.hpp>
#include <pillion/result.hpp>
#include <pillion/task.hpp>

namespace pillion {

class server;

namespace coro {
class stop_node;
}
namespace detail {
class time_limit;
// What within() gives: a result<>, in which one that is there already is not packed again.
template <class T>
struct limited {
    using type = result<T>;
};
template <class T>
struct limited<result<T>> {
    using type = result<T>;
};
}  // namespace detail

enum class log_level : std::uint8_t {
    debug,
    info,
    notice,
    warning,
    error,
    critical,
    alert,
    emergency,
};

// asked: the client got the handler's questions instead of an answer (2026-07-28), and the handler
// runs again, from the top, when they are answered; or its answers have been used before.
enum class stop_cause : std::uint8_t { none, client, deadline, disconnected, shutdown, asked };

// Where a call stands in a distributed trace (W3C Trace Context). To pass it on to an upstream
// call, send `traceparent` with the id of a span of one's own in place of the caller's, and
// `tracestate` as it is. Views that live as long as the context they came from.
struct trace_context {
    // "00-<32 hex digits>-<16>-<2>", checked; empty when the caller sent none that is valid.
    std::string_view traceparent;
    // What tracing systems on the way have added; empty when there is none that is valid.
    std::string_view tracestate;

    // The trace, as 32 hex digits, and the caller's span, as 16; empty without a trace.
    std::string_view trace_id() const noexcept {
        return traceparent.empty() ? traceparent : traceparent.substr(3, 32);
    }
    std::string_view parent_id() const noexcept {
        return traceparent.empty() ? traceparent : traceparent.substr(36, 16);
    }
    // Whether the caller may have recorded the trace: the last bit of the flags.
    bool sampled() const noexcept {
        constexpr std::string_view odd = "13579bdf";
        return !traceparent.empty() && odd.find(traceparent[54]) != odd.npos;
    }
};

class context {
 public:
    context(const context&) = delete;
    context& operator=(const context&) = delete;

    // ---- the request ----

    // JSON-RPC method ("tools/call") and its target: tool or prompt name, or resource URI.
    std::string_view method() const noexcept;
    std::string_view target() const noexcept;
    // The protocol revision spoken ("2025-11-25").
    std::string_view protocol_version() const noexcept;
    // Correlates logs with the client (the X-Request-Id header, or one made here).
    std::string_view request_id() const noexcept;
    // The trace the caller belongs to: what `_meta` says, else the HTTP headers; empty when neither
    // says anything valid.
    trace_context trace() const noexcept;
    // Client name and version as it introduced itself; empty when it did not.
    std::string_view client_name() const noexcept;
    std::string_view client_version() const noexcept;
    // Who is asking: "https://issuer|subject" of a JWT, "token:NAME", "cert:dns:NAME", "uid:1000"
    // …; empty where nobody has to say. Tasks, sessions and what clients carry between calls are
    // his alone.
    std::string_view principal() const noexcept;
    // Whether the caller was granted a scope; true where callers are not limited to some.
    bool has_scope(std::string_view scope) const noexcept;
    // `params._meta` of the request; missing when there was none.
    json::view meta() const noexcept;
    // Whether the client declared a capability; dots descend: "sampling", "elicitation.url".
    bool client_can(std::string_view capability) const noexcept;
    // For resource templates: the value of a variable, percent-decoded; empty when absent.
    std::string_view variable(std::string_view name) const noexcept;

    // ---- results (in the request's memory) ----

    // A result with one text content, concatenated from the parts.
    template <class... Parts>
    tool_result text(const Parts&... parts) {
        const std::string_view list[] = {std::string_view(parts)...};
        return text_parts(list, sizeof...(parts), false);
    }
    // The same, marked as a failure of the tool that the model can read (isError): say what it can
    // do about it. What looks like a secret or a stack trace is removed, in the corporate profile
    // also absolute paths, internal addresses and SQL.
    template <class... Parts>
    tool_result error(const Parts&... parts) {
        const std::string_view list[] = {std::string_view(parts)...};
        return text_parts(list, sizeof...(parts), true);
    }
    // The failure of a library call, as a result the model can read. One of ctx.elicit(), sample()
    // or roots() that the client cannot be asked is what missing_capability() gives.
    tool_result error(const pillion::error& what);
    // An empty result to add to.
    tool_result result();
    // A JSON-RPC error instead of a result: for protocol faults, not for failures of the tool. Of
    // the message one line of at most 300 bytes goes out, without paths, addresses, SQL, secrets
    // and texts of the client; the log has all of it. `data_json` (may be empty) is an object; its
    // members that server::error_data() and the specification know become error.data. The code
    // should be outside -32768…-32000 unless the specification or the corporate standard defines it
    // (-32006: something behind this server is down; -32007: a conflict).
    tool_result rpc_error(int code, std::string_view message, std::string_view data_json = {});
    // For the library (fields.hpp): the arguments do not fit the handler's struct, `field` first.
    tool_result refuse_arguments(std::string_view field);
    // The client lacks a capability this call cannot do without: error -32021 towards 2026-07-28,
    // a tool error that says so towards earlier revisions.
    tool_result missing_capability(std::string_view capability);

    prompt_result prompt(std::string_view description = {});
    // A prompt that cannot be given: error -32602 with this text, cleaned as that of rpc_error().
    prompt_result prompt_error(std::string_view message);
    // The failure of a library call: -32603 with its text; a capability that the client lacks is
    // -32021 towards 2026-07-28.
    prompt_result prompt_error(const pillion::error& what);
    resource_result contents();
    // The resource does not exist (-32002, from 2026-07-28 on -32602, with data.uri).
    resource_result not_found();
    // The resource exists but cannot be read: -32603 with a safe text; a capability that the client
    // lacks is -32021 towards 2026-07-28.
    resource_result unreadable(const pillion::error& what);
    completion_result completion();

    // ---- errors for every kind of handler (JSON-RPC errors with HTTP status 200) ----

    // The caller asks too often: -32003. `retry_after_s` (at least 1) becomes data.retryAfter.
    refusal rate_limited(std::string_view message, std::int64_t retry_after_s = 1);
    // What the handler needs is out of service: -32006, with data.retryAfter unless that is 0.
    refusal unavailable(std::string_view message, std::int64_t retry_after_s = 0);
    // The state of things forbids it (somebody else has changed it meanwhile, it exists already):
    // -32007.
    refusal conflict(std::string_view message);

    // A copy of `text` that lives as long as the context.
    std::string_view keep(std::string_view text);

    // ---- time and stopping ----

    bool stopped() const noexcept;
    stop_cause why_stopped() const noexcept;
    // Time left until the deadline (never negative): what a call to somebody else may take. It is
    // the least of the tool's timeout(), the operator's limit, what the client asked for and the
    // within() around; progress moves it where the tool has a timeout_max().
    std::chrono::nanoseconds remaining() const noexcept;

    // Waits. Returns true when the whole time passed, false when the request was stopped.
    task<bool> sleep(std::chrono::nanoseconds duration);
    // Lets other requests run. Returns false when the request was stopped.
    task<bool> yield();
    // Waits until the request is stopped.
    task<> until_stopped();

    // Runs `work`, a named callable that takes a context& and gives a task, in less time than the
    // request has. It gets a context of its own: when the limit passes, that one is stopped, and
    // what waits on it ends early, as at the deadline of the request.
    //     auto work = [&url](context& soon) { return fetch(soon, url); };
    //     auto page = co_await ctx.within(200ms, work);
    // Returns when the task has ended: errc::timed_out when the limit passed first (what it gave is
    // dropped), errc::cancelled when the request was stopped, else what it gave. A task that is
    // not stopped by its context takes as long as it takes. Questions to the user count.
    template <class Work>
        requires std::invocable<Work&, context&>
    auto within(std::chrono::nanoseconds limit, Work& work) -> task<typename detail::limited<
        typename std::invoke_result_t<Work&, context&>::value_type>::type> {
        using made = typename std::invoke_result_t<Work&, context&>::value_type;
        Work* callee = &work;  // may be a function, which no void* points at
        if constexpr (std::is_void_v<made>) {
            limited_call call(&callee, &run_limited<Work>, nullptr);
            co_return co_await run_within(limit, call);
        } else {
            std::optional<made> out;
            limited_call call(&callee, &run_limited_into<Work, made>, &out);
            const pillion::result<void> in_time = co_await run_within(limit, call);
            if (!in_time) {
                co_return in_time.error();
            }
            co_return std::move(*out);
        }
    }
    template <class Work>
        requires(!std::is_lvalue_reference_v<Work>)
    void within(std::chrono::nanoseconds limit, Work&& work) = delete;

    // From here on the call runs as a task, if its tool allows it and the client can; returns
    // whether it is one. Only needed where the tool was told task_begins_later().
    bool begin_task();
    // Whether the call runs as a task.
    bool is_task() const noexcept;

    // Tells the client how far the work is, if it asked to know. Values that do not increase are
    // dropped, hasty ones are thinned out (the last one arrives); `total` not above zero means
    // unknown. Waits when the client reads too slowly. A task's status shows the message.
    // Returns false when the request was stopped.
    task<bool> progress(double done, double total = 0, std::string_view message = {});
    // Ends the connection of a long call before its answer: the client is asked to come back after
    // `retry` for what it missed, and nothing is lost meanwhile. Only clients of 2025-11-25 over
    // HTTP can; returns whether it was done (otherwise nothing happens).
    bool release_connection(std::chrono::milliseconds retry);
    // Sends a log message to the client if it listens at this level. `text` is plain text.
    task<bool> log(log_level level, std::string_view text, std::string_view logger = {});
    // The same with data given as JSON text.
    task<bool> log_json(log_level level, std::string_view json, std::string_view logger = {});

    // Runs `work` on a helper thread and returns what it returned. The request's coroutine waits
    // even when stopped meanwhile (ask stopped() afterwards); where no helper takes the work for a
    // second after that, std::runtime_error is thrown. `work` must be a named callable:
    //     auto work = [path] { return slow(path); };
    //     auto answer = co_await ctx.blocking(work);
    // (a temporary is refused at compile time: g++ 12 destroys its captures twice).
    template <class Work>
        requires std::invocable<Work&>
    task<std::invoke_result_t<Work&>> blocking(Work& work) {
        using value = std::invoke_result_t<Work&>;
        if constexpr (std::is_void_v<value>) {
            blocking_call call(&work, [](void* w, void*) { (*static_cast<Work*>(w))(); }, nullptr);
            co_await run_blocking(call);
        } else {
            std::optional<value> out;
            blocking_call call(
                &work,
                [](void* w, void* to) {
                    static_cast<std::optional<value>*>(to)->emplace((*static_cast<Work*>(w))());
                },
                &out);
            co_await run_blocking(call);
            co_return std::move(*out);
        }
    }
    template <class Work>
        requires(!std::is_lvalue_reference_v<Work>)
    void blocking(Work&& work) = delete;

    // Puts a question to the client and waits for the answer; see ask.hpp. Errors: unsupported (the
    // client did not declare the capability, or its revision cannot), timed_out, cancelled, denied
    // (the client refused), invalid (the answer does not fit the question).
    task<pillion::result<sample_answer>> sample(const sample_request& request);
    task<pillion::result<elicit_answer>> elicit(const elicit_request& request);
    task<pillion::result<roots_answer>> roots(std::string_view key = {});
    void sample(const sample_request&& request) = delete;
    void elicit(const elicit_request&& request) = delete;

    // Runs several tasks of this request at the same time and waits for all of them:
    //     auto city = ctx.elicit(form);
    //     auto roots = ctx.roots();
    //     const auto both = co_await ctx.all(city, roots);
    //     const auto& [c, r] = both;
    // The tasks must be named, and are used up. An exception in one is thrown when all have ended.
    template <class... T>
    task<std::tuple<T...>> all(task<T>&... each) {
        std::tuple<std::optional<T>...> made;
        parallel together(*this);
        start_all(together, made, std::index_sequence_for<T...>{}, each...);
        co_await wait_all(together);
        co_return std::apply([](auto&... one) { return std::tuple<T...>(std::move(*one)...); },
                             made);
    }

    // What a handler wants to find again when it runs anew with the user's answers (2026-07-28):
    // JSON text, which travels sealed with the client. remembered() is missing when there is none.
    // Towards earlier revisions a handler runs once, and both do the same within that run.
    void remember(std::string_view name, std::string_view json);
    json::view remembered(std::string_view name) const;
    // Runs `work` in the first of these runs only and gives what it gave then: a text. For effects
    // that must not happen once per round. (A client that sends the same round twice makes it run
    // twice all the same.)
    template <class Work>
        requires std::convertible_to<std::invoke_result_t<Work&>, std::string_view>
    std::string_view once(std::string_view name, Work&& work) {
        const json::view before = remembered(name);
        if (before.is_string()) {
            return before.str();
        }
        return remember_text(name, work());
    }

    // Reads part of a regular file off the loop: at most `bytes_max` from `offset`; the bytes live
    // as long as the context. Errors: not_found, denied, too_large, io, cancelled.
    task<pillion::result<std::string_view>> read_file(std::string_view path,
                                                      std::uint64_t offset = 0,
                                                      std::size_t bytes_max = 1024 * 1024);

    // The server, for its notify functions.
    server& host() const noexcept;

 private:
    friend struct detail::request_state;
    explicit context(detail::request_state* state, detail::time_limit* limit = nullptr) noexcept
        : state_(state), limit_(limit) {}
    ~context() = default;

    struct blocking_call {
        void* work;
        void (*run)(void* work, void* to);
        void* to;
        blocking_call(void* w, void (*r)(void*, void*), void* t) noexcept
            : work(w), run(r), to(t) {}
    };
    // Tasks that all() runs; its frame owns it.
    class parallel {
     public:
        explicit parallel(context& of) noexcept : of_(of) {}
        parallel(const parallel&) = delete;
        parallel& operator=(const parallel&) = delete;

     private:
        friend class context;
        context& of_;
        std::size_t running_ = 0;
        std::exception_ptr fault_;
        void* waiter_ = nullptr;  // whoever is in wait_all()
    };
    template <class T>
    static task<> run_one(task<T>& one, std::optional<T>& to) {
        T made = co_await std::move(one);
        to.emplace(std::move(made));
    }
    template <class... T, std::size_t... I>
    static void start_all(parallel& together, std::tuple<std::optional<T>...>& made,
                          std::index_sequence<I...>, task<T>&... each) {
        (spawn(together, run_one(each, std::get<I>(made))), ...);
    }
    static void spawn(parallel& together, task<> body);
    static task<> wait_all(parallel& together);
    static task<> guard(parallel& together, task<> body);
    std::string_view remember_text(std::string_view name, std::string_view text);

    struct limited_call {
        void* work;
        task<> (*run)(void* work, context& inner, void* to);
        void* to;
        limited_call(void* w, task<> (*r)(void*, context&, void*), void* t) noexcept
            : work(w), run(r), to(t) {}
    };
    template <class Work>
    static task<> run_limited(void* work, context& inner, void* /*to*/) {
        return (**static_cast<Work**>(work))(inner);
    }
    template <class Work, class T>
    static task<> run_limited_into(void* work, context& inner, void* to) {
        T made = co_await (**static_cast<Work**>(work))(inner);
        static_cast<std::optional<T>*>(to)->emplace(std::move(made));
    }
    task<pillion::result<void>> run_within(std::chrono::nanoseconds limit,
                                           const limited_call& call);
    // What stops whatever waits on this context.
    coro::stop_node& stop_node() const noexcept;

    // Rethrows what the work threw.
    task<> run_blocking(const blocking_call& call);
    tool_result text_parts(const std::string_view* parts, std::size_t count, bool failed);

    detail::request_state* state_;
    detail::time_limit* limit_;  // null: the request's own
};

}  // namespace pillion
