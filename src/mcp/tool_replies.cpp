// Results of tools as messages (tool_reply of mcp/replies.hpp): checked against the promised
// schema, and cut where they are larger than a result may be (STANDARD rows 81, 92, 98).
#include <algorithm>
#include <string>

#include "base/log.hpp"
#include "json/writer.hpp"
#include "mcp/content_writer.hpp"
#include "mcp/engine.hpp"
#include "mcp/kept_results.hpp"
#include "mcp/replies.hpp"
#include "mcp/result_errors.hpp"
#include "mcp/result_size.hpp"
#include "mcp/safe_text.hpp"

namespace pillion::mcp {

namespace {

using node = detail::content_node;

// What the answer says in structuredContent.
struct structure {
    bool exists = false;
    bool proven = false;  // made from the handler's struct: no check against its schema is needed
    json::view parsed;    // unless it is proven
    std::string_view text;

    // Earlier revisions take objects alone (AMBIGUITIES G24).
    bool fits(const request& r) const noexcept {
        return exists && has_structured_output(r.rev) &&
               (proven || parsed.is_object() || r.modern());
    }
    void write(json::writer& w) const {
        if (proven) {
            w.raw(text);
        } else {
            w.value(parsed);
        }
    }
};

bool has_text(const detail::result_state& result) noexcept {
    for (const node* n = result.first; n != nullptr; n = n->next) {
        if (n->what == node::kind::text) {
            return true;
        }
    }
    return false;
}

// What a handler says of its failure may hold what nobody should see.
void sanitize(request& r, const detail::result_state& result) {
    for (node* n = result.first; n != nullptr && result.failed && !result.trusted; n = n->next) {
        if (n->what == node::kind::text) {
            n->body = tool_text(r, n->body);
        }
    }
}

// A promise to the client that the tool broke is our fault, not its data (STANDARD row 81).
bool keeps_promise(request& r, const detail::result_state& result, const structure& what) {
    if (r.tool == nullptr || r.tool->output == nullptr || result.failed || what.proven) {
        return true;
    }
    schema_check::failure why;
    if (what.exists && r.tool->output->validate(what.parsed, r.memory, why)) {
        return true;
    }
    log::error("mcp.output_schema_violated",
               {log::kv("target", r.target), log::kv("request_id", r.request_id),
                log::kv("path", why.declared_path),
                log::kv("expected", what.exists ? why.message : "structured content")});
    return false;
}

// The JSON that stands for a text that the handler did not give.
std::string_view structure_text(request& r, const structure& what) {
    if (what.proven) {
        return what.text;
    }
    base::byte_buffer text(r.memory.pool());
    json::writer(text).value(what.parsed);
    return r.memory.dup(text.view());
}

void write_end(request& r, json::writer& w, bool failed, const detail::meta_node* meta) {
    w.key_raw(R"("isError":)");
    w.boolean(failed);
    if (failed && r.outcome == outcome()) {
        r.outcome = "tool_error";
    }
    end_result(r, w, meta);
}

// At most how many bytes the whole answer takes; counted exactly only where it may be too many.
std::size_t size_of(request& r, const detail::result_state& result, const structure& what,
                    std::size_t enough) {
    const std::size_t raw = raw_size(result);
    // Structured content may go out twice: as it is, and as a text.
    const std::size_t rough = answer_frame_bytes + escape_factor * raw + result.structured.size();
    if (rough <= std::min(enough, counted_bytes) || raw > enough) {
        return raw > enough ? raw : rough;
    }
    std::size_t sum = json_size(result);
    if (what.exists) {
        sum += !result.failed && what.fits(r) ? what.text.size() : 0;
        sum += has_text(result) ? 0 : json_size(what.text);
    }
    return sum;
}

// Writes a result that does not fit: what fits, then what is missing and where it is.
class cut_result {
 public:
    cut_result(request& r, const detail::result_state& result, const structure& what)
        : r_(r), result_(result), what_(what) {}

    base::byte_buffer write() {
        const kept_link whole = keep_result(r_, result_, result_.structured);
        const std::size_t max = r_.engine.options().result_bytes_max - answer_frame_bytes;
        const std::size_t meta_bytes = size_of_meta();
        const bool with_meta = meta_bytes <= max / 2;
        left_ = max - (with_meta ? meta_bytes : 0);
        // The structure, or none of it: half of one would break its schema.
        const bool wanted = !result_.failed && what_.fits(r_);
        const bool structured = wanted && what_.text.size() <= left_ / 4 * 3;
        left_ -= structured ? what_.text.size() : 0;
        const bool broken = (wanted && !structured) || lost_structure();
        base::byte_buffer out = r_.new_message();
        if (!out.try_reserve(r_.engine.options().result_bytes_max)) {
            return too_large_reply(r_);
        }
        json::writer w = begin_result(r_, out);
        w.key_raw(R"("content":)");
        w.begin_array();
        write_contents(w);
        write_mark(w, whole);
        w.end_array();
        const bool promised = r_.tool != nullptr && r_.tool->output != nullptr;
        if (structured) {
            w.key_raw(R"("structuredContent":)");
            what_.write(w);
        } else if (broken && !promised && has_structured_output(r_.rev)) {
            w.key_raw(R"("structuredContent":)");
            w.raw(R"({"truncated":true})");
        }
        detail::meta_node mark;
        mark.key = "truncated";
        mark.json = "true";
        mark.next = with_meta ? result_.meta : nullptr;
        // Clients check what was promised, unless the tool failed.
        write_end(r_, w, result_.failed || (broken && promised), &mark);
        return out;
    }

