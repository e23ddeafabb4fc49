// send_slots: what a stream needs only while a send is in flight. An idle connection has none, and
// under load the same few are used again and again. Thread: its shard.
#pragma once

#include <sys/uio.h>
#include <cstddef>
#include <memory>
#include <vector>

#include "io/op.hpp"
#include "io/out_queue.hpp"

namespace pillion::io {

struct send_slot : transfer_op {
    send_slot() noexcept : transfer_op(nullptr) {}
    void* owner = nullptr;
    send_slot* next = nullptr;  // of those that are free
    iovec parts[out_queue::gather_few];
};

class send_slots {
 public:
    send_slots() noexcept = default;
    send_slots(const send_slots&) = delete;
    send_slots& operator=(const send_slots&) = delete;

    // Never null. Comes from the heap when more are in flight than ever before.
    send_slot* take(op::handler on_complete, void* owner) noexcept {
        if (free_ == nullptr) {
            add();
        }
        send_slot* const taken = free_;
        free_ = taken->next;
        taken->on_complete = on_complete;
        taken->owner = owner;
        return taken;
    }
    // REQUIRES: its completion was dispatched.
    void give(send_slot* slot) noexcept {
        slot->next = free_;
        free_ = slot;
    }

 private:
    static constexpr std::size_t block = 32;

    void add() noexcept {
        blocks_.push_back(std::make_unique<send_slot[]>(block));
        for (std::size_t i = 0; i < block; ++i) {
            give(&blocks_.back()[i]);
        }
    }

    send_slot* free_ = nullptr;
    std::vector<std::unique_ptr<send_slot[]>> blocks_;
};

}  // namespace pillion::io
