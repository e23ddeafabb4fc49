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

void spawned::promise_type::unhandled_exception() const noexcept { exception_escaped(); }

namespace {

spawned run(scope&, task<void> body) noexcept {
    // The child's frame is gone before this one.
    task<void> child = std::move(body);
    co_await std::move(child);
}

}  // namespace

scope::~scope() {
    PILLION_ASSERT(running_ == 0);
    PILLION_ASSERT(joiner_ == nullptr);
}

void scope::spawn(task<void> body) noexcept {
    PILLION_ASSERT(static_cast<bool>(body));
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
