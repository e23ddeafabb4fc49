// regex: the patterns of "pattern" and "patternProperties": ECMA-262 with the flag u, matched by
// RE2 in linear time.
//
// What RE2 does: a program is made at compile time; matching builds a deterministic automaton of
// it lazily, so the first strings of a new kind take memory from the heap, at most memory_bytes_max
// for each pattern. Once that is full it starts over, and falls back on simulating the program.
//
// Ownership: owned by the program. Thread-safety: immutable to its callers; RE2 locks its
// automaton.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "schema/equality.hpp"

namespace pillion::schema_check {

class regex {
 public:
    // Memory of one pattern, program and automaton together.
    static constexpr std::int64_t memory_bytes_max = 1024 * 1024;

    // Null with `fault` set when `pattern` is malformed, has no RE2 form or is too large.
    static std::unique_ptr<regex> compile(std::string_view pattern, std::string& fault);
    ~regex();
    regex(const regex&) = delete;
    regex& operator=(const regex&) = delete;

    // Whether it matches anywhere in `text`.
    bool matches(std::string_view text) const noexcept;
    // The same at the expense of `budget`; false also when that is exhausted.
    bool matches(std::string_view text, step_budget& budget) const noexcept;
    // How large RE2's program is, about; 0 where it is not needed.
    std::size_t weight() const noexcept { return weight_; }

 private:
    struct engine;
    class stopwatch;
    explicit regex(std::unique_ptr<engine> made) noexcept;
    std::size_t steps_at_least(std::size_t bytes) const noexcept;
    std::size_t steps_at_most(std::size_t bytes) const noexcept;
    bool affordable(std::string_view text, const step_budget& budget,
                    const stopwatch& spent) const noexcept;

    std::unique_ptr<engine> engine_;
    std::size_t program_size_ = 0;
    std::size_t weight_ = 0;
};

}  // namespace pillion::schema_check
