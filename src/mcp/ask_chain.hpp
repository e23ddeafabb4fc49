// ask_chain: how a handler puts questions to a client of 2026-07-28, which takes no requests from a
// server (REVISIONS §10). The call ends with `input_required` and what is asked; the client sends
// the call again with the answers, the handler runs again from the top, and what was answered
// before returns at once.
//
// Everything that is known travels in `requestState`, sealed for the method, its target, the
// arguments and the handler (crypto/key_ring): nothing is kept here between two rounds, and any
// process with the same keys can serve the next one. An answer counts for the key and the exact
// question that was asked; a question that has changed is asked again. The one exception are
// answers that count once: which chains have used theirs, the process remembers (mcp/spent_nonces).
//
// Lives in the arena of its request. Thread: the request's.
#pragma once

#include <cstdint>
#include <string_view>

#include <pillion/json.hpp>

#include "base/byte_buffer.hpp"
#include "base/function_ref.hpp"
#include "mcp/replies.hpp"
#include "mcp/request.hpp"

namespace pillion::mcp {

class ask_chain {
 public:
    // The chain of `r`, begun when there is none.
    static ask_chain& of(request& r) noexcept;
    // Reads requestState and inputResponses. False with a fault when they cannot be trusted.
    // REQUIRES: target and arguments of `r` are set.
    static bool read(request& r, fault& why);

    // Takes an answer that came without a state, for a question with a key of its own: a client may
    // know what will be asked.
    void take_offer(std::string_view key, std::string_view digest) noexcept;
    // The key of the next question that was given none: "q1", "q2", … in the order of asking.
    std::string_view next_key() noexcept;
    // Names a question: the same method and params give the same text.
    static std::string_view digest_of(request& r, std::string_view method,
                                      std::string_view params) noexcept;

    // The answer to this question, if there is one that fits; one that does not is forgotten.
    json::view find(std::string_view key, std::string_view digest,
                    base::function_ref<bool(json::view)> fits) noexcept;

    // Uses up an answer that counts once. False when it was used before, or when that cannot be
    // remembered: then the call is answered with an error, and the handler is stopped.
    // REQUIRES: find() gave an answer for this key.
    bool spend(std::string_view key) noexcept;

    enum class need_result : std::uint8_t { first, another, clash };
    // Adds a question for the client: the first of this round, or another one. clash: a different
    // question has this key, or it is not UTF-8.
    need_result need(std::string_view key, std::string_view digest, std::string_view method,
                     std::string_view params) noexcept;

    // What a handler wants to find again in later rounds; JSON. A missing view when there is none.
    void remember(std::string_view key, json::view value) noexcept;
    json::view remembered(std::string_view key) const noexcept;

    // Ends the call with the questions of this round, and stops the handler.
    void conclude() noexcept;

 private:
    // A question, answered or not; also a remembered value.
    struct entry {
        entry* next = nullptr;
        std::string_view key;
        std::string_view digest;
        std::string_view method;
        std::string_view params;
        json::view value;
        bool spent = false;  // an answer that counts once, and did
    };

    explicit ask_chain(request& r) noexcept : request_(&r) {}
    friend class base::arena;

    bool read_state(std::string_view text, fault& why);
    // Ends the call with an error, and stops the handler.
    void end_with(const fault& why, outcome how) noexcept;
    std::string_view context() const noexcept;
    entry* add(entry*& list, std::string_view key, std::string_view digest) noexcept;
    static entry* in(entry* list, std::string_view key) noexcept;
    void write_state(json::writer& w) const;
    base::byte_buffer message(std::string_view sealed) const;

    request* request_;
    entry* answered_ = nullptr;
    entry* asked_ = nullptr;  // by the round before this one
    entry* open_ = nullptr;   // by this round
    entry* remembered_ = nullptr;
    // Names the chain until an answer that counts once is used; empty before the first round ends.
    std::string_view nonce_;
    json::view offered_;  // inputResponses without requestState
    unsigned unnamed_ = 0;
};

}  // namespace pillion::mcp
