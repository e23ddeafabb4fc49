"""For must_not_compile.py: name, code that must compile, code that must not, and a pattern that one
of its errors must match (g++ or clang)."""

PRELUDE = """\
#include <pillion/server.hpp>
#include <string>
#include <utility>
using namespace pillion;
result<int> measure();
result<void> act();
task<int> count(context& ctx);
"""

_DISCARDED = r"unused-result"
_DELETED = r"use of deleted function|call to deleted|call to implicitly-deleted"


def _tool(handler):
    return f"void add(server& s) {{ s.tool(\"t\").run({handler}); }}\n"


def _handler(body):
    return f"task<tool_result> handler(context& ctx) {{ {body} co_return ctx.text(\"\"); }}\n"


SNIPPETS = [
    # g++ 12 destroys the captures of a temporary twice, hence only named callables.
    ("blocking takes a named callable",
     _handler("std::string p; auto work = [p] { return p.size(); }; "
              "auto n = co_await ctx.blocking(work); (void)n;"),
     _handler("std::string p; auto n = co_await ctx.blocking([p] { return p.size(); }); (void)n;"),
     _DELETED),
    ("blocking takes no moved callable",
     _handler("auto work = [] {}; co_await ctx.blocking(work);"),
     _handler("auto work = [] {}; co_await ctx.blocking(std::move(work));"),
     _DELETED),
    ("what is limited is a named callable",
     _handler("auto work = [](context& soon) { return count(soon); }; "
              "auto n = co_await ctx.within(std::chrono::seconds(1), work); (void)n;"),
     _handler("auto n = co_await ctx.within(std::chrono::seconds(1), "
              "[](context& soon) { return count(soon); }); (void)n;"),
     _DELETED),
    ("what is limited gets a context",
     _handler("auto n = co_await ctx.within(std::chrono::seconds(1), count); (void)n;"),
     _handler("auto work = [] { return 1; }; "
              "auto n = co_await ctx.within(std::chrono::seconds(1), work); (void)n;"),
     r"no matching|no viable|use of deleted|call to deleted"),
    ("a question to the client is named",
     _handler("elicit_request form(\"City?\"); auto r = co_await ctx.elicit(form); (void)r;"),
     _handler("auto r = co_await ctx.elicit(elicit_request(\"City?\")); (void)r;"),
     _DELETED),
    ("a request to the model is named",
     _handler("sample_request ask(100); auto r = co_await ctx.sample(ask); (void)r;"),
     _handler("auto r = co_await ctx.sample(sample_request(100)); (void)r;"),
     _DELETED),
    ("a tool handler takes a context",
     _tool("[](context& ctx, json::view) -> task<tool_result> { co_return ctx.text(\"\"); }"),
     _tool("[](int) -> tool_result { std::abort(); }"),
     r"a tool handler takes \(context&\), \(context&, json::view\) or"),
    ("a plain tool handler returns tool_result",
     _tool("[](context& ctx) { return ctx.text(\"\"); }"),
     _tool("[](context&) { return 1; }"),
     r"a tool handler gives tool_result or a struct that has"),
    ("a tool coroutine returns tool_result",
     _tool("[](context& ctx) -> task<tool_result> { co_return ctx.text(\"\"); }"),
     _tool("[](context&) -> task<int> { co_return 1; }"),
     r"a tool handler gives tool_result or a struct that has"),
    ("a prompt handler takes the context by reference",
     "void add(server& s) { s.prompt(\"p\").run([](context& ctx, json::view) -> "
     "task<prompt_result> { co_return ctx.prompt(); }); }\n",
     "void add(server& s) { s.prompt(\"p\").run([](context ctx, json::view) -> "
     "task<prompt_result> { co_return ctx.prompt(); }); }\n",
     r"could not convert|cannot convert|no matching|no viable|private destructor"),
    ("a result is looked at",
     "bool f() { return measure().ok(); }\n", "void f() { measure(); }\n", _DISCARDED),
    ("a result without a value is looked at",
     "bool f() { return act().ok(); }\n", "void f() { act(); }\n", _DISCARDED),
    ("a task is awaited",
     _handler("co_await count(ctx);"), _handler("count(ctx);"), _DISCARDED),
    ("a wait of the context is awaited",
     _handler("co_await ctx.sleep(std::chrono::seconds(1));"),
     _handler("ctx.sleep(std::chrono::seconds(1));"), _DISCARDED),
    ("a named task is awaited by moving it",
     _handler("auto t = count(ctx); co_await std::move(t);"),
     _handler("auto t = count(ctx); co_await t;"),
     r"no member named 'await_ready'|passing .* discards qualifiers|no viable|"
     r"co_await.* expression requires|is not a member|awaitable|cannot be used"),
    ("a task is not copied",
     _handler("auto t = count(ctx); auto u = std::move(t); co_await std::move(u);"),
     _handler("auto t = count(ctx); auto u = t; co_await std::move(u);"), _DELETED),
    ("a task returns no reference",
     "task<int*> f();\nvoid g() { (void)f(); }\n", "task<int&> f();\nvoid g() { (void)f(); }\n",
     r"return a pointer or std::reference_wrapper"),
    ("a context is not copied",
     _handler("context& same = ctx; (void)same;"), _handler("context copy = ctx; (void)copy;"),
     _DELETED + r"|private"),
    ("a handler gets a context and makes none",
     "context& same(context& ctx) { return ctx; }\n", "void f() { context c; }\n",
     r"no matching|private|no default"),
    ("a server is not copied",
     "server& same(server& s) { return s; }\n", "void f(server& s) { server copy = s; }\n",
     _DELETED),
]
