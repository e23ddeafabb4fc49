// coro_battery: judges a compiler in seconds. Every coroutine pattern the house relies on runs to
// its end, once with awaits that complete at once and once with awaits that suspend, and is
// destroyed without having been started; each time every object must have died exactly once, in
// place, and no frame may be left.
//
// Known miscompilations (GCC 98401, 95599, 99576, 100897, 121961, 124584) do not occur here: these
// are the safe forms. A failure means that the compiler needs another house rule. A miscompiled
// pattern may end the process; --gtest_filter='*name*' judges one alone.
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <pillion/task.hpp>

#include "coro/frame_pool.hpp"
#include "coro/invoke.hpp"
#include "coro/ready_queue.hpp"
#include "coro/scope.hpp"
#include "coro/sync.hpp"

namespace pillion::coro {
namespace {

int alive = 0;   // tracked objects
int broken = 0;  // objects destroyed twice, moved bitwise, and failed checks

void check(bool fact) { broken += fact ? 0 : 1; }

// Notices a second destruction and a bitwise move; owns heap memory for the sanitizers to watch.
class tracked {
 public:
    explicit tracked(int value) : self_(this), value_(std::make_unique<int>(value)) { ++alive; }
    tracked(tracked&& other) noexcept : self_(this), value_(std::move(other.value_)) { ++alive; }
    tracked(const tracked& other) : self_(this), value_(std::make_unique<int>(other.value())) {
        ++alive;
    }
    tracked& operator=(tracked&& other) noexcept {
        value_ = std::move(other.value_);
        return *this;
    }
    ~tracked() {
        check(self_ == this);
        self_ = nullptr;
        --alive;
    }
    int value() const { return value_ == nullptr ? -1 : *value_; }

