#include "mcp/task_replies.hpp"

#include "base/iso_time.hpp"
#include "mcp/engine.hpp"
#include "rpc/envelope.hpp"

namespace pillion::mcp {

void write_task(json::writer& w, const task_record& t) {
    const bool flat = is_modern(t.rev);
    w.key_raw(R"("taskId":)");
    w.string(t.id);
    w.key_raw(R"("status":)");
    w.string(name_of(t.status));
    if (!t.message.empty()) {
        w.key_raw(R"("statusMessage":)");
        w.string_lossy(t.message);
    }
    w.key_raw(R"("createdAt":)");
    w.string(base::iso_time(t.created_ms).text());
    w.key_raw(R"("lastUpdatedAt":)");
    w.string(base::iso_time(t.updated_ms).text());
    w.key_raw(flat ? R"("ttlMs":)" : R"("ttl":)");
    w.integer(t.ttl_ms);
    w.key_raw(flat ? R"("pollIntervalMs":)" : R"("pollInterval":)");
    w.integer(t.poll_ms);
}

void write_detailed_task(json::writer& w, const task_record& t) {
    write_task(w, t);
    if (!is_modern(t.rev)) {
        return;
    }
    if (t.status == task_status::input_required) {
        w.key_raw(R"("inputRequests":)");
        w.begin_object();
        for (const task_question& one : t.questions) {
            w.key(one.key);
            w.raw(one.request);
        }
        w.end_object();
    }
    if (!t.outcome.empty()) {
        w.fragment(",");
        w.fragment(t.outcome);
    }
}

base::byte_buffer task_created_reply(request& r, const task_record& t) {
    base::byte_buffer out = r.new_message();
    json::writer w(out);
    w.fragment(R"({"jsonrpc":"2.0","id":)");
    rpc::write_id(w, r.id);
    if (r.modern()) {
        w.fragment(R"(,"result":{"resultType":"task")");
    } else {
        w.fragment(R"(,"result":{"task":)");
        w.begin_object();
    }
    write_task(w, t);
    if (!r.modern()) {
        w.end_object();
    }
    end_result(r, w);
    return out;
}

base::byte_buffer task_reply(request& r, const task_record& t) {
    base::byte_buffer out = r.new_message();
    json::writer w = begin_result(r, out);
    write_detailed_task(w, t);
    end_result(r, w);
    return out;
}

base::byte_buffer task_outcome_reply(request& r, const task_record& t) {
    base::byte_buffer out = r.new_message();
    json::writer w(out);
    w.fragment(R"({"jsonrpc":"2.0","id":)");
    rpc::write_id(w, r.id);
    w.fragment(",");
    w.fragment(t.outcome);
    w.fragment("}");
    return out;
}

void write_task_status(base::byte_buffer& out, const task_record& t) {
    json::writer w(out);
    w.fragment(R"({"jsonrpc":"2.0","method":"notifications/tasks/status","params":)");
    w.begin_object();
    write_task(w, t);
    w.end_object();
    w.fragment("}");
}

std::string_view outcome_of(const request& r, std::string_view reply) noexcept {
    // {"jsonrpc":"2.0","id":…,"result":{…}}
    base::byte_buffer id(r.engine.loop().chunks());
    json::writer w(id);
    rpc::write_id(w, r.id);
    constexpr std::string_view front = R"({"jsonrpc":"2.0","id":)";
    const std::size_t skip = front.size() + id.size() + 1;
    return reply.substr(skip, reply.size() - skip - 1);
}

}  // namespace pillion::mcp
