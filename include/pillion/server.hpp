// server: register tools, prompts and resources, then run.
//
//     #include <pillion/server.hpp>
//     using namespace pillion;
//
//     task<tool_result> greet(context& ctx, json::view args) {
//         co_await ctx.progress(1, 2, "thinking");
//         co_return ctx.text("Hello, ", args["name"].str(), "!");
//     }
//     int main(int argc, char** argv) {
//         server s("greeter", "1.0.0");
//         s.tool("greet").about("Greets a person. Read-only.")
//             .input(object().required("name", string().min(1)))
//             .read_only().run(greet);
//         return s.main(argc, argv);
//     }
//
// One endpoint then speaks all MCP revisions from 2024-11-05 to 2026-07-28, over Streamable HTTP
// and stdio. Handlers are written once; the server translates.
//
// Registration happens before main() on one thread; faults in it (bad schema, duplicate name) are
// reported by main() as one clear line and exit code 2. While the server runs, update() and the
// notify functions may be called from any thread.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <pillion/content.hpp>
#include <pillion/context.hpp>
#include <pillion/fields.hpp>
#include <pillion/json.hpp>
#include <pillion/provider.hpp>
#include <pillion/result.hpp>
#include <pillion/schema.hpp>
#include <pillion/task.hpp>
#include <pillion/version.hpp>

