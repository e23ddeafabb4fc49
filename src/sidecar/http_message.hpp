// http_message: what a link over HTTP must know of a message that it sends: whether an answer
// comes, and the fields that repeat parts of it (2026-07-28: Mcp-Method, Mcp-Name, Mcp-Param-*;
// REVISIONS §5.3 and §5.7).
//
// Thread-safety: values; plain functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/header_params.hpp"

namespace pillion::sidecar {

// Arguments of tools that are repeated in fields, by the names of the tools.
using tool_fields = std::map<std::string, std::vector<schema_check::header_param>, std::less<>>;

// Those of tools as they are listed, each as JSON.
tool_fields fields_of_tools(const std::vector<std::string>& tools);

struct http_message {
    enum class kind : std::uint8_t { request, notification, response };
    kind what = kind::notification;
    std::string text;
    std::uint64_t id = 0;  // of a request of ours
    std::string method;
    std::string version;        // that its _meta names: it is of the modern era
    std::uint64_t cancels = 0;  // notifications/cancelled: the request
    std::vector<std::pair<std::string, std::string>> fields;  // modern: those that repeat it
};

// REQUIRES: a message that we have written.
http_message read_message(std::string text, const tool_fields& tools);

// A value as a field carries it: plain, or "=?base64?…?=".
std::string field_value(std::string_view text);

// An error as the answer to a request of ours; `data`: JSON, or empty.
std::string error_answer(std::uint64_t id, int code, std::string_view message,
                         std::string_view data = {});

}  // namespace pillion::sidecar
