// task_store: where tasks are kept, and the rules of their life: an expired task does not exist, an
// ended one never changes, caps hold. tests/unit/mcp/task_store_test.cpp is the contract that every
// implementation passes.
//
// Times are milliseconds since 1970, given by the caller. Thread-safety: every function may be
// called from any shard, and must not keep it waiting: an implementation that writes to a disk or a
// network does so behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/function_ref.hpp"
#include "mcp/task_record.hpp"

namespace pillion::mcp {

class task_store {
 public:
    virtual ~task_store() = default;

    // Keeps a new task; every find() that begins afterwards sees it. Null when a cap is reached;
    // else the record as it is kept, with its number.
    virtual task_ref insert(task_record made) = 0;

    // Null when there is none of that id, or it has expired.
    virtual task_ref find(std::string_view id, std::int64_t now_ms) const = 0;

    // What became of change(): `now` is null when there is no such task.
    struct change_result {
        task_ref now;
        bool changed = false;
    };
    // Lets `edit` work on a copy, which becomes the record if it says true. An ended task is not
    // shown to it. Only status, message, questions and outcome may be edited; `updated_ms` and
    // `change` are set. Changes of one task happen one after the other.
    virtual change_result change(std::string_view id, std::int64_t now_ms,
                                 base::function_ref<bool(task_record&)> edit) = 0;

    // The living tasks of a session that came after number `after`, oldest first, at most `max`.
    virtual std::vector<task_ref> list(std::string_view session, std::uint64_t after,
                                       std::size_t max, std::int64_t now_ms) const = 0;

    // Forgets what has expired; returns how many that were.
    virtual std::size_t expire(std::int64_t now_ms) = 0;

    // Whether a new task would be taken now, but for what one client may have. /ready tells.
    virtual bool has_room() const = 0;

    // Tasks and bytes kept.
    virtual std::size_t size() const = 0;
    virtual std::size_t bytes() const = 0;
};

}  // namespace pillion::mcp