namespace pillion {

namespace detail {
struct definitions;
struct server_state;
struct tool_definition;
struct prompt_definition;
struct resource_definition;
// Exactly one of the two is set: a coroutine, or a plain function that answers at once.
struct tool_handler {
    std::function<task<tool_result>(context&, json::view)> async;
    std::function<tool_result(context&, json::view)> plain;
};

// A buffer of this thread, empty; used until the next call.
json::builder& scratch_builder() noexcept;

// What a handler takes second: `Args` in R(context&, const Args&); void for other forms.
template <class F>
struct handler_arguments {
    using type = void;
};
template <class F>
    requires requires { &F::operator(); }
struct handler_arguments<F> : handler_arguments<decltype(&F::operator())> {};
template <class R, class A>
struct handler_arguments<R (*)(context&, A)> {
    using type = std::remove_cvref_t<A>;
};
template <class R, class C, class A>
struct handler_arguments<R (C::*)(context&, A)> : handler_arguments<R (*)(context&, A)> {};
template <class R, class C, class A>
struct handler_arguments<R (C::*)(context&, A) const> : handler_arguments<R (*)(context&, A)> {};

// What a handler returns, without task<> and result<>.
template <class T>
struct outcome_of {
    static constexpr bool is_task = false;
    using type = T;
};
template <class T>
struct outcome_of<result<T>> : outcome_of<T> {};
template <class T>
struct outcome_of<task<T>> : outcome_of<T> {
    static constexpr bool is_task = true;
};

inline tool_result as_result(context&, tool_result&& made) { return made; }
template <described T>
tool_result as_result(context& ctx, T&& made) {
    json::builder& text = scratch_builder();
    const bool fits = encode(text, made);
    tool_result out = ctx.result();
    if (encoder_proves<std::remove_cvref_t<T>>() && fits) {
        out.structured_proven(text.text());
    } else {
        out.structured(text.text());
    }
    return out;
}
template <class T>
tool_result as_result(context& ctx, result<T>&& made) {
    return made ? as_result(ctx, std::move(*made)) : ctx.error(made.error());
}

// A handler with structs on either side as one that takes and gives JSON. Args is void where the
// handler reads the JSON itself.
template <class Handler, class Args>
struct typed_plain {
    Handler handler;
    tool_result operator()(context& ctx, json::view given) {
        if constexpr (std::is_void_v<Args>) {
            return as_result(ctx, handler(ctx, given));
        } else {
            Args args{};
            decode_fault fault;
            if (!from_json(given, args, &fault)) {
                return ctx.refuse_arguments(fault.field);
            }
            return as_result(ctx, handler(ctx, args));
        }
    }
};
template <class Handler, class Args>
struct typed_async {
    Handler handler;
    task<tool_result> operator()(context& ctx, json::view given) {
        if constexpr (std::is_void_v<Args>) {
            auto made = co_await handler(ctx, given);
            co_return as_result(ctx, std::move(made));
        } else {
            Args args{};
            decode_fault fault;
            if (!from_json(given, args, &fault)) {
                co_return ctx.refuse_arguments(fault.field);
            }
            auto made = co_await handler(ctx, args);
            co_return as_result(ctx, std::move(made));
        }
    }
};
}  // namespace detail

// Suggestions for one argument: the text typed so far and the other arguments already known.
using completion_handler = std::function<task<completion_result>(
    context& ctx, std::string_view typed, json::view known_arguments)>;
using prompt_handler = std::function<task<prompt_result>(context& ctx, json::view arguments)>;
using resource_handler = std::function<task<resource_result>(context& ctx, std::string_view uri)>;

// Whether calls of a tool may run as tasks: the client gets an id at once and fetches the result
// later. forbidden: never. optional: where the client can (2025-11-25: when it asks for it;
// 2026-07-28: when it has declared the extension and the handler waits for something); other
// clients wait for the answer as usual. required: other clients are refused.
enum class task_support : std::uint8_t { forbidden, optional, required };

// What a server holds itself to. generic: what public clients expect of MCP. corporate: beyond that
// HTTP statuses by error code, no HTTP without authentication, and rules for names, descriptions
// and URI schemes, checked when the server starts (README, "Profiles").
enum class server_profile : std::uint8_t { generic, corporate };

// How much harm a call of a tool can do.
enum class risk_level : std::uint8_t { low, medium, high };

// What a tool that changes something outside of its server tells of that, each in a few words.
struct external_effects {
    std::string idempotency;  // what makes a call that comes twice count once, or why nothing does
    std::string retries;      // whether it may be called again after a failure
    std::string timeout;      // what has happened when a call took too long
    std::string audit;        // the event that says so afterwards, and where
    std::string approval;     // who must agree before
};

// Describes one tool. Every function returns the builder; run() ends it.
class tool_builder {
 public:
    tool_builder& title(std::string text);
    // What it does, its constraints, side effects and dangers: read by the model.
    tool_builder& about(std::string text);
    // Schema of the arguments (an object); without it the tool takes none. Arguments are checked
    // before the handler runs.
    tool_builder& input(const schema& shape);
    // Schema of the structured result.
    tool_builder& output(const schema& shape);
    // Deadline of a call (default: the server's, 30 s). Clients may ask for less, never for more.
    tool_builder& timeout(std::chrono::milliseconds limit);
    // Progress that goes out to the client begins that time anew, up to this limit, counted from
    // the beginning of the call (default: progress changes nothing). The operator's
    // limits.request_timeout_max bounds both.
    tool_builder& timeout_max(std::chrono::milliseconds limit);
    // While the handler works and says nothing for this long, clients that asked for progress get a
    // sign of life, so that those with a patience of their own (often 60 s) do not give up.
    tool_builder& heartbeat(std::chrono::milliseconds every);
    // timeout(), rate(), max_concurrent() and queue() are defaults: what the operator's
    // configuration says of a tool (section `tools`) wins. How often it may be called, by everybody
    // together: `calls_per_second` on average, `burst` at once (0: what a second gives, at least
    // one). A call beyond that is refused: -32003, HTTP 429.
    tool_builder& rate(double calls_per_second, std::size_t burst = 0);
    // How many calls may run at a time, on all threads together (0: any number). Others wait for
    // their turn, in the order they came.
    tool_builder& max_concurrent(std::size_t calls);
    // How many may wait (default 64). One more is refused, and so is a call that would have to wait
    // beyond its deadline, as far as the time of earlier calls tells: -32006, HTTP 503.
    // REQUIRES: max_concurrent().
    tool_builder& queue(std::size_t calls);
    // Long work: calls may run as tasks (default: forbidden). A task is not bound by timeout(), it
    // may ask its user while it runs, and tasks/cancel stops it.
    tool_builder& as_task(task_support how);
    // How long a task and its result are kept, from its beginning (default 1 hour, at most 24).
    tool_builder& task_ttl(std::chrono::milliseconds kept);
    // How often clients should look (default 1 second).
    tool_builder& task_poll(std::chrono::milliseconds every);
    // Limit of the work itself; a task beyond it fails with -32004 (default: its ttl).
    tool_builder& task_limit(std::chrono::milliseconds limit);
    // Towards 2026-07-28 a call becomes a task when its handler says ctx.begin_task(), not when it
    // first waits: what it asks before that is asked of the caller, who waits for it.
    tool_builder& task_begins_later();
    // Hints for clients; the default promises nothing.
    tool_builder& read_only();
    tool_builder& destructive(bool yes = true);
    tool_builder& idempotent(bool yes = true);
    tool_builder& open_world(bool yes = true);
    // Of a tool that changes something: how much harm it can do, what it changes, and what holds of
    // that outside of the server. Told to models and people behind the description, a line each;
    // the corporate profile wants them (README, "Profiles"). The configuration file wins.
    tool_builder& risk(risk_level level);
    tool_builder& side_effects(std::string text);
    tool_builder& external(external_effects what);
    // Announces its end: the description begins with [DEPRECATED], the day it may go ("2027-03-31")
    // and what to use instead (may be empty).
    tool_builder& deprecated(std::string date, std::string instead = {});
    // A scope that callers need (RFC 6749 §3.3); several: all of them. Callers with tokens have
    // those of their token, "files:*" stands for all that begin with "files:". Others need 403 and
    // its list, and are not shown the tool. Where nobody authenticates, over stdio and on unix
    // sockets callers have all, unless the operator granted less. The configuration file wins.
    tool_builder& scope(std::string needed);
    tool_builder& add_icon(icon what);
    // One `_meta` member of the definition, value as JSON text.
    tool_builder& meta(std::string key, std::string json);

