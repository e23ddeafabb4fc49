// request_meta: what the `_meta` of a request says, and request_params, what calls have beside it;
// each is read in one pass over its members.
//
// Each name is looked for once however many ask for it: the names of the protocol share their first
// 24 bytes, and `_meta` comes with every request of 2026-07-28 (REVISIONS §2.4). Of members that
// occur twice the last one counts.
//
// Ownership: views into the request's DOM. Thread: the request's shard.
#pragma once

#include <string_view>

#include <pillion/json.hpp>

namespace pillion::mcp {

inline constexpr std::string_view meta_version = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view meta_capabilities = "io.modelcontextprotocol/clientCapabilities";
inline constexpr std::string_view meta_client_info = "io.modelcontextprotocol/clientInfo";
inline constexpr std::string_view meta_log_level = "io.modelcontextprotocol/logLevel";
// Ours: how many milliseconds the client grants the request, whatever its revision.
inline constexpr std::string_view meta_timeout = "pillion/timeoutMs";

// Members of `params` that most calls have or may have; missing views where there are none.
struct request_params {
    json::view meta;
    json::view name;
    json::view uri;
    json::view arguments;
    json::view request_state;
    json::view input_responses;

    // Of `params`, of any kind.
    static request_params of(json::view params) noexcept;
};

struct request_meta {
    json::view all;  // the object itself, or whatever stands in its place
    json::view version;
    json::view capabilities;
    json::view client_info;
    json::view log_level;
    json::view progress_token;
    json::view timeout;
    json::view traceparent;
    json::view tracestate;

    // Of the member of that name, of any kind.
    static request_meta of(json::view meta) noexcept;

    // Any of the keys that 2026-07-28 sends with every request: the message is of that era.
    bool modern() const noexcept {
        return version.exists() || capabilities.exists() || client_info.exists() ||
               log_level.exists();
    }
};

}  // namespace pillion::mcp
