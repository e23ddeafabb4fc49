// dialogue: what is measured as one where that is more than a question and its answer: which
// question comes next, and whether what was heard is what the scenario is about.
//
// Not for the steady state of plain scenarios: allocates. Thread: its shard.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "answer_check.hpp"
#include "scenario.hpp"

namespace pillion::load {

class dialogue : public answer_taker {
 public:
    virtual ~dialogue() = default;

    // It begins with this question, which outlives it.
    virtual void begin(const question& asked) = 0;
    // The question that follows the answer that was taken last; null when that was all.
    virtual const question* next() = 0;
    // How long to wait before it.
    virtual std::int64_t pause_ns() const noexcept { return 0; }

    // Since begin(): messages of progress, looks at the task, or questions that were answered.
    std::uint64_t events() const noexcept { return events_; }

 protected:
    std::uint64_t events_ = 0;
};

// That of `what`, which outlives it; null where one answer is all. `poll_ns` is the time between
// two looks at a task; negative: what the server says.
std::unique_ptr<dialogue> make_dialogue(const scenario& what, std::int64_t poll_ns);

}  // namespace pillion::load