    // The handler: a callable that takes (context&, const Args&) with a described struct (see
    // fields.hpp), (context&, json::view arguments) or (context&), and gives tool_result, a
    // described struct, or result<> of one. It is either a coroutine, with task<> around that, or
    // a plain function (which answers at once and must not block). Structs bring their schemas
    // unless input() and output() were called. The callable is kept for the server's life, so a
    // capturing lambda coroutine is safe here.
    template <class Handler>
    void run(Handler handler) {
        if constexpr (std::invocable<Handler&, context&, json::view>) {
            set<void, std::invoke_result_t<Handler&, context&, json::view>>(std::move(handler));
        } else if constexpr (std::invocable<Handler&, context&>) {
            using outcome = std::invoke_result_t<Handler&, context&>;
            set<void, outcome>([h = std::move(handler)](
                                   context& ctx, json::view) mutable -> outcome { return h(ctx); });
        } else {
            using arguments = typename detail::handler_arguments<Handler>::type;
            static_assert(described<arguments>,
                          "a tool handler takes (context&), (context&, json::view) or (context&, "
                          "const Args&) where Args has fields");
            derive_input(schema_of<arguments>(), detail::decoder_proves<arguments>());
            set<arguments, std::invoke_result_t<Handler&, context&, const arguments&>>(
                std::move(handler));
        }
    }

 private:
    friend class catalog;
    explicit tool_builder(detail::tool_definition* definition) noexcept : definition_(definition) {}

