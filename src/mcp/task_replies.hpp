// task_replies: tasks as JSON in the two dialects: 2025-11-25 (nested, `ttl`, `pollInterval`) and
// the extension of 2026-07-28 (flat, `ttlMs`, `pollIntervalMs`); REVISIONS §12, §13.
//
// Thread: the request's shard.
#pragma once

#include <string_view>

#include "base/byte_buffer.hpp"
#include "json/writer.hpp"
#include "mcp/replies.hpp"
#include "mcp/request.hpp"
#include "mcp/task_record.hpp"

namespace pillion::mcp {

inline constexpr std::string_view tasks_extension = "io.modelcontextprotocol/tasks";

// The members that every shape of a task has: taskId, status, dates and so on.
void write_task(json::writer& w, const task_record& t);
// The same, and what the state brings along: open questions, result or error (2026-07-28).
void write_detailed_task(json::writer& w, const task_record& t);

// The answer to the call that became a task.
base::byte_buffer task_created_reply(request& r, const task_record& t);
// tasks/get, and tasks/cancel up to 2025-11-25.
base::byte_buffer task_reply(request& r, const task_record& t);
// tasks/result: what the call itself would have been answered. REQUIRES: the outcome is known.
base::byte_buffer task_outcome_reply(request& r, const task_record& t);
// notifications/tasks/status, for the session that began it.
void write_task_status(base::byte_buffer& out, const task_record& t);

// The part of a reply that does not name its request: `"result":{…}` or `"error":{…}`.
std::string_view outcome_of(const request& r, std::string_view reply) noexcept;

}  // namespace pillion::mcp
