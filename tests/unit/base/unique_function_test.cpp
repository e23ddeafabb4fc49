// unique_function and function_ref: calls, moves, storage inside and on the heap, lifetimes.
#include "base/unique_function.hpp"

#include <array>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/function_ref.hpp"

namespace pillion::base {
namespace {

// Counts its living copies; `Extra` decides whether it fits inside.
template <std::size_t Extra>
struct counted {
    explicit counted(int& n) noexcept : alive(&n) { ++*alive; }
    counted(counted&& other) noexcept : alive(other.alive) { ++*alive; }
    ~counted() { --*alive; }
    int operator()(int x) const noexcept { return x + *alive; }
    int* alive;
    std::array<char, Extra> extra{};
};

template <std::size_t Extra, bool Inside>
void lives_and_dies() {
    using function = unique_function<int(int)>;
    static_assert(function::fits_inline<counted<Extra>> == Inside);
    int alive = 0;
    {
        function a = counted<Extra>(alive);
        EXPECT_EQ(alive, 1);
        EXPECT_EQ(a(10), 11);
        function b = std::move(a);
        EXPECT_EQ(alive, 1);
        EXPECT_FALSE(static_cast<bool>(a));  // NOLINT(bugprone-use-after-move)
        EXPECT_EQ(b(20), 21);
        function c = counted<Extra>(alive);
        EXPECT_EQ(alive, 2);
        c = std::move(b);
        EXPECT_EQ(alive, 1);
        EXPECT_EQ(c(30), 31);
        c.reset();
        EXPECT_EQ(alive, 0);
        EXPECT_FALSE(static_cast<bool>(c));
        c = counted<Extra>(alive);
        EXPECT_EQ(alive, 1);
    }
    EXPECT_EQ(alive, 0);
}

TEST(unique_function, small_callables_live_inside) { lives_and_dies<40, true>(); }
TEST(unique_function, large_callables_live_on_the_heap) { lives_and_dies<41, false>(); }

TEST(unique_function, takes_move_only_captures_and_arguments) {
    auto held = std::make_unique<int>(1);
    unique_function<std::unique_ptr<int>(std::unique_ptr<int>)> add =
        [held = std::move(held)](std::unique_ptr<int> more) {
            *more += *held;
            return more;
        };
    EXPECT_EQ(*add(std::make_unique<int>(41)), 42);
}

TEST(unique_function, passes_references_and_drops_results) {
    std::string text;
    unique_function<void(std::string&)> append = [](std::string& to) { return to.append("x"); };
    append(text);
    append(text);
    EXPECT_EQ(text, "xx");
}

int twice(int x) { return 2 * x; }

TEST(unique_function, holds_a_plain_function) {
    unique_function<int(int)> call = twice;
    EXPECT_EQ(call(21), 42);
}

TEST(unique_function_death, calling_an_empty_one) {
    unique_function<void()> empty;
    EXPECT_DEATH(empty(), "operations_ != nullptr");
}

int call_with_three(function_ref<int(int)> callee) { return callee(3); }

TEST(function_ref, calls_what_it_borrows) {
    int calls = 0;
    auto count = [&calls](int x) {
        ++calls;
        return x + 1;
    };
    EXPECT_EQ(call_with_three(count), 4);
    EXPECT_EQ(call_with_three([](int x) { return x * 10; }), 30);
    const auto constant = [](int x) { return -x; };
    EXPECT_EQ(call_with_three(constant), -3);
    EXPECT_EQ(calls, 1);
    static_assert(sizeof(function_ref<int(int)>) == 2 * sizeof(void*));
}

TEST(function_ref, a_copy_borrows_the_same_callable) {
    int sum = 0;
    auto add = [&sum](int x) { sum += x; };
    const function_ref<void(int)> first = add;
    const function_ref<void(int)> second = first;
    first(1);
    second(2);
    EXPECT_EQ(sum, 3);
}

}  // namespace
}  // namespace pillion::base
