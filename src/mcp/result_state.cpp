#include "mcp/result_state.hpp"

#include "base/assert.hpp"
#include "json/writer.hpp"
#include "mcp/request.hpp"

namespace pillion {

namespace detail {

content_node& add_content(result_state& to, content_node::kind what, std::string_view body,
                          std::string_view mime_type, std::string_view uri, std::string_view name) {
    base::arena& memory = to.owner->memory;
    auto* node = memory.make<content_node>();
    node->what = what;
    node->body = memory.dup(body);
    node->mime_type = memory.dup(mime_type);
    node->uri = memory.dup(uri);
    node->name = memory.dup(name);
    if (to.last == nullptr) {
        to.first = node;
    } else {
        to.last->next = node;
    }
    to.last = node;
    ++to.count;
    return *node;
}

namespace {

void annotate_last(result_state& to, const content_annotations& what) {
    if (to.last == nullptr) {
        return;
    }
    to.last->annotations = what;
    to.last->annotations.last_modified = to.owner->memory.dup(what.last_modified);
    to.last->annotated = true;
}

void add_meta(result_state& to, std::string_view key, std::string_view json) {
    base::arena& memory = to.owner->memory;
    auto* node = memory.make<meta_node>();
    node->key = memory.dup(key);
    // Rendered anew, so that no malformed or multi-line text reaches the wire.
    base::byte_buffer text(memory.pool());
    json::writer(text).value(to.owner->parse(json));
    node->json = memory.dup(text.view());
    node->next = to.meta;
    to.meta = node;
}

}  // namespace
}  // namespace detail

using detail::add_content;
using kind = detail::content_node::kind;

tool_result& tool_result::text(std::string_view text) {
    add_content(*state_, kind::text, text);
    return *this;
}

tool_result& tool_result::image(std::string_view bytes, std::string_view mime_type) {
    add_content(*state_, kind::image, bytes, mime_type);
    return *this;
}

tool_result& tool_result::audio(std::string_view bytes, std::string_view mime_type) {
    add_content(*state_, kind::audio, bytes, mime_type);
    return *this;
}

tool_result& tool_result::resource_text(std::string_view uri, std::string_view mime_type,
                                        std::string_view text) {
    add_content(*state_, kind::resource_text, text, mime_type, uri);
    return *this;
}

tool_result& tool_result::resource_blob(std::string_view uri, std::string_view mime_type,
                                        std::string_view bytes) {
    add_content(*state_, kind::resource_blob, bytes, mime_type, uri);
    return *this;
}

tool_result& tool_result::link(std::string_view uri, std::string_view name,
                               std::string_view mime_type, std::string_view description) {
    auto& node = add_content(*state_, kind::link, {}, mime_type, uri, name);
    node.description = state_->owner->memory.dup(description);
    return *this;
}

tool_result& tool_result::annotate(const content_annotations& what) {
    detail::annotate_last(*state_, what);
    return *this;
}

tool_result& tool_result::structured(std::string_view json) {
    state_->structured = state_->owner->memory.dup(json);
    state_->has_structured = true;
    return *this;
}

tool_result& tool_result::structured_proven(std::string_view json) {
    state_->structured_proven = true;
    return structured(json);
}

tool_result& tool_result::meta(std::string_view key, std::string_view json) {
    detail::add_meta(*state_, key, json);
    return *this;
}

tool_result& tool_result::failed() {
    state_->failed = true;
    return *this;
}

prompt_result& prompt_result::user(std::string_view text) {
    add_content(*state_, kind::text, text);
    return *this;
}

prompt_result& prompt_result::assistant(std::string_view text) {
    add_content(*state_, kind::text, text).assistant = true;
    return *this;
}

prompt_result& prompt_result::user_image(std::string_view bytes, std::string_view mime_type) {
    add_content(*state_, kind::image, bytes, mime_type);
    return *this;
}

prompt_result& prompt_result::user_audio(std::string_view bytes, std::string_view mime_type) {
    add_content(*state_, kind::audio, bytes, mime_type);
    return *this;
}

prompt_result& prompt_result::user_resource(std::string_view uri, std::string_view mime_type,
                                            std::string_view text) {
    add_content(*state_, kind::resource_text, text, mime_type, uri);
    return *this;
}

prompt_result& prompt_result::annotate(const content_annotations& what) {
    detail::annotate_last(*state_, what);
    return *this;
}

prompt_result& prompt_result::meta(std::string_view key, std::string_view json) {
    detail::add_meta(*state_, key, json);
    return *this;
}

resource_result& resource_result::text(std::string_view uri, std::string_view mime_type,
                                       std::string_view text) {
    add_content(*state_, kind::resource_text, text, mime_type, uri);
    return *this;
}

resource_result& resource_result::blob(std::string_view uri, std::string_view mime_type,
                                       std::string_view bytes) {
    add_content(*state_, kind::resource_blob, bytes, mime_type, uri);
    return *this;
}

resource_result& resource_result::cache(std::int64_t ttl_ms, bool shared) {
    state_->ttl_ms = ttl_ms < 0 ? 0 : ttl_ms;
    state_->shared_cache = shared;
    return *this;
}

resource_result& resource_result::meta(std::string_view key, std::string_view json) {
    detail::add_meta(*state_, key, json);
    return *this;
}

completion_result& completion_result::add(std::string_view value) {
    add_content(*state_, kind::text, value);
    return *this;
}

completion_result& completion_result::total(std::int64_t count, bool more) {
    state_->total = count;
    state_->more = more;
    return *this;
}

}  // namespace pillion
