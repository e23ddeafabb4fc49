#include "mcp/result_state.hpp"

#include "base/assert.hpp"
#include "json/writer.hpp"
#include "mcp/engine.hpp"
#include "mcp/result_size.hpp"

namespace pillion {

namespace detail {

namespace {

// Text is worth something in part, too; as much as may be sent.
std::string_view keep_body(result_state& to, std::string_view body, bool text) {
    if (body.empty()) {
        return "";
    }
    base::arena& memory = to.owner->memory;
    std::string_view kept = memory.try_dup(body);
    if (kept.data() != nullptr) {
        return kept;
    }
    to.cut = true;
    if (text) {
        const std::size_t max = to.owner->engine.options().result_bytes_max;
        kept = memory.try_dup(body.substr(0, mcp::whole_characters(body, max)));
    }
    return kept;
}

std::string_view keep(result_state& to, std::string_view text) {
    if (text.empty()) {
        return "";
    }
    const std::string_view kept = to.owner->memory.try_dup(text);
    to.cut = to.cut || kept.data() == nullptr;
    return kept;
}

}  // namespace

content_node& add_content(result_state& to, content_node::kind what, std::string_view body,
                          std::string_view mime_type, std::string_view uri, std::string_view name) {
    base::arena& memory = to.owner->memory;
    if (to.cut) {
        // There is no room for more, and what is there takes none.
        to.unheard = to.unheard == nullptr ? memory.make<content_node>() : to.unheard;
        return *to.unheard;
    }
    auto* node = memory.make<content_node>();
    node->what = what;
    const bool text = what == content_node::kind::text || what == content_node::kind::resource_text;
    node->body = keep_body(to, body, text);
    node->mime_type = keep(to, mime_type);
    node->uri = keep(to, uri);
    node->name = keep(to, name);
    if (node->body.data() == nullptr) {
        node->what = content_node::kind::text;
        node->body = "[left out: larger than this server can hold]";
    }
    if (to.last == nullptr) {
        to.first = node;
    } else {
        to.last->next = node;
    }
    to.last = node;
    ++to.count;
    return *node;
}

void complete_link(result_state& to, std::string_view title, std::string_view description,
                   std::int64_t size) {
    // Of one that had no room any more the last one is another.
    if (!to.cut && to.last != nullptr && to.last->what == content_node::kind::link) {
        to.last->title = keep(to, title);
        to.last->description = keep(to, description);
        to.last->size = size;
    }
}

void add_extras(result_state& to, const content_extras& what) {
    const bool any = !what.meta.empty() || !what.resource_meta.empty() || !what.icons.empty();
    if (!any || to.cut || to.last == nullptr) {
        return;
    }
    auto* const kept = to.owner->memory.make<content_extras>();
    kept->meta = keep(to, what.meta);
    kept->resource_meta = keep(to, what.resource_meta);
    kept->icons = keep(to, what.icons);
    to.last->extras = kept;
}

namespace {

void annotate_last(result_state& to, const content_annotations& what) {
    if (to.last == nullptr) {
        return;
    }
    to.last->annotations = what;
    to.last->annotations.last_modified = keep(to, what.last_modified);
    to.last->annotated = true;
}

void add_meta(result_state& to, std::string_view key, std::string_view json) {
    base::arena& memory = to.owner->memory;
    if (to.cut) {
        return;
    }
    auto* node = memory.make<meta_node>();
    node->key = keep(to, key);
    // Rendered anew, so that no malformed or multi-line text reaches the wire.
    base::byte_buffer text(memory.pool());
    json::writer(text).value(to.owner->parse(json));
    node->json = keep(to, text.view());
    if (to.cut) {
        return;
    }
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
    node.description = detail::keep(*state_, description);
    return *this;
}

tool_result& tool_result::annotate(const content_annotations& what) {
    detail::annotate_last(*state_, what);
    return *this;
}

tool_result& tool_result::structured(std::string_view json) {
    state_->structured = detail::keep(*state_, json);
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