 private:
    tracked* self_;
    std::unique_ptr<int> value_;
};

bool suspending = false;

// An await that suspends in every second run.
struct step {
    bool await_ready() const noexcept { return !suspending; }
    void await_suspend(std::coroutine_handle<> caller) noexcept { node.schedule(caller); }
    void await_resume() const noexcept {}
    resume_node node;
};

task<tracked> give(int value) {
    const tracked local(value);
    co_await step();
    co_return tracked(local.value());
}
task<int> give_int(int value) {
    co_await step();
    co_return value;
}
task<int> take(tracked by_value) {
    co_await step();
    co_return by_value.value();
}
task<int> take_reference(const tracked& borrowed) {
    co_await step();
    co_return borrowed.value();
}
task<int> take_two(tracked a, tracked b) {
    co_await step();
    co_return a.value() * 10 + b.value();
}
task<std::pair<tracked, tracked>> give_pair() {
    co_await step();
    co_return std::pair<tracked, tracked>(tracked(1), tracked(2));
}
template <class Function>
task<int> call(Function function) {
    co_await step();
    co_return function();
}

// Options with a constructor may be temporaries of an await; aggregates may not.
struct options {
    options(tracked n, int c) : name(std::move(n)), count(c) {}
    tracked name;
    int count;
};
task<int> take_options(options o) {
    co_await step();
    co_return o.name.value() + o.count;
}
struct aggregate {
    tracked a;
    int number;
    tracked b;
};
task<int> take_aggregate(aggregate whole) {
    co_await step();
    co_return whole.a.value() + whole.number + whole.b.value();
}

task<void> named_closure_is_moved() {
    const tracked outer(7);
    auto function = [outer] { return outer.value(); };
    const int seen = co_await call(std::move(function));
    check(seen == 7);
}

task<void> class_temporary_with_constructor() {
    const int seen = co_await take_options(options(tracked(3), 4));
    check(seen == 7);
}

task<void> named_aggregate_is_moved() {
    aggregate whole{tracked(1), 2, tracked(3)};
    const int seen = co_await take_aggregate(std::move(whole));
    check(seen == 6);
}

task<void> aggregate_built_after_the_await() {
    tracked value = co_await give(5);
    const aggregate whole{tracked(1), 2, std::move(value)};
    check(whole.b.value() == 5);
    const auto on_heap = std::make_unique<aggregate>(aggregate{tracked(1), 2, tracked(3)});
    co_await step();
    check(on_heap->a.value() == 1);
}

task<void> array_filled_after_the_await() {
    tracked second = co_await give(2);
    const tracked both[2] = {tracked(1), std::move(second)};
    co_await step();
    check(both[0].value() + both[1].value() == 3);
}

task<void> if_else_for_a_choice() {
    for (const bool first : {true, false}) {
        std::optional<tracked> value;
        if (first) {
            value.emplace(co_await give(1));
        } else {
            value.emplace(2);
        }
        check(value->value() == (first ? 1 : 2));
    }
}

task<void> vector_by_push_back() {
    std::vector<tracked> all;
    for (int i = 0; i < 5; ++i) {
        all.push_back(co_await give(i));
    }
    all.emplace_back(co_await give(5));
    check(all.back().value() == 5);
}

task<void> await_of_an_await() {
    const int seen = co_await take(co_await give(9));
    check(seen == 9);
}

task<void> temporaries_around_an_await() {
    const int seen = co_await take_two(tracked(4), co_await give(2));
    check(seen == 42);
    const int swapped = co_await take_two(co_await give(2), tracked(4));
    check(swapped == 24);
}

int add(const tracked& a, const tracked& b) { return a.value() + b.value(); }

task<void> plain_call_with_awaited_arguments() {
    check(add(co_await give(1), tracked(2)) == 3);
    check(add(co_await give(1), co_await give(2)) == 3);
}

task<void> temporary_by_reference_in_one_statement() {
    const int seen = co_await take_reference(tracked(8));
    check(seen == 8);
}

task<void> logical_operators() {
    if (co_await give_int(1) == 1 && co_await give_int(2) == 2) {
        check(co_await give_int(0) == 1 || (co_await give(1)).value() == 1);
    } else {
        check(false);
    }
    const tracked zero(0);
    check(!(zero.value() == 1 && (co_await give(1)).value() == 1));
}

task<std::vector<tracked>> give_vector() {
    std::vector<tracked> all;
    all.push_back(co_await give(1));
    all.push_back(co_await give(2));
    co_return all;
}

task<void> range_for() {
    int sum = 0;
    for (const tracked& one : co_await give_vector()) {
        co_await step();
        sum += one.value();
    }
    check(sum == 3);
}

task<void> conditions() {
    if (const tracked value = co_await give(1); value.value() == 1) {
        co_await step();
    } else {
        check(false);
    }
    switch (co_await give_int(2)) {
        case 2:
            co_await step();
            break;
        default:
            check(false);
    }
    int rounds = 0;
    while (co_await give_int(rounds) < 3) {
        const tracked inside(rounds);
        ++rounds;
    }
    check(rounds == 3);
}

task<void> structured_binding_of_a_named_value() {
    for (int i = 0; i < 3; ++i) {
        auto both = co_await give_pair();
        auto& [first, second] = both;
        co_await step();
        check(first.value() + second.value() == 3);
    }
}

task<void> invoked_closure_coroutine() {
    const tracked outer(6);
    auto work = [outer](tracked argument) -> task<int> {
        co_await step();
        co_return outer.value() + argument.value();
    };
    const int seen = co_await coro::invoke(std::move(work), tracked(1));
    check(seen == 7);
}

task<int> throw_it(tracked parameter) {
    const tracked local(parameter.value());
    co_await step();
    if (local.value() == 1) {
        throw std::runtime_error("on purpose");
    }
    co_return 0;
}

task<void> exceptions_through_awaits() {
    for (int i = 0; i < 2; ++i) {
        const tracked outside(0);
        std::optional<tracked> caught;
        try {
            const tracked inside(0);
            check(co_await throw_it(tracked(i)) == 0);
        } catch (const std::runtime_error&) {
            caught.emplace(1);
        }
        co_await step();
        check(caught.has_value() == (i == 1));
    }
}

task<void> discarded_results() {
    static_cast<void>(co_await give(1));
    co_await give(2);
    check(alive == 0);
}

task<std::optional<tracked>> give_optional(bool some) {
    co_await step();
    if (!some) {
        co_return std::nullopt;
    }
    co_return tracked(1);
}
task<std::variant<int, tracked>> give_variant() {
    co_await step();
    co_return tracked(2);
}
task<std::unique_ptr<tracked>> give_pointer() {
    auto value = std::make_unique<tracked>(3);
    co_await step();
    co_return value;
}

task<void> results_of_library_types() {
    const std::optional<tracked> none = co_await give_optional(false);
    const std::optional<tracked> some = co_await give_optional(true);
    const std::variant<int, tracked> either = co_await give_variant();
    const std::unique_ptr<tracked> pointer = co_await give_pointer();
    check(!none && some && std::get<tracked>(either).value() == 2 && pointer->value() == 3);
}

task<tracked> pass_on(int value) { co_return co_await give(value); }

task<void> assignments_and_returns() {
    tracked value = co_await pass_on(1);
    value = co_await pass_on(2);
    check(value.value() == 2);
    std::string text(40, 'a');
    text += std::to_string(co_await give_int(7));
    check(text.back() == '7');
}

task<int> leave_early(int where) {
    const tracked outer(0);
    for (int i = 0;; ++i) {
        const tracked inner(i);
        co_await step();
        if (i == where) {
            co_return inner.value();
        }
    }
}

task<void> early_returns() {
    for (int i = 0; i < 3; ++i) {
        check(co_await leave_early(i) == i);
    }
}

class base_object {
 public:
    virtual ~base_object() = default;
    virtual task<int> work(tracked argument) = 0;
};
class derived_object final : public base_object {
 public:
    task<int> work(tracked argument) override {
        co_await step();
        co_return own_.value() + argument.value();
    }

