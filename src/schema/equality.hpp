// equality: deep equality and hashes of JSON values for the validator: within its step budget, and
// with memory of its arena only (json::equal() sorts large objects on the heap).
//
// Thread-safety: objects for one validation on one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <pillion/json.hpp>

#include "base/arena.hpp"

namespace pillion::schema_check {

// Steps that a validation has left.
class step_budget {
 public:
    explicit step_budget(std::size_t steps) noexcept : left_(steps) {}
    // False when there are not so many; nothing is left then.
    bool spend(std::size_t steps) noexcept {
        if (steps > left_) [[unlikely]] {
            exhaust();
            return false;
        }
        left_ -= steps;
        return true;
    }
    void exhaust() noexcept {
        left_ = 0;
        exhausted_ = true;
    }
    std::size_t left() const noexcept { return left_; }
    bool exhausted() const noexcept { return exhausted_; }

 private:
    std::size_t left_;
    bool exhausted_ = false;
};

// Blocks of an arena that are used again, so that a validation never holds more than it uses at one
// time.
class scratch {
 public:
    // Most validations need none, so nothing is prepared.
    explicit scratch(base::arena& memory) noexcept : memory_(memory) {}
    void* take(std::size_t bytes) noexcept;
    // REQUIRES: take(bytes) gave `block`.
    void give(void* block, std::size_t bytes) noexcept;

 private:
    struct free_block {
        free_block* next;
    };
    base::arena& memory_;
    bool used_ = false;
    std::array<free_block*, 40> free_;  // by the logarithm of their size; nothing before the first
};

// Whether the values are equal (numbers by value, objects without regard to order, the last of
// equal names). Meaningless once the budget is exhausted.
bool equal(json::view a, json::view b, scratch& memory, step_budget& budget) noexcept;

// Equal values have equal hashes.
std::uint64_t hash_of(json::view value, scratch& memory, step_budget& budget) noexcept;

}  // namespace pillion::schema_check
