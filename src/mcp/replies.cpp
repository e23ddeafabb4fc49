#include "mcp/replies.hpp"

#include <charconv>
#include <cmath>

#include "base/log.hpp"
#include "mcp/engine.hpp"
#include "mcp/error_map.hpp"
#include "mcp/task_run.hpp"
#include "rpc/envelope.hpp"
#include "rpc/errors.hpp"

namespace pillion::mcp {

namespace {

constexpr std::string_view level_names[] = {
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
};

}  // namespace

fault bad_params(safe_text message, std::string_view data_json) noexcept {
    fault f;
    f.code = rpc::invalid_params;
    f.message = message;
    f.data_json = data_json;
    return f;
}

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

json::writer begin_reply(request& r, base::byte_buffer& out) {
    json::writer w(out);
    w.fragment(R"({"jsonrpc":"2.0","id":)");
    rpc::write_id(w, r.id);
    return w;
}

void open_result(request& r, json::writer& w) {
    if (r.modern()) {
        w.fragment(R"(,"result":{"resultType":"complete")");
    } else {
        w.fragment(R"(,"result":{)");
    }
}

json::writer begin_result(request& r, base::byte_buffer& out) {
    json::writer w = begin_reply(r, out);
    open_result(r, w);
    return w;
}

namespace {

// `_meta` of a result but for the bracket that closes it. False: there is none.
bool begin_meta(request& r, json::writer& w, const detail::meta_node* meta) {
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
    } else {
        return false;
    }
    for (const detail::meta_node* m = meta; m != nullptr; m = m->next) {
        w.string_lossy(m->key);
        w.fragment(":");
        w.raw(m->json);
    }
    return true;
}

}  // namespace

void write_result_meta(request& r, json::writer& w, const detail::meta_node* meta) {
    if (begin_meta(r, w, meta)) {
        w.end_object();
    }
}

void end_result(request& r, json::writer& w, const detail::meta_node* meta) {
    w.fragment(begin_meta(r, w, meta) ? "}}}" : "}}");
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

void write_error(base::byte_buffer& out, const fault& f, std::string_view request_id, json::view id,
                 bool null_id) {
    if (log::enabled(log::level::debug)) {
        log::debug("mcp.error", {log::kv("request_id", request_id), log::kv("code", f.code),
                                 log::kv("message", f.message.view())});
    }
    json::writer w(out);
    w.fragment(R"({"jsonrpc":"2.0")");
    if (id.exists() || null_id) {
        w.fragment(R"(,"id":)");
        rpc::write_id(w, id);
    }
    w.fragment(R"(,"error":{"code":)");
    w.integer(f.code);
    w.key_raw(R"("message":)");
    w.string_lossy(f.message.view());
    w.fragment(R"(,"data":{"requestId":)");
    w.string_lossy(request_id);
    if (f.retry_after_s > 0) {
        w.key_raw(R"("retryAfter":)");
        w.integer(f.retry_after_s);
    }
    if (f.data_json.size() > 2) {
        w.raw(f.data_json.substr(1, f.data_json.size() - 2));
    }
    w.fragment("}}}");
}

base::byte_buffer error_reply(request& r, const fault& f) {
    r.retry_after_s = f.retry_after_s;
    r.http_status = http_status_of(f.code, f.http_status, r.registered().corporate());
    fault out = f;
    out.code = wire_code(f.code, r.modern(), r.engine.options().strict_e_codes);
    base::byte_buffer text = r.new_message();
    if (!r.lacking.empty() && r.channel != nullptr && r.channel->has_status()) {
        // The status says it, and the error has no id (STANDARD row 50).
        write_error(text, out, r.request_id);
    } else {
        write_error(text, out, r.request_id, r.id, true);
    }
    return text;
}

std::string_view write_seconds(std::uint32_t seconds, char (&room)[16]) noexcept {
    const char* const end = std::to_chars(room, room + sizeof room, seconds).ptr;
    return {room, static_cast<std::size_t>(end - room)};
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
