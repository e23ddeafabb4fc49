"""Samples for lint_coro.py --self-test: statements of a coroutine, with the rule each breaks."""

# (rule or None, text). A text without `task<` at its begin is put into the body of a coroutine.
SAMPLES = [
    # What the table of traps in the design notes says of g++ 12, row by row: trap, then safe form.
    ("R1", "co_await f([x] { use(x); });"),
    (None, "auto fn = [x] { use(x); };\nco_await f(std::move(fn));"),
    ("R1", 'co_await f({.name = "a", .v = v});'),
    ("R1", 'co_await f(options{"a", v});'),
    (None, 'options o{"a", v};\nco_await f(std::move(o));'),
    ("R1", "aggregate a{x(), co_await g(), y()};"),
    ("R1", "aggregate a{.x = x(), .y = co_await g()};"),
    ("R1", "auto* p = new aggregate{x(), co_await g()};"),
    ("R1", "auto* p = new aggregate(co_await g());"),
    ("R1", "item a[2] = {item(), co_await g()};"),
    (None, "auto v = co_await g();\naggregate a{x(), v, y()};"),
    ("R1", "auto v = c ? co_await g() : item();"),
    ("R1", "auto v = c ? item(co_await g()) : item{};"),
    ("R1", "use(co_await g(), c ? 1 : 2);"),
    (None, "if (c) {\n    v = co_await g();\n} else {\n    v = item{};\n}"),
    ("R1", "co_await f({a, b});"),
    ("R1", "std::vector<item> v{a, co_await g(), b};"),
    (None, "v.push_back(co_await g());"),
    ("R2", "auto [a, b] = co_await g();"),
    ("R2", "for (;;) {\n    const auto& [a, b] = co_await g();\n}"),
    (None, "auto v = co_await g();\nauto& [a, b] = v;"),
    ("R1", "co_yield c ? a : b;"),
    ("R1", "co_yield {a, b};"),
    # Braces that open a block, and statements that stand beside one with co_await.
    (None, "if (co_await x()) {\n    item i{1};\n}"),
    (None, "if (auto r = co_await x(); !r) {\n    co_return r.error();\n}"),
    (None, "while (co_await x()) {\n    use(c ? 1 : 2);\n}"),
    (None, "for (auto& y : co_await z()) {\n    use(y);\n}"),
    (None, "for (auto& [k, v] : co_await z()) {\n    use(k);\n}"),
    ("R1", "for (auto& y : co_await z({1})) {\n    use(y);\n}"),
    (None, "switch (co_await x()) {\n    case 1:\n        co_await y();\n        break;\n}"),
    (None, "do {\n    item i{1};\n} while (co_await x());"),
    (None, "item i{1};\nco_await x();\nitem j{2};"),
    (None, "if (c) co_await x();\nelse i = item{2};"),
    (None, "if (co_await x()) return item{1};"),
    (None, "for (int i = c ? 1 : 2; i < co_await x(); ++i) {\n}"),
    (None, "{\n    item i{1};\n}\nco_await x();"),
    (None, "co_await f(co_await g(a[1], *b), x<int>());"),
    (None, "const bool both = co_await a() && co_await b();"),
    (None, "table[co_await x()] = values[2];"),
    ("R1", "table[item{1}.at] = co_await x();"),
    ("R1", "co_return item{co_await x()};"),
    (None, "co_return item{1};"),
    (None, 'co_await f("{?", \'{\', R"({ new ? })");  // {a ? b : new c}'),
    (None, "co_await f(/* {1} */ a);"),
    # Lambdas without captures, and what stands in the body of one.
    (None, "co_await f([] { return item{1}; });"),
    (None, "co_await f([](int a) -> item { return a ? item{1} : item{2}; });"),
    ("R1", "co_await f([&] { return 1; });"),
    ("R1", "co_await f(a, [this](int b) { return b; });"),
    # R5: coroutines that are lambdas with captures.
    ("R5", "spawn([x]() -> task<void> { co_await g(x); });"),
    ("R5", "auto fn = [x]() -> task<int> { co_return x; };\nco_await fn();"),
    (None, "spawn([]() -> task<void> { co_await g(); });"),
    (None, "auto fn = [x]() -> task<int> { co_return x; };\n"
           "co_await coro::invoke(std::move(fn), 1);"),
    (None, "spawn(coro::invoke([x]() -> task<void> { co_await g(x); }));"),
    (None, "spawn([x]() -> task<void> {  // lint: owned\n    co_await g(x);\n});"),
    (None, "auto fn = [x] {\n    return [](int y) -> task<int> { co_return y; };\n};"),
    # R3 and R7: awaiters.
    ("R3", "task<int> f();\nstruct w {\n    void await_suspend(handle h) noexcept {\n"
           "        h.destroy();\n    }\n};"),
    (None, "task<int> f();\nstruct w {\n    bool await_suspend(handle) noexcept { return 1; }\n"
           "    ~w() { h_.destroy(); }\n};"),
    ("R7", "task<int> f();\nstruct w {\n    void await_suspend(handle h) noexcept;\n"
           "    alignas(64) char x[64];\n};"),
    (None, "task<int> f();\nstruct w {\n    void await_suspend(handle h) noexcept;\n"
           "    alignas(16) char x[64];\n};\nstruct v {\n    alignas(64) char x[64];\n};"),
    # R8: big arrays in a frame.
    ("R8", "char buf[512];\nco_await g(buf);"),
    ("R8", "std::array<std::uint64_t, 64> a;\nco_await g(a);"),
    ("R8", "if (c) {\n    iovec v[17];\n    co_await g(v);\n}"),
    (None, "char buf[256];\nco_await g(buf);"),
    (None, "static constexpr char text[512] = {};\nco_await g(text);"),
    (None, "task<int> f() { co_return 1; }\nvoid g() { char buf[512]; use(buf); }"),
]


def run(check):
    """Prints each sample that is judged wrongly, then a summary. Returns the exit code."""
    wrong = 0
    for rule, text in SAMPLES:
        if not text.startswith("task<"):
            text = "namespace x {\ntask<void> c::f(int a) noexcept {\n" + text + \
                "\nco_return;\n}\n}  // namespace x\n"
        rules = {message.split(":")[0] for _, message in check(text)}
        if rules != ({rule} if rule else set()):
            wrong += 1
            print(f"lint_coro self-test: expected {rule}, found {rules or 'nothing'} in:\n{text}")
    trap = SAMPLES[0][1]
    if check("// lint: traps\n" + trap) or not check(trap + "\n// lint: traps"):
        wrong += 1
        print("lint_coro self-test: the mark that lets a file off is not honoured")
    print(f"lint_coro self-test: {len(SAMPLES) + 1 - wrong} of {len(SAMPLES) + 1} samples")
    return 1 if wrong else 0
