// answer_check: whether a JSON-RPC message is the right answer: its id, its result, the shape of
// that for the method, and the text that was expected.
//
// Parses in place; nothing is kept. Steady state: no heap. Thread: its shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <pillion/json.hpp>

#include "base/arena.hpp"
#include "fault.hpp"
#include "scenario.hpp"

namespace pillion::load {

class answer_check {
 public:
    answer_check(base::chunk_pool& pool, std::string expected)
        : memory_(pool), expected_(std::move(expected)) {}

    // Judges text[0..size), which is rewritten in place (limits::padding readable bytes follow).
    // nullopt: a request or notification, the answer is still to come.
    std::optional<verdict> judge(char* text, std::size_t size, std::uint64_t id, action of,
                                 bool modern) noexcept;

    // The revision that the last answer to `initialize` named.
    const std::string& negotiated() const noexcept { return negotiated_; }

 private:
    verdict judge_result(json::view result, action of, bool modern);

    base::arena memory_;
    std::string expected_;
    std::string negotiated_;
};

}  // namespace pillion::load
