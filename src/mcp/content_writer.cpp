#include "mcp/content_writer.hpp"

#include "base/base64.hpp"

namespace pillion::mcp {

namespace {

using node = detail::content_node;

}  // namespace

void write_annotations(json::writer& w, const content_annotations& a, revision r) {
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

namespace {

void write_base64(json::writer& w, std::string_view bytes) {
    // Straight into the message: a large blob is encoded without a copy of its text.
    w.fragment("\"");
    base::base64::encode(bytes, w.buffer());
    w.fragment("\"");
}

void write_extra(json::writer& w, std::string_view key, std::string_view json) {
    if (!json.empty()) {
        w.key_raw(key);
        w.raw(json);
    }
}

}  // namespace

void write_resource_body(json::writer& w, const node& n, revision r) {
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
    if (n.extras != nullptr && has_definition_meta(r)) {
        write_extra(w, R"("_meta":)", n.extras->resource_meta);
    }
    w.end_object();
}

namespace {

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

}  // namespace

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
            write_resource_body(w, n, r);
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
            if (!n.title.empty()) {
                w.key_raw(R"("title":)");
                w.string_lossy(n.title);
            }
            if (n.size >= 0) {
                w.key_raw(R"("size":)");
                w.integer(n.size);
            }
            break;
    }
    if (n.annotated) {
        write_annotations(w, n.annotations, r);
    }
    if (n.extras != nullptr && has_definition_meta(r)) {
        write_extra(w, R"("icons":)", has_icons(r) ? n.extras->icons : std::string_view());
        write_extra(w, R"("_meta":)", n.extras->meta);
    }
    w.end_object();
}

}  // namespace pillion::mcp
