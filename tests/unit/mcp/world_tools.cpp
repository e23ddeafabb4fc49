// The tools, prompts and resources of the test world: one for each way a handler can behave.
#include <stdexcept>

#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {

namespace {

using std::chrono::milliseconds;

class inside {
 public:
    explicit inside(stage& on) : on_(on) { ++on_.inside; }
    inside(const inside&) = delete;
    inside& operator=(const inside&) = delete;
    ~inside() { --on_.inside; }

 private:
    stage& on_;
};

std::string_view name_of_cause(stop_cause why) {
    switch (why) {
        case stop_cause::none:
            return "none";
        case stop_cause::client:
            return "client";
        case stop_cause::deadline:
            return "deadline";
        case stop_cause::disconnected:
            return "disconnected";
        case stop_cause::shutdown:
            return "shutdown";
        case stop_cause::asked:
            return "asked";
    }
    return "?";
}

task<tool_result> nap(stage& on, context& ctx, json::view args) {
    const inside here(on);
    const milliseconds time(args["ms"].i64().value_or(0));
    if (time.count() == 0) {
        // A turn, not a tick: no time needs to pass.
        co_await ctx.yield();
        co_return ctx.text("slept");
    }
    const bool whole = co_await ctx.sleep(time);
    co_return ctx.text(whole ? "slept" : "woken");
}

task<tool_result> stubborn(stage& on, context& ctx) {
    const inside here(on);
    co_await on.gate.wait();
    on.record.push_back(std::string("stubborn: ") + std::string(name_of_cause(ctx.why_stopped())));
    co_return ctx.text("late");
}

task<tool_result> watch(stage& on, context& ctx) {
    const inside here(on);
    co_await ctx.until_stopped();
    on.record.push_back(std::string("watch: ") + std::string(name_of_cause(ctx.why_stopped())));
    co_return ctx.text("stopped");
}

task<tool_result> throw_late(stage& on, context& ctx) {
    const inside here(on);
    co_await ctx.yield();
    throw std::runtime_error("secret of the handler");
}

// Progress 1…count with a pause between; or log messages, which have no pace of their own.
task<tool_result> steps(stage& on, context& ctx, json::view args) {
    const inside here(on);
    const milliseconds pause(args["pause"].i64().value_or(0));
    const std::int64_t count = args["count"].i64().value_or(3);
    for (std::int64_t i = 1; i <= count; ++i) {
        if (args["log"].boolean()) {
            co_await ctx.log(log_level::info, std::to_string(i));
        } else {
            co_await ctx.progress(static_cast<double>(i), static_cast<double>(count), "step");
        }
        if (pause.count() > 0) {
            co_await ctx.sleep(pause);
        }
    }
    co_return ctx.text("done");
}

// Progress as the arguments say, to see what is let through.
task<tool_result> jumps(stage& on, context& ctx, json::view args) {
    const inside here(on);
    for (const json::view v : args["values"].elements()) {
        const double value = v.is_string() ? 0.0 / 0.0 : v.num();
        co_await ctx.progress(value);
    }
    co_return ctx.text("done");
}

task<tool_result> chatter(stage& on, context& ctx) {
    const inside here(on);
    co_await ctx.log(log_level::debug, "d");
    co_await ctx.log(log_level::info, "i", "logger");
    co_await ctx.log(log_level::warning, "w\nwith \xFF line end");
    co_await ctx.log_json(log_level::error, "{\n\"a\": 1 }");
    co_await ctx.log_json(log_level::emergency, "no json");
    co_return ctx.text("done");
}

// Messages of 64 KiB, to fill the way to a slow client.
task<tool_result> flood(stage& on, context& ctx, json::view args) {
    const inside here(on);
    const std::string big(64 * 1024, 'x');
    const std::int64_t count = args["count"].i64().value_or(10);
    for (std::int64_t i = 0; i < count; ++i) {
        on.record.push_back("flood: " + std::to_string(i));
        co_await ctx.log(log_level::info, big);
    }
    co_return ctx.text("done");
}

void furnish_tools(server& s, stage& on) {
    const schema none = object().open();
    s.tool("echo")
        .about("Says it again.")
        .input(object().required("text", string().max(1000)))
        .read_only()
        .run([](context& ctx, json::view args) { return ctx.text(args["text"].str()); });
    s.tool("nap")
        .input(object().optional("ms", integer()))
        .run([&on](context& ctx, json::view args) { return nap(on, ctx, args); });
    s.tool("stubborn").run([&on](context& ctx) { return stubborn(on, ctx); });
    s.tool("watch").run([&on](context& ctx) { return watch(on, ctx); });
    s.tool("throw_now").run([](context&) -> tool_result { throw 7; });
    s.tool("throw_late").run([&on](context& ctx) { return throw_late(on, ctx); });
    s.tool("steps").input(none).run(
        [&on](context& ctx, json::view args) { return steps(on, ctx, args); });
    s.tool("jumps").input(none).run(
        [&on](context& ctx, json::view args) { return jumps(on, ctx, args); });
    s.tool("chatter").run([&on](context& ctx) { return chatter(on, ctx); });
    s.tool("flood").input(none).run(
        [&on](context& ctx, json::view args) { return flood(on, ctx, args); });
    s.tool("located")
        .input(object()
                   .optional("region", string().header("Region"))
                   .optional("count", integer().header("Count"))
                   .optional("flag", boolean().header("Flag")))
        .run([](context& ctx) { return ctx.text("there"); });
    s.tool("needy").run([](context& ctx) { return ctx.missing_capability("sampling.tools"); });
}

task<prompt_result> greet(context& ctx, json::view args) {
    co_return ctx.prompt("Greets").user("Hello, ").assistant(args["name"].str());
}

task<completion_result> suggest(context& ctx, std::string_view typed) {
    completion_result out = ctx.completion();
    for (int i = 0; i < 150; ++i) {
        out.add(std::string(typed) + std::to_string(i));
    }
    co_return out;
}

task<resource_result> item(context& ctx, std::string_view uri) {
    if (ctx.variable("id") == "none") {
        co_return ctx.not_found();
    }
    co_return ctx.contents().text(uri, "text/plain", ctx.variable("id"));
}

}  // namespace

void furnish(server& s, stage& on) {
    furnish_tools(s, on);
    const completion_handler numbers = [](context& ctx, std::string_view typed, json::view) {
        return suggest(ctx, typed);
    };
    s.prompt("greet").argument("name", "Whom", true).complete(numbers).run(greet);
    s.resource("test://a").name("a").text("content of a");
    s.resource_template("test://item/{id}").name("item").complete("id", numbers).run(item);
}

}  // namespace pillion::mcp::testing
