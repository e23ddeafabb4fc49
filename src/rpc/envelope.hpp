// envelope: what kind of JSON-RPC message an object is, by the rules of JSON-RPC 2.0 as MCP narrows
// them (REVISIONS §1): ids are strings or integers, params are objects, duplicate envelope keys
// are refused (AMBIGUITIES G36).
//
// Thread-safety: pure functions over an immutable document.
#pragma once

#include <cstdint>
#include <string_view>

#include <pillion/json.hpp>

#include "json/writer.hpp"

namespace pillion::rpc {

enum class message_kind : std::uint8_t { request, notification, response, invalid };

struct envelope {
    message_kind kind = message_kind::invalid;
    std::string_view method;  // requests and notifications
    json::view id;            // requests and responses; on invalid: the id if it was readable
    json::view params;        // an object, or missing
    const char* fault = "";   // on invalid: a constant text for the error
    int code = 0;             // on invalid: invalid_request or invalid_params
};

// Classifies one JSON value. Never fails: what is not a message is `invalid`. A notification whose
// params are no object stays one, without params: it must not be answered.
envelope classify(json::view message) noexcept;

// Writes an id as it came: integers byte for byte, strings as JSON strings; null when missing.
void write_id(json::writer& out, json::view id);

// Whether two ids are the same: same JSON type, same text.
bool same_id(json::view a, json::view b) noexcept;

}  // namespace pillion::rpc
