// definitions: what the user registered, as given. Filled by the builders, then frozen into a
// registry (registry.hpp), which shares the single definitions. Those never change again; a server
// that changes while it runs gets another registry of other definitions.
//
// Thread: the registering one until the freeze; read by all shards afterwards.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pillion/server.hpp>

#include "base/limits.hpp"

namespace pillion::mcp {
class tool_gate;
}

namespace pillion::detail {

// When it may go, and what to use instead.
struct deprecation {
    std::string date;  // empty: it stays
    std::string instead;
};

using meta_list = std::vector<std::pair<std::string, std::string>>;

// How calls of a tool may run as tasks.
struct task_terms {
    task_support support = task_support::forbidden;
    std::chrono::milliseconds ttl{limits::task_ttl_ms};
    std::chrono::milliseconds poll{limits::task_poll_ms};
    std::chrono::milliseconds limit{0};  // of the work; 0: as long as it is kept
    bool begins_later = false;           // the handler says when (2026-07-28)
};

// How often a tool may be called, and by how many at a time. 0: no limit.
struct tool_limits {
    double per_second = 0;
    std::size_t burst = 0;  // 0: what a second gives
    std::size_t concurrent = 0;
    std::size_t queue = limits::tool_queue_max;
    bool bad_rate = false;     // what was asked for is none
    bool queue_given = false;  // … without a cap it would mean nothing
};

// What a tool changes, for people (STANDARD rows 73 to 75).
struct tool_effects {
    std::optional<risk_level> risk;
    std::string here;  // side effects
    std::optional<external_effects> outside;
};

using scope_list = std::vector<std::string>;

// What the operator says that callers need for something, over what its definition says.
struct operator_scopes {
    enum class kind : std::uint8_t { tool, prompt, resource, method };
    kind of = kind::tool;
    std::string name;
    scope_list scopes;
};

// Whether a tool or prompt of that name, which is not there, may come while the server runs. Null:
// none does.
using expected_names = std::function<bool(const std::string& name)>;

// What the operator says of a tool, over what its definition says.
struct operator_limits {
    std::string tool;
    std::optional<std::chrono::milliseconds> timeout;
    std::optional<std::size_t> concurrent;
    std::optional<std::size_t> queue;
    std::optional<std::size_t> per_second;
    std::optional<std::size_t> burst;
    tool_effects effects;     // what of it is said
    std::vector<icon> icons;  // empty: not said
};

// The icons that the operator says of a prompt, or of a resource or template.
struct operator_icons {
    bool of_prompt = false;
    std::string name;  // or URI
    std::vector<icon> icons;
};

struct tool_definition {
    std::string name;
    std::string title;
    std::string description;
    deprecation ends;
    std::string input_json;                    // empty: no arguments
    std::string output_json;                   // empty: none
    std::chrono::milliseconds timeout{0};      // 0: the server's
    std::chrono::milliseconds timeout_max{0};  // 0: progress does not extend it
    std::chrono::milliseconds heartbeat{0};    // 0: none
    task_terms terms;
    tool_limits calls;
    std::shared_ptr<mcp::tool_gate> gate;  // null: none of these; its state outlives registries
    std::optional<bool> read_only;
    std::optional<bool> destructive;
    std::optional<bool> idempotent;
    std::optional<bool> open_world;
    tool_effects effects;
    std::vector<icon> icons;
    meta_list meta;
    tool_handler handler;
    scope_list scopes;              // all of them are needed; likewise below
    bool arguments_proven = false;  // the handler's own decoder checks them
    bool output_derived = false;    // output_json is that of the handler's struct
    std::uint32_t serial = 0;       // the how-manieth registration of the server; likewise below
};

struct prompt_argument {
    std::string name;
    std::string description;
    bool required = false;
    completion_handler complete;
};

struct prompt_definition {
    std::string name;
    std::string title;
    std::string description;
    deprecation ends;
    std::vector<prompt_argument> arguments;
    std::vector<icon> icons;
    meta_list meta;
    scope_list scopes;
    prompt_handler handler;
    std::uint32_t serial = 0;
};

// A resource or (is_template) a URI template.
struct resource_definition {
    bool is_template = false;
    std::string uri;
    std::string name;
    std::string title;
    std::string description;
    deprecation ends;
    std::string mime_type;
    std::int64_t size = -1;
    std::optional<content_annotations> annotations;
    std::string last_modified;  // storage for annotations->last_modified
    std::vector<icon> icons;
    meta_list meta;
    std::map<std::string, completion_handler, std::less<>> complete;
    scope_list scopes;
    bool by_provider = false;
    resource_handler handler;
    std::uint32_t serial = 0;
};

struct implementation_info {
    std::string name;
    std::string version;
    std::string title;
    std::string description;
    std::string website;
    std::string instructions;
    std::vector<icon> icons;
};

// Everything registered. A copy shares the definitions.
struct definitions {
    implementation_info info;
    std::vector<std::shared_ptr<tool_definition>> tools;
    std::vector<std::shared_ptr<prompt_definition>> prompts;
    std::vector<std::shared_ptr<resource_definition>> resources;  // templates among them
    std::uint32_t registrations = 0;                              // so far
    // What clients were told once stays offered, if only as an empty list.
    bool offered_tools = false;
    bool offered_tasks = false;
    bool offered_prompts = false;
    bool offered_resources = false;
    std::vector<std::shared_ptr<resource_provider>> providers;
    std::vector<scope_list> provider_scopes;  // of each
    std::map<std::string, scope_list, std::less<>> method_scopes;
    std::vector<std::pair<std::string, std::string>> schemas;  // by URI, for "$ref"
    std::size_t page_size = 0;                                 // 0: the default
    server_profile profile = server_profile::generic;
    std::vector<std::string> error_members;  // beside those everybody knows
    std::chrono::milliseconds cache_ttl{0};
    std::vector<operator_limits> operators;
    std::vector<operator_scopes> guards;
    std::vector<operator_icons> icons;
};

}  // namespace pillion::detail
