// invoke: runs a coroutine lambda safely.
//
// The captures of a lambda coroutine live in the closure object, not in its frame: a temporary
// closure is gone at the first suspension. invoke() keeps closure and arguments in a frame of its
// own until the coroutine has ended. This is the only way a capturing lambda may be a coroutine.
//
//   auto work = [name = std::move(name)]() -> task<void> { co_await greet(name); };
//   nursery.spawn(coro::invoke(std::move(work)));
#pragma once

#include <type_traits>
#include <utility>

#include <pillion/task.hpp>

namespace pillion::coro {

// The task `callable(args...)` makes. Callable and arguments are moved into the frame and live
// until the task has ended; pass std::ref() for what shall stay outside. Always call it qualified:
// arguments from namespace std would find std::invoke.
template <class Callable, class... Args>
auto invoke(Callable callable, Args... args) -> std::invoke_result_t<Callable&, Args...> {
    co_return co_await callable(std::move(args)...);
}

}  // namespace pillion::coro
