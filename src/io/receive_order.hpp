// receive_order: whose receives uring_backend submits first where there are more bytes than
// buffers.
//
// A sender that is quicker than we read can take all receive buffers of a turn. Such a one is
// greedy: it stands behind those that found none, and receives piece by piece, which it does not
// where its receives go on by themselves (multishot) until its socket is empty.
// The marks are bits of op::flags, which the backend owns. Thread: its shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/op.hpp"

namespace pillion::io {

class receive_order {
 public:
    static constexpr std::uint8_t flag_fed = 8;       // got bytes in this turn: see sort()
    static constexpr std::uint8_t flag_greedy = 16;   // took all buffers, and more bytes wait
    static constexpr std::uint8_t flag_emptied = 32;  // greedy, and its last receive left no bytes
    // These outlive the op's submission.
    static constexpr std::uint8_t flags_kept = flag_greedy | flag_emptied;

    // Where buffers last for all again, nobody is: piece by piece a large message takes more turns
    // than those of senders that were never greedy.
    static constexpr std::uint64_t short_for_turns = 4096;

    bool is_greedy(const op& target) const noexcept {
        return (target.flags & flag_greedy) != 0 && turn_ - short_turn_ < short_for_turns;
    }

    // One got bytes, and left none where `emptied`. So does the end of a large message, and the
    // next one would take all buffers from those that go piece by piece: greedy is who has not left
    // none twice in a row.
    static void received(op& target, bool emptied) noexcept {
        if ((target.flags & flag_greedy) == 0) [[likely]] {
            return;
        }
        if (!emptied) {
            target.flags &= static_cast<std::uint8_t>(~flag_emptied);
        } else if ((target.flags & flag_emptied) == 0) {
            target.flags |= flag_emptied;
        } else {
            target.flags &= static_cast<std::uint8_t>(~flags_kept);
        }
    }

    // To be submitted in the next turn, when what is lent is back: what found no buffer, and behind
    // it what got bytes and goes on.
    std::vector<op*> starved;
    std::vector<op*> fed;

    // All completions of a turn are there. Who found no buffer and had one before in it is greedy.
    void sort(const std::vector<completion>& told) noexcept {
        ++turn_;
        if (starved.empty()) [[likely]] {
            return;
        }
        short_turn_ = turn_;
        for (op* const one : starved) {
            one->flags &= static_cast<std::uint8_t>(~flag_fed);
        }
        for (const completion& what : told) {
            if (what.data != nullptr) {
                what.target->flags |= flag_fed;
            }
        }
        std::size_t left = 0;
        for (op* const one : starved) {
            if ((one->flags & flag_fed) == 0) {
                starved[left++] = one;
            } else {
                one->flags |= flag_greedy;
                fed.push_back(one);
            }
        }
        starved.resize(left);
    }

 private:
    std::uint64_t turn_ = 0;
    std::uint64_t short_turn_ = 0;  // the last in which somebody found no buffer
};

}  // namespace pillion::io
