#include "coro/scope.hpp"

#include <cstdio>
#include <exception>
#include <utility>

#include "base/assert.hpp"

namespace pillion::coro {

namespace {

// Names the exception being handled and aborts.
[[noreturn, gnu::cold]] void exception_escaped() noexcept {
    char text[256] = "an exception escaped a spawned task";
    try {
        throw;
    } catch (const std::exception& e) {
        std::snprintf(text, sizeof(text), "an exception escaped a spawned task: %s", e.what());
    } catch (...) {
        // The text above says all there is.
    }
    base::assert_fail(text, __FILE__, __LINE__);
}

}  // namespace

// A coroutine that starts at once and frees itself at its end.
struct scope::runner {
    struct promise_type {
        [[gnu::returns_nonnull]] static void* operator new(std::size_t bytes) {
            return pillion::detail::frame_allocate(bytes);
        }
        static void operator delete(void* frame, std::size_t bytes) noexcept {
            pillion::detail::frame_free(frame, bytes);
        }
        runner get_return_object() const noexcept { return {}; }
        std::suspend_never initial_suspend() const noexcept { return {}; }
        std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        void unhandled_exception() const noexcept { exception_escaped(); }
    };
};

scope::runner scope::run(scope& of, task<void> body) noexcept {
    {
        // The child's frame is gone before the scope counts it as ended.
        task<void> child = std::move(body);
        co_await std::move(child);
    }
    of.ended();
}

scope::~scope() {
    PILLION_ASSERT(running_ == 0);
    PILLION_ASSERT(joiner_ == nullptr);
}

void scope::spawn(task<void> body) noexcept {
    PILLION_ASSERT(static_cast<bool>(body));
    ++running_;
    run(*this, std::move(body));
}

void scope::ended() noexcept {
    PILLION_ASSERT(running_ > 0);
    --running_;
    if (running_ == 0 && joiner_ != nullptr) {
        ready_queue::current().push(*std::exchange(joiner_, nullptr));
    }
}

void scope::join_awaiter::await_suspend(std::coroutine_handle<> caller) noexcept {
    PILLION_ASSERT(scope_->joiner_ == nullptr);
    caller_ = caller;
    scope_->joiner_ = this;
}

void scope::join_awaiter::wake(ready_node& node) noexcept {
    auto& self = static_cast<join_awaiter&>(node);
    if (self.scope_->running_ > 0) {
        // Somebody spawned between the last end and now.
        self.scope_->joiner_ = &self;
        return;
    }
    self.caller_.resume();
}

}  // namespace pillion::coro
