// task_record: what is known about a task, a tool call whose answer is fetched later
// (REVISIONS §12, §13). A value: every state of a task is a record of its own.
//
// Thread-safety: records that are shared are never changed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/revision.hpp"

namespace pillion::mcp {

enum class task_status : std::uint8_t { working, input_required, completed, failed, cancelled };

// Nothing changes afterwards.
constexpr bool is_terminal(task_status s) noexcept { return s >= task_status::completed; }

// As on the wire.
constexpr std::string_view name_of(task_status s) noexcept {
    switch (s) {
        case task_status::working:
            return "working";
        case task_status::input_required:
            return "input_required";
        case task_status::completed:
            return "completed";
        case task_status::failed:
            return "failed";
        case task_status::cancelled:
            return "cancelled";
    }
    return {};
}

// Something the client is asked. `request` is the entry of inputRequests as JSON; empty for clients
// up to 2025-11-25, which get it as a request.
struct task_question {
    std::string key;
    std::string request;
};

struct task_record {
    std::string id;            // unguessable
    std::string owner;         // the principal it belongs to; empty: whoever knows the id
    std::string session;       // the legacy session that began it, and lists it
    std::string tool;          // its name
    revision rev = modern;     // tells the dialect, and what the outcome looks like
    std::size_t shard = 0;     // where it runs
    std::uint64_t number = 0;  // the store's; grows with every task
    std::uint64_t change = 0;  // the store's; grows with every change of this one
    std::int64_t created_ms = 0;
    std::int64_t updated_ms = 0;
    std::int64_t ttl_ms = 0;  // from its creation
    std::int64_t poll_ms = 0;

    task_status status = task_status::working;
    std::string message;
    std::vector<task_question> questions;  // those without an answer
    // `"result":{…}` or `"error":{…}`, once it has ended by itself.
    std::string outcome;

    bool expired(std::int64_t now_ms) const noexcept { return now_ms - created_ms >= ttl_ms; }
};

using task_ref = std::shared_ptr<const task_record>;

}  // namespace pillion::mcp
