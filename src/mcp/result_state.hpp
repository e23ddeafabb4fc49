// result_state: what the public result classes collect, in the arena of their request.
//
// Texts and bytes are copied in when they are added; encoding (JSON escapes, base64) happens once,
// when the reply is rendered. Thread: the request's shard.
#pragma once

#include <cstdint>
#include <string_view>

#include <pillion/content.hpp>

#include "mcp/safe_text.hpp"

namespace pillion::detail {

struct request_state;

// What few contents say beyond the rest, as JSON; each is empty where it says nothing.
struct content_extras {
    std::string_view meta;           // `_meta`
    std::string_view resource_meta;  // … of the resource that it is, or that is in it
    std::string_view icons;          // of links
};

struct content_node {
    enum class kind : std::uint8_t { text, image, audio, resource_text, resource_blob, link };

    content_node* next = nullptr;
    kind what = kind::text;
    bool assistant = false;  // prompts: whose message it is
    bool annotated = false;
    std::string_view body;  // text or raw bytes; completion values, too
    std::string_view mime_type;
    std::string_view uri;
    std::string_view name;
    std::string_view description;
    std::string_view title;  // of links
    std::int64_t size = -1;  // … of what they lead to; negative: not said
    content_annotations annotations;
    const content_extras* extras = nullptr;
};

struct meta_node {
    meta_node* next = nullptr;
    std::string_view key;
    std::string_view json;
};

struct result_state {
    explicit result_state(request_state& r) noexcept : owner(&r) {}

    request_state* owner;
    content_node* first = nullptr;
    content_node* last = nullptr;
    content_node* unheard = nullptr;  // where what is added goes once something was cut
    std::size_t count = 0;
    meta_node* meta = nullptr;
    std::string_view description;  // prompts
    std::string_view structured;   // JSON text
    bool has_structured = false;
    bool structured_proven = false;  // it satisfies the schema of the handler's struct
    bool refused = false;            // the arguments did not fit, `refused_field` first
    bool trusted = false;            // the text is ours: it needs no sanitizing
    bool failed = false;             // isError
    bool cut = false;                // something did not fit into the request's memory
    std::int64_t ttl_ms = -1;        // resources; negative: the server's
    bool shared_cache = false;
    std::int64_t total = -1;  // completions
    bool more = false;

    // A JSON-RPC error instead of a result when code is not 0.
    int code = 0;
    std::uint16_t http_status = 200;
    std::uint32_t retry_after_s = 0;  // 0: not said
    mcp::safe_text message;
    std::string_view data_json;
    std::string_view refused_field;
};

// Appends a content to the result, everything copied into the request's arena.
content_node& add_content(result_state& to, content_node::kind what, std::string_view body,
                          std::string_view mime_type = {}, std::string_view uri = {},
                          std::string_view name = {});

// What a link that was added last says beyond its name.
void complete_link(result_state& to, std::string_view title, std::string_view description,
                   std::int64_t size);
// Of the content added last. REQUIRES: each text is empty or compact JSON on one line.
void add_extras(result_state& to, const content_extras& what);

}  // namespace pillion::detail