 private:
    // There is one that cannot be sent at all.
    bool lost_structure() const noexcept { return result_.has_structured && !what_.exists; }
    std::size_t size_of_meta() const noexcept {
        std::size_t sum = 0;
        for (const detail::meta_node* m = result_.meta; m != nullptr; m = m->next) {
            sum += json_size(m->key) + m->json.size() + 4;
        }
        return sum;
    }

    void write_contents(json::writer& w) {
        for (const node* n = result_.first; n != nullptr; n = n->next) {
            write_node(w, *n);
        }
        if (result_.has_structured && !has_text(result_)) {
            node text;
            text.body = what_.exists ? structure_text(r_, what_) : result_.structured;
            write_node(w, text);
        }
    }

    // Texts are cut between characters, anything else is left out whole.
    void write_node(json::writer& w, const node& n) {
        const std::size_t cost = json_size(n);
        if (cost <= left_) {
            left_ -= cost;
            return write_content(w, n, r_.rev);
        }
        const std::size_t frame =
            content_frame_bytes + json_size(n.annotations.last_modified) + extras_size(n);
        if (n.what == node::kind::text && left_ > frame) {
            const fitted fit = fit_text(n.body, left_ - frame);
            node part(n);
            part.body = n.body.substr(0, fit.bytes);
            part.next = nullptr;
            left_ -= frame + fit.json_bytes;
            write_content(w, part, r_.rev);
            cut_bytes_ += n.body.size() - fit.bytes;
            return;
        }
        ++left_out_;
        cut_bytes_ += n.body.size();
    }

    // "[truncated: 5242880 bytes left out, among them 1 content whole. All of it: x://results/…]"
    void write_mark(json::writer& w, const kept_link& whole) {
        std::string text = "[truncated";
        if (cut_bytes_ > 0) {
            text += ": " + std::to_string(cut_bytes_) + " bytes left out";
        }
        if (left_out_ > 0) {
            text += ", among them " + std::to_string(left_out_) +
                    (left_out_ == 1 ? " content whole" : " contents whole");
        }
        if (!whole.uri.empty()) {
            const std::int64_t s = r_.engine.options().kept_result_ms / 1000;
            text += ". All of it for " + std::to_string(s) + " s: " + std::string(whole.uri);
            if (whole.parts > 1) {
                text += " and ?part=2 to ?part=" + std::to_string(whole.parts);
            }
        }
        text += "]";
        node mark;
        mark.body = text;
        write_content(w, mark, r_.rev);
        if (!whole.uri.empty() && has_resource_links(r_.rev)) {
            node link;
            link.what = node::kind::link;
            link.uri = whole.uri;
            link.name = "result";
            link.mime_type = whole.mime_type;
            link.description = "The whole result; more parts where _meta has pillion/next";
            write_content(w, link, r_.rev);
        }
    }

    request& r_;
    const detail::result_state& result_;
    const structure& what_;
    std::size_t left_ = 0;
    std::size_t left_out_ = 0;
    std::size_t cut_bytes_ = 0;
};

}  // namespace

base::byte_buffer tool_reply(request& r, const detail::result_state& result) {
    if (result.code != 0) {
        return handler_error(r, result);
    }
    sanitize(r, result);
    const std::size_t max = r.engine.options().result_bytes_max;
    // A structure that is too large is not looked at.
    const bool lost = result.has_structured &&
                      (result.structured.size() > max || (result.cut && result.structured.empty()));
    structure what;
    what.proven =
        result.structured_proven && r.tool != nullptr && r.tool->definition->output_derived;
    what.exists = what.proven && !lost;
    what.text = result.structured;
    if (result.has_structured && !what.proven && !lost) {
        what.parsed = r.parse(result.structured);
        what.exists = what.parsed.exists();
        if (!what.exists && !r.memory.exceeded()) {
            return internal_fault(r, "bad_structured_content");
        }
    }
    if (r.memory.exceeded()) {
        return too_large_reply(r);
    }
    if (!lost && !keeps_promise(r, result, what)) {
        return internal_fault(r, "output_schema_violated");
    }
    const std::size_t size = size_of(r, result, what, max);
    if (size > max || lost || result.cut) {
        return cut_result(r, result, what).write();
    }
    base::byte_buffer out = r.new_message();
    const std::size_t plain = answer_frame_bytes + raw_size(result) + what.text.size();
    if (!room_for_reply(out, size, size > counted_bytes ? size : plain)) {
        return too_large_reply(r);
    }
    json::writer w = begin_result(r, out);
    w.key_raw(R"("content":)");
    w.begin_array();
    for (const node* n = result.first; n != nullptr; n = n->next) {
        write_content(w, *n, r.rev);
    }
    if (what.exists && !has_text(result)) {
        base::byte_buffer text(out.pool());
        if (!what.proven) {
            json::writer(text).value(what.parsed);
        }
        w.begin_object();
        w.fragment(R"("type":"text","text":)");
        w.string(what.proven ? what.text : text.view());
        w.end_object();
    }
    w.end_array();
    // Errors carry none (AMBIGUITIES G23).
    if (!result.failed && what.fits(r)) {
        w.key_raw(R"("structuredContent":)");
        what.write(w);
    }
    write_end(r, w, result.failed, result.meta);
    return out;
}

}  // namespace pillion::mcp
