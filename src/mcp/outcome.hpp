// outcome: how a request ended, as one word of a closed list: the call log's "status" and the
// metrics' error_type. Literals become one where they stand; a word that is not in the list does
// not compile.
//
// Thread-safety: a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pillion::mcp {

class outcome {
 public:
    static constexpr std::string_view words[] = {
        "ok",
        "input_required",  // the client was asked something and comes back (2026-07-28)
        "tool_error",
        "error",
        "bad_arguments",
        "not_found",
        "forbidden",
        "timeout",
        "cancelled",
        "disconnected",
        "session_ended",
        "rate_limited",
        "overloaded",
        "unavailable",
        "too_large",
        "too_many_tasks",
        "exception",
        // What the server's own code did wrong, or a client with the state it carries.
        "bad_structured_content",
        "output_schema_violated",
        "empty_resource",
        "state_too_large",
        "used_answers",
    };
    static constexpr std::size_t count = sizeof(words) / sizeof(words[0]);

    constexpr outcome() noexcept = default;
    consteval outcome(const char* word) : index_(find(word)) {}

    // REQUIRES: index < count.
    static constexpr outcome at(std::size_t index) noexcept {
        outcome one;
        one.index_ = static_cast<std::uint8_t>(index);
        return one;
    }

    constexpr std::size_t index() const noexcept { return index_; }
    constexpr std::string_view word() const noexcept { return words[index_]; }
    constexpr operator std::string_view() const noexcept { return word(); }
    // Neither "ok" nor "input_required".
    constexpr bool is_error() const noexcept { return index_ > 1; }

    friend constexpr bool operator==(outcome, outcome) noexcept = default;

 private:
    static consteval std::uint8_t find(std::string_view word) {
        for (std::size_t i = 0; i < count; ++i) {
            if (words[i] == word) {
                return static_cast<std::uint8_t>(i);
            }
        }
        throw "not in the list of outcomes";  // seen by the compiler only
    }

    std::uint8_t index_ = 0;
};

}  // namespace pillion::mcp
