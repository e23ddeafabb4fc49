// reporter: turns refused steps into failures: where, and what was expected. Its words are
// constants and values of the schema; of the checked value it repeats nothing but the names on the
// way to the fault.
//
// Ownership: texts are in the arena. Thread-safety: an object for one validation.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/arena.hpp"
#include "schema/program.hpp"
#include "schema/validator.hpp"

namespace pillion::schema_check {

// One step from the root to the current value; `key` counts when in_object.
struct frame {
    const frame* parent = nullptr;
    std::string_view key{};
    std::size_t index = 0;
    bool in_object = false;
    bool declared = true;  // the key is a name of the schema
};

class reporter {
 public:
    reporter(const program& from, base::arena& memory, std::span<failure> errors,
             std::size_t& count) noexcept
        : from_(from), memory_(memory), errors_(errors), count_(count) {
        count_ = 0;
    }

    bool full() const noexcept { return count_ == errors_.size(); }
    // The value at `at` was refused by `one`. Nothing happens when it is full.
    void add(const step& one, const frame* at) noexcept;
    // How many there are, and forgetting those behind the first `count`.
    std::size_t count() const noexcept { return count_; }
    void forget(std::size_t count) noexcept { count_ = count; }
    // Whether one of those behind the first `count` says that the value at `at` is of another kind
    // altogether: the wrong type, or one of its members is not the constant that tells kinds apart.
    bool of_another_kind(std::size_t count, const frame* at) const noexcept;
    // Forgets the rest and says that a limit was reached.
    void limit(std::string_view message) noexcept;

 private:
    void render_path(const frame* at, failure& out) noexcept;

    const program& from_;
    base::arena& memory_;
    std::span<failure> errors_;
    std::size_t& count_;
};

}  // namespace pillion::schema_check
