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

// Who goes on where one answer is not all.
class answer_taker {
 public:
    // A notification or request that came before the answer. Valid for the call.
    virtual void hear(json::view message) = 0;
    // The result of the request; what it amounts to. Valid for the call.
    virtual verdict take(json::view result) = 0;
    // Whether what was taken last was all: only there is the text that was expected.
    virtual bool is_over() const noexcept { return true; }

 protected:
    ~answer_taker() = default;
};

class answer_check {
 public:
    answer_check(base::chunk_pool& pool, std::string expected)
        : memory_(pool), expected_(std::move(expected)) {}

    // Judges text[0..size), which is rewritten in place (limits::padding readable bytes follow).
    // nullopt: a request or notification, the answer is still to come. `taker`, when there is one,
    // hears of it, and judges results in the place of what is said here about the method's.
    std::optional<verdict> judge(char* text, std::size_t size, std::uint64_t id, action of,
                                 bool modern, answer_taker* taker = nullptr) noexcept;

    // What the request that was judged last is answered with; empty when it was none. A ping must
    // be answered, and who asks for more is told that there is nothing (a client that offers none).
    const std::string& reply() const noexcept { return reply_; }

    // Whether a result is one of this method.
    static verdict judge_shape(json::view result, action of, bool modern);

    // The revision that the last answer to `initialize` named.
    const std::string& negotiated() const noexcept { return negotiated_; }

 private:
    base::arena memory_;
    std::string expected_;
    std::string negotiated_;
    std::string reply_;
};

}  // namespace pillion::load
