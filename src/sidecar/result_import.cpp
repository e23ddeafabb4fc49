#include "sidecar/result_import.hpp"

#include <optional>
#include <string>
#include <vector>

#include "base/base64.hpp"
#include "mcp/render.hpp"
#include "mcp/request.hpp"
#include "mcp/result_state.hpp"
#include "rpc/errors.hpp"
#include "sidecar/field_import.hpp"
#include "sidecar/rpc_peer.hpp"

namespace pillion::sidecar {

namespace {

std::optional<std::string> bytes_of(json::view text) {
    if (!text.is_string()) {
        return std::nullopt;
    }
    std::string out(base::base64::decoded_size_max(text.str().size()), '\0');
    const auto size = base::base64::decode(text.str(), out.data());
    if (!size) {
        return std::nullopt;
    }
    out.resize(*size);
    return out;
}

template <class Result>
void import_result_meta(json::view from, Result& to) {
    for (const json::member one : from["_meta"].members()) {
        if (is_outward_meta(one.key)) {
            to.meta(one.key, json_text(one.value));
        }
    }
}

// What a content of any kind says beside its own fields.
template <class Result>
void import_extras(json::view one, Result& to) {
    if (one["annotations"].is_object()) {
        to.annotate(import_annotations(one["annotations"]));
    }
    const std::string meta = import_meta(one["_meta"]);
    const std::string resource_meta = import_meta(one["resource"]["_meta"]);
    std::string icons;
    if (one["type"].str() == "resource_link") {
        const std::vector<icon> all = import_icons(one["icons"]);
        icons = all.empty() ? "" : mcp::render_icons(all);
    }
    detail::add_extras(*detail::request_state::state_of(to), {meta, resource_meta, icons});
}

// What cannot be handed on is named, not dropped.
std::string not_handed_on(json::view content) {
    return "[content of type " + std::string(content["type"].str("?").substr(0, 64)) +
           " cannot be shown]";
}

// Of results of tools and messages of prompts alike.
void import_kind(json::view one, detail::result_state& to) {
    using kind = detail::content_node::kind;
    const std::string_view type = one["type"].str();
    const json::view resource = one["resource"];
    const std::string_view mime = one["mimeType"].str();
    const std::string_view its_mime = resource["mimeType"].str();
    std::optional<std::string> bytes;
    if (type == "text") {
        detail::add_content(to, kind::text, one["text"].str());
    } else if (type == "image" && (bytes = bytes_of(one["data"]))) {
        detail::add_content(to, kind::image, *bytes, mime);
    } else if (type == "audio" && (bytes = bytes_of(one["data"]))) {
        detail::add_content(to, kind::audio, *bytes, mime);
    } else if (type == "resource_link") {
        detail::add_content(to, kind::link, {}, mime, one["uri"].str(), one["name"].str());
        detail::complete_link(to, one["title"].str(), one["description"].str(),
                              one["size"].i64().value_or(-1));
    } else if (type == "resource" && resource["text"].is_string()) {
        detail::add_content(to, kind::resource_text, resource["text"].str(), its_mime,
                            resource["uri"].str());
    } else if (type == "resource" && (bytes = bytes_of(resource["blob"]))) {
        detail::add_content(to, kind::resource_blob, *bytes, its_mime, resource["uri"].str());
    } else {
        detail::add_content(to, kind::text, not_handed_on(one));
    }
}

template <class Result>
void import_content(json::view one, Result& to) {
    import_kind(one, *detail::request_state::state_of(to));
    import_extras(one, to);
}

void import_message(json::view message, prompt_result& to) {
    import_content(message["content"], to);
    detail::result_state* const state = detail::request_state::state_of(to);
    if (message["role"].str() == "assistant" && state->last != nullptr) {
        state->last->assistant = true;
    }
}

void import_resource(json::view one, std::string_view uri, resource_result& to) {
    if (one["text"].is_string()) {
        to.text(uri, one["mimeType"].str(), one["text"].str());
    } else if (const auto bytes = bytes_of(one["blob"])) {
        to.blob(uri, one["mimeType"].str(), *bytes);
    } else {
        return;
    }
    const std::string meta = import_meta(one["_meta"]);
    detail::add_extras(*detail::request_state::state_of(to), {{}, meta, {}});
}

}  // namespace

tool_result import_tool_result(context& ctx, json::view from) {
    tool_result to = ctx.result();
    const json::view contents = from["content"];
    if (contents.is_array()) {
        for (const json::view one : contents.elements()) {
            import_content(one, to);
        }
    } else if (from["toolResult"].exists()) {
        to.text(json_text(from["toolResult"]));  // before 2024-11-05
    }
    if (from["structuredContent"].exists()) {
        to.structured(json_text(from["structuredContent"]));
    }
    if (from["isError"].boolean()) {
        to.failed();
    }
    import_result_meta(from, to);
    return to;
}

prompt_result import_prompt_result(context& ctx, json::view from) {
    prompt_result to = ctx.prompt(from["description"].str());
    const json::view messages = from["messages"];
    if (messages.is_array()) {
        for (const json::view one : messages.elements()) {
            import_message(one, to);
        }
    }
    import_result_meta(from, to);
    return to;
}

resource_result import_resource_result(context& ctx, json::view from, std::string_view uri) {
    resource_result to = ctx.contents();
    const json::view contents = from["contents"];
    if (contents.is_array()) {
        for (const json::view one : contents.elements()) {
            import_resource(one, one["uri"].str(uri), to);
        }
    }
    if (const auto ttl = from["ttlMs"].i64(); ttl && *ttl >= 0) {
        // Who reads it may matter to the server, whatever it says of others: never shared.
        to.cache(*ttl, false);
    }
    import_result_meta(from, to);
    return to;
}

completion_result import_completion(context& ctx, json::view from) {
    completion_result to = ctx.completion();
    const json::view completion = from["completion"];
    const json::view values = completion["values"];
    std::int64_t count = 0;
    if (values.is_array()) {
        for (const json::view one : values.elements()) {
            to.add(one.str());
            ++count;
        }
    }
    const bool more = completion["hasMore"].boolean();
    if (more || completion["total"].exists()) {
        to.total(completion["total"].i64().value_or(count), more);
    }
    return to;
}

int outward_code(int code, mcp::revision to) noexcept {
    // Which page to open, and what to do then, only clients of that revision know.
    if (code == rpc::url_elicitation_required && to == mcp::revision::r2025_11_25) {
        return code;
    }
    const bool ours = code <= rpc::header_mismatch && code >= -32099;
    return ours || code == rpc::parse_error || code == rpc::invalid_request ? rpc::internal_error
                                                                            : code;
}

}  // namespace pillion::sidecar
