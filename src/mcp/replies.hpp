// replies: every message the server sends, as JSON text in the shape the client's revision knows.
//
// Thread: the request's shard. All functions write one line into a buffer with room for framing.
#pragma once

#include <cstdint>
#include <string_view>

#include <pillion/json.hpp>

#include "base/byte_buffer.hpp"
#include "json/writer.hpp"
#include "mcp/request.hpp"
#include "mcp/result_state.hpp"
#include "mcp/safe_text.hpp"

namespace pillion::mcp {

// A refusal: JSON-RPC error, and the HTTP status it travels with where nothing was sent yet.
// `data_json` is a JSON object text or empty, made here or by error_data(); both live long enough
// to be rendered.
struct fault {
    int code = 0;
    std::uint16_t http_status = 200;
    // When to come back: data.retryAfter and the header Retry-After; 0: not said.
    std::uint32_t retry_after_s = 0;
    safe_text message;
    std::string_view data_json;
};

// -32602 with these; both must stay.
fault bad_params(safe_text message, std::string_view data_json = {}) noexcept;

// Starts `{"jsonrpc":"2.0","id":…`, all of an answer that only this request's may have.
json::writer begin_reply(request& r, base::byte_buffer& out);
// Its `,"result":{` (with resultType for modern clients); write members, then end_result().
void open_result(request& r, json::writer& w);
// Both.
json::writer begin_result(request& r, base::byte_buffer& out);
// Closes it; modern clients get `_meta` with serverInfo and the given further members.
void end_result(request& r, json::writer& w, const detail::meta_node* meta = nullptr);
// What end_result() writes before it closes: `_meta`, where the result has one.
void write_result_meta(request& r, json::writer& w, const detail::meta_node* meta = nullptr);
// ttlMs and cacheScope, only for modern clients (REVISIONS §8).
void write_caching(request& r, json::writer& w, std::int64_t ttl_ms, bool shared);

// The empty result.
base::byte_buffer empty_result(request& r);
// The one place that writes errors. Where there is no `id`, `null_id` writes "id":null, else it is
// left out. Every error has data.requestId, by which users and operators find the log line
// (STANDARD row 96).
void write_error(base::byte_buffer& out, const fault& f, std::string_view request_id,
                 json::view id = {}, bool null_id = false);
// An error with the request's id; its HTTP status becomes that of the request.
base::byte_buffer error_reply(request& r, const fault& f);

// The value of Retry-After, written into `room`.
std::string_view write_seconds(std::uint32_t seconds, char (&room)[16]) noexcept;

// Results of handlers. The error form (code != 0) is theirs, too.
base::byte_buffer tool_reply(request& r, const detail::result_state& result);
base::byte_buffer prompt_reply(request& r, const detail::result_state& result);
base::byte_buffer resource_reply(request& r, const detail::result_state& result);
base::byte_buffer completion_reply(request& r, const detail::result_state& result);

// Notifications of a request.
base::byte_buffer progress_message(request& r, double done, double total, std::string_view message);
// `data` is JSON text, or plain text when `plain`.
base::byte_buffer log_message(request& r, log_level level, std::string_view logger,
                              std::string_view data, bool plain);

// "debug" … "emergency"; and back (false when unknown).
std::string_view level_name(log_level level) noexcept;
bool parse_level(std::string_view name, log_level& out) noexcept;

}  // namespace pillion::mcp
