// ready_queue: what shall run on this thread next, in order.
//
// Every thread has exactly one. The reactor runs it once a turn; a test runs it by hand. Waking a
// coroutine always goes through it, so that whoever wakes (set(), release(), a stop request) never
// runs foreign code in the middle of its own.
//
// Nodes are intrusive and belong to whoever pushed them; they must live until they have run.
// Thread: push and run on the owning thread only.
#pragma once

#include <coroutine>
#include <cstddef>

#include <pillion/task.hpp>

#include "base/assert.hpp"

namespace pillion::coro {

using ready_node = pillion::detail::ready_node;

class ready_queue {
 public:
    constexpr ready_queue() noexcept = default;
    ready_queue(const ready_queue&) = delete;
    ready_queue& operator=(const ready_queue&) = delete;

    // Appends `node`. REQUIRES: it is not queued, and `run` is set.
    void push(ready_node& node) noexcept {
        PILLION_ASSERT(node.next == nullptr);
        node.next = &node;
        if (head_ == nullptr) {
            head_ = &node;
        } else {
            tail_->next = &node;
        }
        tail_ = &node;
    }

    // Runs up to `max` of the nodes queued at the call; what they push waits for the next call.
    // Returns whether it ran any.
    bool run_some(std::size_t max) noexcept {
        if (head_ == nullptr || max == 0) {
            return false;
        }
        const ready_node* const last = tail_;
        for (std::size_t i = 0; i < max; ++i) {
            ready_node& node = pop();
            const bool end = &node == last;
            node.run(node);
            if (end) {
                break;
            }
        }
        return true;
    }

    // Runs batches until nothing is queued; returns how many batches. For tests and for tools: a
    // pair of coroutines that wake each other for ever would never let it return.
    std::size_t run_all() noexcept {
        std::size_t batches = 0;
        while (run_some(static_cast<std::size_t>(-1))) {
            ++batches;
        }
        return batches;
    }

    // True when nothing waits to run.
    bool empty() const noexcept { return head_ == nullptr; }

    // The queue of this thread.
    static ready_queue& current() noexcept;

 private:
    ready_node& pop() noexcept {
        ready_node& node = *head_;
        head_ = node.next == &node ? nullptr : node.next;
        node.next = nullptr;
        return node;
    }

    ready_node* head_ = nullptr;
    ready_node* tail_ = nullptr;
};

namespace detail {
inline constinit thread_local ready_queue thread_queue;
}  // namespace detail

inline ready_queue& ready_queue::current() noexcept { return detail::thread_queue; }

// A node that resumes a coroutine.
struct resume_node : ready_node {
    std::coroutine_handle<> handle;

    resume_node() noexcept { run = &resume; }

    // Remembers `who` and appends it to the queue of this thread.
    void schedule(std::coroutine_handle<> who) noexcept {
        handle = who;
        ready_queue::current().push(*this);
    }

 private:
    static void resume(ready_node& node) noexcept {
        static_cast<resume_node&>(node).handle.resume();
    }
};

}  // namespace pillion::coro
