// Results of prompts, resources and completions as messages (declared in mcp/replies.hpp).
#include <algorithm>

#include "mcp/content_writer.hpp"
#include "mcp/engine.hpp"
#include "mcp/replies.hpp"
#include "mcp/result_errors.hpp"
#include "mcp/result_size.hpp"

namespace pillion::mcp {

namespace {

using node = detail::content_node;

// Whether it may be sent, and its memory is there. They have no results that are cut: half a prompt
// or half a resource would pass for the whole.
bool may_send(request& r, const detail::result_state& result, base::byte_buffer& out) {
    const std::size_t max = r.engine.options().result_bytes_max;
    const std::size_t raw = raw_size(result);
    if (r.memory.exceeded() || result.cut || raw > max) {
        return false;
    }
    std::size_t size = answer_frame_bytes + escape_factor * raw;
    std::size_t plain = answer_frame_bytes + raw;
    if (size > std::min(max, counted_bytes)) {
        size = plain = json_size(result);
    }
    return size <= max && room_for_reply(out, size, plain);
}

}  // namespace

base::byte_buffer prompt_reply(request& r, const detail::result_state& result) {
    if (result.code != 0) {
        return handler_error(r, result);
    }
    base::byte_buffer out = r.new_message();
    if (!may_send(r, result, out)) {
        return too_large_reply(r);
    }
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
    if (result.first == nullptr && !r.memory.exceeded()) {
        // An empty contents array would claim that the resource exists and is nothing.
        return internal_fault(r, "empty_resource");
    }
    base::byte_buffer out = r.new_message();
    if (!may_send(r, result, out)) {
        return too_large_reply(r);
    }
    json::writer w = begin_result(r, out);
    w.key_raw(R"("contents":)");
    w.begin_array();
    for (const node* n = result.first; n != nullptr; n = n->next) {
        write_resource_body(w, *n, r.rev);
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
