#include "sim/sim_tools.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include <pillion/ask.hpp>

#include "coro/sync.hpp"

namespace pillion::sim {

using std::chrono::milliseconds;

visit::visit(stage& on, context& ctx, json::view args)
    : stage_(on), ctx_(ctx), at_(on.inside.emplace(std::string(args["tag"].str()), this)) {
    ++on.visits;
    asked();
}

visit::~visit() { stage_.inside.erase(at_); }

void visit::asked() {
    // Tasks have limits of their own.
    const std::int64_t left = ctx_.remaining().count();
    const bool limited = !ctx_.is_task() && left < INT64_MAX / 4;
    due_ns_ = limited ? stage_.now_ns() + left : INT64_MAX;
}

namespace {

milliseconds ms_of(json::view args) { return milliseconds(args["ms"].i64().value_or(0)); }

task<tool_result> nap(stage& on, context& ctx, json::view args) {
    const visit here(on, ctx, args);
    const bool whole = co_await ctx.sleep(ms_of(args));
    co_return ctx.text(here.tag(), whole ? " slept" : " woken");
}

task<tool_result> steps(stage& on, context& ctx, json::view args) {
    const visit here(on, ctx, args);
    const std::int64_t count = args["count"].i64().value_or(3);
    for (std::int64_t i = 1; i <= count; ++i) {
        co_await ctx.progress(static_cast<double>(i), static_cast<double>(count), "step");
        co_await ctx.sleep(ms_of(args));
    }
    co_return ctx.text(here.tag());
}

// Messages of `bytes`, which fill the way to a client that does not read.
task<tool_result> chatter(stage& on, context& ctx, json::view args) {
    const visit here(on, ctx, args);
    const std::string text(static_cast<std::size_t>(args["bytes"].i64().value_or(10)), 'x');
    const std::int64_t count = args["count"].i64().value_or(3);
    for (std::int64_t i = 0; i < count; ++i) {
        co_await ctx.log(log_level::warning, text);
    }
    co_return ctx.text(here.tag());
}

task<tool_result> watch(stage& on, context& ctx, json::view args) {
    const visit here(on, ctx, args);
    co_await ctx.until_stopped();
    co_return ctx.text(here.tag());
}

// Whatever stops it, it goes on for its time.
task<tool_result> deaf(stage& on, context& ctx, json::view args) {
    const visit here(on, ctx, args);
    coro::event over;
    on.later(ms_of(args).count(), [&over] { over.set(); });
    co_await over.wait();
    co_return ctx.text(here.tag());
}

task<tool_result> throws(stage& on, context& ctx, json::view args) {
    const visit here(on, ctx, args);
    co_await ctx.sleep(ms_of(args));
    throw std::runtime_error("secret");
}

tool_result big(context& ctx, json::view args) {
    const auto bytes = static_cast<std::size_t>(args["bytes"].i64().value_or(10));
    return ctx.text(args["tag"].str(), std::string(bytes, 'y'));
}

tool_result stall(stage& on, context& ctx, json::view args) {
    on.stall(args["ms"].i64().value_or(0));
    return ctx.text(args["tag"].str());
}

task<tool_result> compute(stage& on, context& ctx, json::view args) {
    const visit here(on, ctx, args);
    auto work = [] { return 42; };
    const int done = co_await ctx.blocking(work);
    co_return ctx.text(here.tag(), " ", std::to_string(done));
}

// Lets its connection go; the client may come back for the answer.
task<tool_result> away(stage& on, context& ctx, json::view args) {
    const visit here(on, ctx, args);
    ctx.release_connection(milliseconds(100));
    co_await ctx.sleep(ms_of(args));
    co_return ctx.text(here.tag());
}

// Asks `count` times, in a way that `what` names.
task<tool_result> ask(stage& on, context& ctx, json::view args) {
    visit here(on, ctx, args);
    const milliseconds limit(args["limit"].i64().value_or(500));
    const std::int64_t count = args["count"].i64().value_or(1);
    const std::string_view what = args["what"].str();
    for (std::int64_t i = 0; i < count; ++i) {
        here.asks();
        if (what == "roots") {
            const auto answer = co_await ctx.roots("r" + std::to_string(i));
            if (!answer) {
                co_return ctx.error(answer.error());
            }
        } else if (what == "form") {
            elicit_request form("Which?");
            form.key("f" + std::to_string(i)).required("city", string()).limit(limit);
            const auto answer = co_await ctx.elicit(form);
            if (!answer) {
                co_return ctx.error(answer.error());
            }
        } else {
            sample_request request(10);
            request.user("well?").key("s" + std::to_string(i)).limit(limit);
            const auto answer = co_await ctx.sample(request);
            if (!answer) {
                co_return ctx.error(answer.error());
            }
        }
        here.asked();
        co_await ctx.sleep(ms_of(args));
    }
    co_return ctx.text(here.tag());
}

task<prompt_result> greet(stage& on, context& ctx, json::view args) {
    const visit here(on, ctx, args);
    co_await ctx.yield();
    co_return ctx.prompt("Greets").user(here.tag());
}

task<resource_result> item(context& ctx, std::string_view uri) {
    co_await ctx.yield();
    if (ctx.variable("id") == "none") {
        co_return ctx.not_found();
    }
    co_return ctx.contents().text(uri, "text/plain", ctx.variable("id"));
}

task<completion_result> suggest(context& ctx, std::string_view typed) {
    co_await ctx.yield();
    completion_result out = ctx.completion();
    out.add(std::string(typed) + "x");
    co_return out;
}

using handler = task<tool_result> (*)(stage&, context&, json::view);

void add(server& s, stage& on, const char* name, handler body,
         task_support as = task_support::forbidden) {
    s.tool(name)
        .input(object().required("tag", string()).open())
        .as_task(as)
        .task_ttl(milliseconds(20'000))
        .task_limit(milliseconds(8'000))
        .run([&on, body](context& ctx, json::view args) { return body(on, ctx, args); });
}

}  // namespace

void furnish(server& s, stage& on) {
    const schema open = object().required("tag", string()).open();
    s.tool("echo").input(open).read_only().run(
        [](context& ctx, json::view args) { return ctx.text(args["tag"].str()); });
    s.tool("big").input(open).run(&big);
    s.tool("stall").input(open).run(
        [&on](context& ctx, json::view args) { return stall(on, ctx, args); });
    add(s, on, "nap", &nap);
    add(s, on, "steps", &steps);
    add(s, on, "chatter", &chatter);
    add(s, on, "watch", &watch);
    add(s, on, "deaf", &deaf);
    add(s, on, "throws", &throws);
    add(s, on, "compute", &compute);
    add(s, on, "away", &away);
    add(s, on, "ask", &ask);
    add(s, on, "job", &steps, task_support::optional);
    add(s, on, "must", &nap, task_support::required);
    add(s, on, "deaf_job", &deaf, task_support::optional);
    add(s, on, "asking_job", &ask, task_support::optional);
    s.prompt("greet").argument("tag", "What", true).run([&on](context& ctx, json::view args) {
        return greet(on, ctx, args);
    });
    s.resource("sim://a").name("a").text("content of a");
    const completion_handler complete = [](context& ctx, std::string_view typed, json::view) {
        return suggest(ctx, typed);
    };
    s.resource_template("sim://item/{id}").name("item").complete("id", complete).run(item);
}

}  // namespace pillion::sim
