#include "mcp/replies.hpp"

#include <cmath>

#include "mcp/engine.hpp"
#include "mcp/task_run.hpp"
#include "rpc/envelope.hpp"

namespace pillion::mcp {

namespace {

constexpr std::string_view level_names[] = {
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
};

}  // namespace

std::string_view level_name(log_level level) noexcept {
    return level_names[static_cast<std::size_t>(level)];
}

bool parse_level(std::string_view name, log_level& out) noexcept {
    for (std::size_t i = 0; i < std::size(level_names); ++i) {
        if (level_names[i] == name) {
            out = static_cast<log_level>(i);
            return true;
        }
    }
    return false;
}

json::writer begin_result(request& r, base::byte_buffer& out) {
    json::writer w(out);
    w.fragment(R"({"jsonrpc":"2.0","id":)");
    rpc::write_id(w, r.id);
    if (r.modern()) {
        w.fragment(R"(,"result":{"resultType":"complete")");
    } else {
        w.fragment(R"(,"result":{)");
    }
    return w;
}

void end_result(request& r, json::writer& w, const detail::meta_node* meta) {
    if (r.modern()) {
        w.fragment(R"(,"_meta":{"io.modelcontextprotocol/serverInfo":)");
        w.raw(r.mid == method_id::discover ? r.registered().implementation_json(r.rev)
                                           : r.registered().short_info());
    } else if (r.run != nullptr) {
        w.key_raw(R"("_meta":{"io.modelcontextprotocol/related-task":{"taskId":)");
        w.string(r.run->id());
        w.fragment("}");
    } else if (meta != nullptr) {
        w.key_raw(R"("_meta":)");
        w.begin_object();
    }
    for (const detail::meta_node* m = meta; m != nullptr; m = m->next) {
        w.string_lossy(m->key);
        w.fragment(":");
        w.raw(m->json);
    }
    w.fragment(r.modern() || r.run != nullptr || meta != nullptr ? "}}}" : "}}");
}

void write_caching(request& r, json::writer& w, std::int64_t ttl_ms, bool shared) {
    if (!r.modern()) {
        return;
    }
    w.key_raw(R"("ttlMs":)");
    w.integer(ttl_ms);
    w.key_raw(R"("cacheScope":)");
    w.raw(shared ? R"("public")" : R"("private")");
}

base::byte_buffer empty_result(request& r) {
    base::byte_buffer out = r.new_message();
    json::writer w = begin_result(r, out);
    end_result(r, w);
    return out;
}

base::byte_buffer error_reply(request& r, const fault& f) {
    base::byte_buffer out = r.new_message();
    json::writer w(out);
    w.fragment(R"({"jsonrpc":"2.0","id":)");
    rpc::write_id(w, r.id);
    w.fragment(R"(,"error":{"code":)");
    w.integer(f.code);
    w.key_raw(R"("message":)");
    w.string_lossy(f.message);
    // requestId lets users and operators find the log line (STANDARD row 96); members that the
    // specification defines stay beside it.
    w.fragment(R"(,"data":{"requestId":)");
    w.string_lossy(r.request_id);
    if (f.data_json.size() > 2) {
        w.raw(f.data_json.substr(1, f.data_json.size() - 2));
    }
    w.fragment("}}}");
    return out;
}

void write_error_without_id(base::byte_buffer& out, int code, std::string_view message,
                            std::string_view data_json, bool null_id) {
    json::writer w(out);
    w.fragment(null_id ? R"({"jsonrpc":"2.0","id":null,"error":{"code":)"
                       : R"({"jsonrpc":"2.0","error":{"code":)");
    w.integer(code);
    w.key_raw(R"("message":)");
    w.string_lossy(message);
    if (!data_json.empty()) {
        w.key_raw(R"("data":)");
        w.raw(data_json);
    }
    w.fragment("}}");
}

base::byte_buffer progress_message(request& r, double done, double total,
                                   std::string_view message) {
    base::byte_buffer out = r.new_message();
    json::writer w(out);
    w.fragment(R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)");
    w.value(r.progress_token);
    w.key_raw(R"("progress":)");
    w.number(done);
    if (total > 0 && std::isfinite(total)) {
        w.key_raw(R"("total":)");
        w.number(total);
    }
    if (!message.empty() && has_progress_message(r.rev)) {
        w.key_raw(R"("message":)");
        w.string_lossy(message);
    }
    write_related_task(r, w);
    w.fragment("}}");
    return out;
}

base::byte_buffer log_message(request& r, log_level level, std::string_view logger,
                              std::string_view data, bool plain) {
    base::byte_buffer out = r.new_message();
    json::writer w(out);
    w.fragment(R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":)");
    w.string(level_name(level));
    if (!logger.empty()) {
        w.key_raw(R"("logger":)");
        w.string_lossy(logger);
    }
    w.key_raw(R"("data":)");
    if (plain) {
        w.string_lossy(data);
    } else {
        w.raw(data);
    }
    write_related_task(r, w);
    w.fragment("}}");
    return out;
}

}  // namespace pillion::mcp