 private:
    tracked own_{10};
};

task<void> virtual_member_coroutine() {
    const std::unique_ptr<base_object> object = std::make_unique<derived_object>();
    check(co_await object->work(tracked(1)) == 11);
}

task<void> child(event& gate, tracked kept) {
    co_await gate.wait();
    check(kept.value() == 1);
}

task<void> nursery_in_the_frame() {
    event gate;
    scope nursery;
    nursery.spawn(child(gate, tracked(1)));
    nursery.spawn(child(gate, tracked(1)));
    co_await step();
    gate.set();
    co_await nursery.join();
    check(alive == 0);
}

// A frame of the stack per round would not survive this.
task<void> flat_stack() {
    int sum = 0;
    for (int i = 0; i < 200'000; ++i) {
        sum += co_await give_int(1);
    }
    check(sum == 200'000);
}

// Five parameters with destructors, for the case of the never-started task.
task<int> many(tracked a, tracked b, tracked c, std::string d, std::unique_ptr<tracked> e) {
    co_await step();
    co_return a.value() + b.value() + c.value() + static_cast<int>(d.size()) + e->value();
}

task<void> parameters_by_value() {
    auto pointer = std::make_unique<tracked>(5);
    tracked named(1);
    const int seen = co_await many(named, std::move(named), tracked(3), "four", std::move(pointer));
    check(seen >= 13);
    {
        const task<int> never = take_two(tracked(1), tracked(2));
        check(alive > 0);
    }
}

struct pattern {
    const char* name;
    task<void> (*make)();
};

const pattern patterns[] = {
    {"named_closure_is_moved", named_closure_is_moved},
    {"class_temporary_with_constructor", class_temporary_with_constructor},
    {"named_aggregate_is_moved", named_aggregate_is_moved},
    {"aggregate_built_after_the_await", aggregate_built_after_the_await},
    {"array_filled_after_the_await", array_filled_after_the_await},
    {"if_else_for_a_choice", if_else_for_a_choice},
    {"vector_by_push_back", vector_by_push_back},
    {"await_of_an_await", await_of_an_await},
    {"temporaries_around_an_await", temporaries_around_an_await},
    {"plain_call_with_awaited_arguments", plain_call_with_awaited_arguments},
    {"temporary_by_reference_in_one_statement", temporary_by_reference_in_one_statement},
    {"logical_operators", logical_operators},
    {"range_for", range_for},
    {"conditions", conditions},
    {"structured_binding_of_a_named_value", structured_binding_of_a_named_value},
    {"invoked_closure_coroutine", invoked_closure_coroutine},
    {"exceptions_through_awaits", exceptions_through_awaits},
    {"discarded_results", discarded_results},
    {"results_of_library_types", results_of_library_types},
    {"assignments_and_returns", assignments_and_returns},
    {"early_returns", early_returns},
    {"virtual_member_coroutine", virtual_member_coroutine},
    {"nursery_in_the_frame", nursery_in_the_frame},
    {"flat_stack", flat_stack},
    {"parameters_by_value", parameters_by_value},
};

class coro_battery : public testing::TestWithParam<pattern> {
 protected:
    void SetUp() override { alive = broken = 0; }
    void TearDown() override {
        suspending = false;
        EXPECT_EQ(alive, 0);
        EXPECT_EQ(broken, 0);
        EXPECT_EQ(frame_pool::live(), 0U);
        EXPECT_TRUE(ready_queue::current().empty());
    }
    static void run() {
        scope nursery;
        nursery.spawn(GetParam().make());
        ready_queue::current().run_all();
        ASSERT_EQ(nursery.running(), 0U);
    }
};

TEST_P(coro_battery, runs_to_its_end_without_suspending) { run(); }

TEST_P(coro_battery, runs_to_its_end_suspending) {
    suspending = true;
    run();
}

TEST_P(coro_battery, dies_without_having_been_started) {
    const task<void> never = GetParam().make();
    EXPECT_TRUE(static_cast<bool>(never));
}

INSTANTIATE_TEST_SUITE_P(patterns, coro_battery, testing::ValuesIn(patterns),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace pillion::coro
