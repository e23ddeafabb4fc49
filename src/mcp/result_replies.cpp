// Results of handlers as messages (declared in mcp/replies.hpp): content by revision.
#include "base/base64.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/utf8.hpp"
#include "mcp/engine.hpp"
#include "mcp/replies.hpp"
#include "rpc/errors.hpp"

namespace pillion::mcp {

namespace {

using node = detail::content_node;

void write_annotations(json::writer& w, const node& n, revision r) {
    if (!n.annotated) {
        return;
    }
    const content_annotations& a = n.annotations;
    w.key_raw(R"("annotations":)");
    w.begin_object();
    if (a.for_user || a.for_assistant) {
        w.key_raw(R"("audience":)");
        w.begin_array();
        if (a.for_user) {
            w.raw(R"("user")");
        }
        if (a.for_assistant) {
            w.raw(R"("assistant")");
        }
        w.end_array();
    }
    if (a.priority >= 0) {
        w.key_raw(R"("priority":)");
        w.number(a.priority > 1 ? 1 : a.priority);
    }
    if (!a.last_modified.empty() && has_last_modified(r)) {
        w.key_raw(R"("lastModified":)");
        w.string_lossy(a.last_modified);
    }
    w.end_object();
}

void write_base64(json::writer& w, std::string_view bytes) {
    // Straight into the message: a large blob is encoded without a copy of its text.
    w.fragment("\"");
    base::base64::encode(bytes, w.buffer());
    w.fragment("\"");
}

void write_resource_body(json::writer& w, const node& n) {
    w.begin_object();
    w.key_raw(R"("uri":)");
    w.string_lossy(n.uri);
    w.key_raw(R"("mimeType":)");
    const bool blob = n.what == node::kind::resource_blob;
    if (n.mime_type.empty()) {
        w.raw(blob ? R"("application/octet-stream")" : R"("text/plain")");
    } else {
        w.string_lossy(n.mime_type);
    }
    if (blob) {
        w.key_raw(R"("blob":)");
        write_base64(w, n.body);
    } else {
        w.key_raw(R"("text":)");
        w.string_lossy(n.body);
    }
    w.end_object();
}

// What a client cannot take as it is becomes a text that says what was there.
void write_degraded(json::writer& w, std::string_view what, std::string_view a,
                    std::string_view b) {
    w.fragment(R"("type":"text","text":)");
    base::byte_buffer text(w.buffer().pool());
    text.append(what);
    text.append(a);
    if (!b.empty()) {
        text.append(" (");
        text.append(b);
        text.append(')');
    }
    w.string_lossy(text.view());
}

void write_content(json::writer& w, const node& n, revision r) {
    w.begin_object();
    switch (n.what) {
        case node::kind::text:
            w.fragment(R"("type":"text","text":)");
            w.string_lossy(n.body);
            break;
        case node::kind::image:
        case node::kind::audio:
            if (n.what == node::kind::audio && !has_audio(r)) {
                write_degraded(w, "Audio, which this protocol revision cannot carry: ", n.mime_type,
                               {});
                break;
            }
            w.fragment(n.what == node::kind::image ? R"("type":"image","data":)"
                                                   : R"("type":"audio","data":)");
            write_base64(w, n.body);
            w.key_raw(R"("mimeType":)");
            w.string_lossy(n.mime_type);
            break;
        case node::kind::resource_text:
        case node::kind::resource_blob:
            w.fragment(R"("type":"resource","resource":)");
            write_resource_body(w, n);
            break;
        case node::kind::link:
            if (!has_resource_links(r)) {
                write_degraded(w, "Resource: ", n.uri, n.name);
                break;
            }
            w.fragment(R"("type":"resource_link","uri":)");
            w.string_lossy(n.uri);
            w.key_raw(R"("name":)");
            w.string_lossy(n.name);
            if (!n.mime_type.empty()) {
                w.key_raw(R"("mimeType":)");
                w.string_lossy(n.mime_type);
            }
            if (!n.description.empty()) {
                w.key_raw(R"("description":)");
                w.string_lossy(n.description);
            }
            break;
    }
    write_annotations(w, n, r);
    w.end_object();
}

base::byte_buffer handler_error(request& r, const detail::result_state& result) {
    fault f;
    f.code = result.code;
    f.http_status = result.http_status;
    f.message = result.message;
    f.data_json = result.data_json;
    return error_reply(r, f);
}

base::byte_buffer internal_fault(request& r, outcome how) {
    r.outcome = how;
    fault f;
    f.code = rpc::internal_error;
    f.message = "Internal error";
    return error_reply(r, f);
}

bool has_text(const detail::result_state& result) noexcept {
    for (const node* n = result.first; n != nullptr; n = n->next) {
        if (n->what == node::kind::text) {
            return true;
        }
    }
    return false;
}

// Writes contents until the size limit of a result is reached, then a visible mark (STANDARD
// rows 92, 98): text is cut between characters, anything else is left out whole.
void write_contents(request& req, json::writer& w, const detail::result_state& result) {
    const revision r = req.rev;
    std::size_t left = limits::tool_result_bytes_max;
    bool cut = false;
    for (node* n = result.first; n != nullptr; n = n->next) {
        if (result.failed && !result.trusted && n->what == node::kind::text) {
            n->body = tool_text(req, n->body);
        }
        const bool binary = n->what == node::kind::image || n->what == node::kind::audio ||
                            n->what == node::kind::resource_blob;
        const std::size_t cost =
            binary ? base::base64::encoded_size(n->body.size()) : n->body.size();
        if (cost <= left) {
            left -= cost;
            write_content(w, *n, r);
            continue;
        }
        cut = true;
        if (n->what == node::kind::text && left > 0) {
            node part(*n);
            part.body = n->body.substr(0, left);
            part.body = part.body.substr(0, base::utf8::valid_prefix(part.body));
            write_content(w, part, r);
            left = 0;
        }
    }
    if (cut) {
        node mark;
        mark.body = "[truncated: the result is larger than 10 MiB]";
        write_content(w, mark, r);
    }
}

}  // namespace

base::byte_buffer tool_reply(request& r, const detail::result_state& result) {
    if (result.code != 0) {
        return handler_error(r, result);
    }
    // JSON made from the handler's struct needs no check against the schema of that struct.
    const bool proven =
        result.structured_proven && r.tool != nullptr && r.tool->definition->output_derived;
    json::view structured;
    if (result.structured.size() > limits::tool_result_bytes_max) {
        // Cut JSON would break its schema: the model is told instead.
        tool_result too_large = r.ctx.error("The structured result is larger than 10 MiB.");
        return tool_reply(r, *request::state_of(too_large));
    }
    if (result.has_structured && !proven) {
        structured = r.parse(result.structured);
        if (!structured.exists()) {
            return internal_fault(r, "bad_structured_content");
        }
    }
    if (r.tool != nullptr && r.tool->output != nullptr && !result.failed && !proven) {
        // A promise to the client that the tool broke is our fault, not its data (STANDARD 81).
        schema_check::failure why;
        if (!structured.exists() || !r.tool->output->validate(structured, r.memory, why)) {
            log::error(
                "mcp.output_schema_violated",
                {log::kv("target", r.target), log::kv("request_id", r.request_id),
                 log::kv("path", why.declared_path),
                 log::kv("expected", structured.exists() ? why.message : "structured content")});
            return internal_fault(r, "output_schema_violated");
        }
    }
    base::byte_buffer out = r.new_message();
    json::writer w = begin_result(r, out);
    w.key_raw(R"("content":)");
    w.begin_array();
    write_contents(r, w, result);
    if ((proven || structured.exists()) && !has_text(result)) {
        base::byte_buffer text(out.pool());
        if (!proven) {
            json::writer(text).value(structured);
        }
        w.begin_object();
        w.fragment(R"("type":"text","text":)");
        w.string(proven ? result.structured : text.view());
        w.end_object();
    }
    w.end_array();
    // Errors carry none (AMBIGUITIES G23); before 2026-07-28 it must be an object (G24).
    if (!result.failed && has_structured_output(r.rev)) {
        if (proven) {
            w.key_raw(R"("structuredContent":)");
            w.raw(result.structured);
        } else if (structured.is_object() || (structured.exists() && r.modern())) {
            w.key_raw(R"("structuredContent":)");
            w.value(structured);
        }
    }
    w.key_raw(R"("isError":)");
    w.boolean(result.failed);
    if (result.failed && r.outcome == outcome()) {
        r.outcome = "tool_error";
    }
    end_result(r, w, result.meta);
    return out;
}

base::byte_buffer prompt_reply(request& r, const detail::result_state& result) {
    if (result.code != 0) {
        return handler_error(r, result);
    }
    base::byte_buffer out = r.new_message();
    json::writer w = begin_result(r, out);
    if (!result.description.empty()) {
        w.key_raw(R"("description":)");
        w.string_lossy(result.description);
    }
    w.key_raw(R"("messages":)");
    w.begin_array();
    for (const node* n = result.first; n != nullptr; n = n->next) {
        w.begin_object();
        w.fragment(n->assistant ? R"("role":"assistant","content":)"
                                : R"("role":"user","content":)");
        write_content(w, *n, r.rev);
        w.end_object();
    }
    w.end_array();
    end_result(r, w, result.meta);
    return out;
}

base::byte_buffer resource_reply(request& r, const detail::result_state& result) {
    if (result.code != 0) {
        return handler_error(r, result);
    }
    if (result.first == nullptr) {
        // An empty contents array would claim that the resource exists and is nothing.
        return internal_fault(r, "empty_resource");
    }
    base::byte_buffer out = r.new_message();
    json::writer w = begin_result(r, out);
    w.key_raw(R"("contents":)");
    w.begin_array();
    for (const node* n = result.first; n != nullptr; n = n->next) {
        write_resource_body(w, *n);
    }
    w.end_array();
    const std::int64_t ttl = result.ttl_ms >= 0 ? result.ttl_ms : r.registered().cache_ttl_ms();
    write_caching(r, w, ttl, result.shared_cache);
    end_result(r, w, result.meta);
    return out;
}

base::byte_buffer completion_reply(request& r, const detail::result_state& result) {
    if (result.code != 0) {
        return handler_error(r, result);
    }
    constexpr std::size_t values_max = 100;
    base::byte_buffer out = r.new_message();
    json::writer w = begin_result(r, out);
    w.key_raw(R"("completion":{"values":)");
    w.begin_array();
    std::size_t written = 0;
    for (const node* n = result.first; n != nullptr && written < values_max; n = n->next) {
        w.string_lossy(n->body);
        ++written;
    }
    w.end_array();
    const bool more = result.more || result.count > written;
    if (result.total >= 0 || result.count > written) {
        w.key_raw(R"("total":)");
        const auto known = static_cast<std::int64_t>(result.count);
        w.integer(result.total > known ? result.total : known);
    }
    w.key_raw(R"("hasMore":)");
    w.boolean(more);
    w.end_object();
    end_result(r, w);
    return out;
}

}  // namespace pillion::mcp