    template <class Arguments, class Outcome, class Callable>
    void set(Callable callable) {
        using made = typename detail::outcome_of<Outcome>::type;
        detail::tool_handler handler;
        if constexpr (!std::same_as<made, tool_result>) {
            static_assert(described<made>,
                          "a tool handler gives tool_result or a struct that has "
                          "fields, perhaps in result<> and task<>");
            derive_output(schema_of<made>());
        }
        if constexpr (std::is_void_v<Arguments> && std::same_as<Outcome, tool_result>) {
            handler.plain = std::move(callable);
        } else if constexpr (std::is_void_v<Arguments> &&
                             std::same_as<Outcome, task<tool_result>>) {
            handler.async = std::move(callable);
        } else if constexpr (detail::outcome_of<Outcome>::is_task) {
            handler.async = detail::typed_async<Callable, Arguments>{std::move(callable)};
        } else {
            handler.plain = detail::typed_plain<Callable, Arguments>{std::move(callable)};
        }
        finish(std::move(handler));
    }
    // Unless the user gave a schema. `proven`: the decoder checks all of it.
    void derive_input(const schema& shape, bool proven);
    void derive_output(const schema& shape);
    void finish(detail::tool_handler handler);

    detail::tool_definition* definition_;
};

class prompt_builder {
 public:
    prompt_builder& title(std::string text);
    prompt_builder& about(std::string text);
    // An argument (always a string), in order.
    prompt_builder& argument(std::string name, std::string description, bool required);
    // Completion of the argument declared last.
    prompt_builder& complete(completion_handler handler);
    // Announces its end: the description begins with [DEPRECATED], the day it may go ("2027-03-31")
    // and what to use instead (may be empty).
    prompt_builder& deprecated(std::string date, std::string instead = {});
    // As of tools.
    prompt_builder& scope(std::string needed);
    prompt_builder& add_icon(icon what);
    prompt_builder& meta(std::string key, std::string json);
    // Missing required arguments are refused before the handler runs.
    void run(prompt_handler handler);

 private:
    friend class catalog;
    explicit prompt_builder(detail::prompt_definition* definition) noexcept
        : definition_(definition) {}
    detail::prompt_definition* definition_;
};

// A resource with a fixed URI, or a template (RFC 6570 level 1: "{name}", and "{+path}" for a
// value that may contain slashes).
class resource_builder {
 public:
    resource_builder& name(std::string text);
    resource_builder& title(std::string text);
    resource_builder& about(std::string text);
    resource_builder& mime_type(std::string text);
    resource_builder& size(std::int64_t bytes);
    resource_builder& annotate(const content_annotations& what);
    // Announces its end: the description begins with [DEPRECATED], the day it may go ("2027-03-31")
    // and what to use instead (may be empty).
    resource_builder& deprecated(std::string date, std::string instead = {});
    // As of tools.
    resource_builder& scope(std::string needed);
    resource_builder& add_icon(icon what);
    resource_builder& meta(std::string key, std::string json);
    // Templates: completion of one variable.
    resource_builder& complete(std::string variable, completion_handler handler);
    // Resources: a constant text.
    void text(std::string content);
    void run(resource_handler handler);
    // Templates that only describe what a resource_provider reads need no handler.
    void served_by_provider();

 private:
    friend class catalog;
    explicit resource_builder(detail::resource_definition* definition) noexcept
        : definition_(definition) {}
    detail::resource_definition* definition_;
};

// What a server offers, to be changed while it runs: see server::update().
class catalog {
 public:
    tool_builder tool(std::string name);
    prompt_builder prompt(std::string name);
    resource_builder resource(std::string uri);
    resource_builder resource_template(std::string uri_template);
    // False when there is none of that name. To replace one, remove it and add the new one.
    bool remove_tool(std::string_view name);
    bool remove_prompt(std::string_view name);
    bool remove_resource(std::string_view uri);
    bool remove_template(std::string_view uri_template);
    // Whether there is one of that name.
    bool has_tool(std::string_view name) const;
    bool has_prompt(std::string_view name) const;
    bool has_template(std::string_view uri_template) const;

 private:
    friend class server;
    explicit catalog(detail::definitions& of) noexcept : definitions_(of) {}
    detail::definitions& definitions_;
};

class server {
 public:
    server(std::string name, std::string own_version);
    ~server();
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    // ---- what it is ----
    server& title(std::string text);
    server& about(std::string text);
    server& website(std::string url);
    // Advice to the model on how to use the server as a whole.
    server& instructions(std::string text);
    server& add_icon(icon what);

    // ---- what it offers (before main) ----
    tool_builder tool(std::string name);
    prompt_builder prompt(std::string name);
    resource_builder resource(std::string uri);
    resource_builder resource_template(std::string uri_template);
    // `scopes`: what callers need to see and read its resources, all of them; see
    // tool_builder::scope().
    server& provide(std::shared_ptr<resource_provider> provider,
                    std::vector<std::string> scopes = {});
    // A scope that callers need for a method ("tools/call", "resources/read"), whatever its target.
    server& method_scope(std::string method, std::string needed);
    // A schema that those of tools may refer to by `uri` ("$ref"), as they may to each other by
    // their
    // "$id". Nothing is ever fetched.
    server& shared_schema(std::string uri, const schema& shape);
    // What it holds itself to (default: generic). --profile and the configuration file win. Before
    // main().
    server& profile(server_profile which);
    server_profile profile() const noexcept;
    // One more member that errors of handlers may carry in error.data. Those of the MCP
    // specification, `field`, `reason` and `retryAfter` are always allowed; others are left out.
    server& error_data(std::string member);
    // Entries per page of the four lists (default 50).
    server& page_size(std::size_t entries);
    // How long clients may cache lists and resources (2026-07-28; default 0 ms).
    server& cache_ttl(std::chrono::milliseconds ttl);

    // ---- own command-line flags ----
    // "--name VALUE" of the serve and stdio commands; `value` is set before on_start hooks run and
    // must outlive main().
    server& option(std::string name, std::string help, std::string* value);
    server& flag(std::string name, std::string help, bool* value);
    // Runs after the command line was read and before anything is served: the place to register
    // what depends on options. An error ends main() with exit code 2 and its text.
    server& on_start(std::function<result<void>(server&)> hook);

    // One more check of /ready, under this name ([a-z0-9_]; not accepting, configuration or tasks):
    // while `good` says no, the server is not ready to be sent requests (503). Asked on the loops,
    // whenever somebody asks /ready: it must be thread-safe and answer from memory. One that throws
    // has said no. Before main().
    server& ready_check(std::string name, std::function<bool()> good);

    // ---- running ----
    // The whole command line: serve (default) | stdio | check | version, see --help.
    // Returns the exit code: 0 clean, 1 run-time failure, 2 usage or configuration.
    // While it serves, SIGTERM, SIGINT and SIGHUP are its own, whichever thread they come to; those
    // that the program has a handler for may still come to a thread that was there before.
    int main(int argc, char** argv);
    // Ends main() as SIGTERM does: what is in flight is finished. Any thread.
    void shutdown() noexcept;

    // ---- changing what is offered (any thread, while running) ----
    // Runs `edit` at once, on the calling thread; what it adds and removes counts for every request
    // that begins afterwards, and clients hear of the lists that changed. Requests under way end
    // with what they began with; a removed handler is destroyed after the last of them, on any
    // thread. When the outcome could not have been started, nothing changes, and `fault` says why.
    // It takes as long as checking all registrations: not from the loop if there are hundreds.
    bool update(const std::function<void(catalog&)>& edit, std::string* fault = nullptr);

    // ---- telling clients (any thread, while running) ----
    // Cheap, and may be called as often as things change: clients hear of a burst once. A resource
    // that nobody subscribes to costs one lookup.
    void tools_changed();
    void prompts_changed();
    void resources_changed();
    void resource_updated(std::string_view uri);

    detail::server_state& state() noexcept { return *state_; }

 private:
    std::unique_ptr<detail::server_state> state_;
};

}  // namespace pillion
