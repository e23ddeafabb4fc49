#include "mcp/modern_checks.hpp"

#include "base/ascii.hpp"
#include "base/base64.hpp"
#include "base/utf8.hpp"
#include "http/head.hpp"
#include "json/writer.hpp"
#include "mcp/engine.hpp"
#include "rpc/errors.hpp"

namespace pillion::mcp {

namespace {

bool fail(fault& why, int code, std::uint16_t status, safe_text message,
          std::string_view data = {}) noexcept {
    why.code = code;
    why.http_status = status;
    why.message = message;
    why.data_json = data;
    return false;
}

bool mismatch(fault& why, safe_text message) noexcept {
    return fail(why, rpc::header_mismatch, 400, message);
}

// The HTTP layer has refused control bytes.
bool usable(const http::request_head& head, http::header_id id) noexcept {
    return head.count(id) == 1 && base::is_ascii(head.get(id));
}

bool unsupported(request& r, std::string_view requested, fault& why) {
    base::byte_buffer data(r.memory.pool());
    json::writer w(data);
    w.fragment(R"({"supported":)");
    // A legacy version in modern form cannot be served without its session (AMBIGUITIES G4).
    w.raw(find_revision(requested) ? R"(["2026-07-28"])" : all_revisions_json());
    w.key_raw(R"("requested":)");
    w.string_lossy(requested.substr(0, requested_bytes_max));
    w.end_object();
    return fail(why, rpc::unsupported_version, 400, "Unsupported protocol version",
                r.memory.dup(data.view()));
}

// The feature behind a method is offered by this server.
bool offered(method_id m, const registry& has) noexcept {
    switch (m) {
        case method_id::tools_list:
        case method_id::tools_call:
            return has.has_tools();
        case method_id::prompts_list:
        case method_id::prompts_get:
            return has.has_prompts();
        case method_id::resources_list:
        case method_id::resources_templates_list:
        case method_id::resources_read:
        case method_id::resources_subscribe:
        case method_id::resources_unsubscribe:
            return has.has_resources();
        case method_id::completion_complete:
            return has.has_completions();
        case method_id::tasks_get:
        case method_id::tasks_list:
        case method_id::tasks_result:
        case method_id::tasks_update:
        case method_id::tasks_cancel:
            return has.has_tasks();
        default:
            return true;
    }
}

bool method_known(request& r, fault& why) {
    if (exists_in(r.mid, r.rev) && offered(r.mid, r.registered())) {
        return true;
    }
    // Under earlier revisions a 404 would tell the client that its session is gone.
    return fail(why, rpc::method_not_found, r.modern() ? 404 : 200, "Method not found");
}

bool meta_present(request& r, fault& why) {
    if (!r.meta.all.is_object()) {
        return fail(why, rpc::invalid_params, 400, "params._meta is required",
                    R"({"field":"_meta","reason":"required"})");
    }
    if (!r.meta.version.is_string()) {
        return fail(why, rpc::invalid_params, 400,
                    "_meta needs io.modelcontextprotocol/protocolVersion",
                    R"({"field":"io.modelcontextprotocol/protocolVersion","reason":"required"})");
    }
    if (!r.meta.capabilities.is_object()) {
        return fail(
            why, rpc::invalid_params, 400, "_meta needs io.modelcontextprotocol/clientCapabilities",
            R"({"field":"io.modelcontextprotocol/clientCapabilities","reason":"required"})");
    }
    return true;
}

// The name that the header Mcp-Name mirrors; missing view when the method has none.
json::view mirrored_name(const request& r) noexcept {
    switch (r.mid) {
        case method_id::tools_call:
        case method_id::prompts_get:
            return r.usual.name;
        case method_id::resources_read:
            return r.usual.uri;
        case method_id::tasks_get:
        case method_id::tasks_update:
        case method_id::tasks_cancel:
            return r.params["taskId"];
        default:
            return {};
    }
}

bool name_header(request& r, fault& why) {
    switch (r.mid) {
        case method_id::tools_call:
        case method_id::prompts_get:
        case method_id::resources_read:
        case method_id::tasks_get:
        case method_id::tasks_update:
        case method_id::tasks_cancel:
            break;
        default:
            return true;
    }
    if (!usable(*r.head, http::header_id::mcp_name)) {
        return mismatch(why, "Mcp-Name header is missing or malformed");
    }
    std::string_view decoded;
    const json::view name = mirrored_name(r);
    if (!decode_mirrored(r.head->get(http::header_id::mcp_name), r.memory, decoded) ||
        !name.is_string() || decoded != name.str()) {
        return mismatch(why, "Mcp-Name header does not match the body");
    }
    return true;
}

bool log_and_progress(request& r, fault& why) {
    const json::view level = r.meta.log_level;
    if (level.exists()) {
        if (!parse_level(level.str(), r.threshold)) {
            return fail(why, rpc::invalid_params, 200, "Unknown log level",
                        R"({"field":"io.modelcontextprotocol/logLevel","reason":"enum"})");
        }
        r.has_log_level = true;
    }
    const json::view token = r.meta.progress_token;
    if (token.exists()) {
        if (!token.is_string() && !token.is_integer()) {
            return fail(why, rpc::invalid_params, 200,
                        "progressToken must be a string or an integer",
                        R"({"field":"progressToken","reason":"type"})");
        }
        r.progress_token = token;
    }
    return true;
}

// One annotated argument against its header.
bool param_matches(json::view argument, std::string_view header, base::arena& memory) {
    std::string_view decoded;
    if (!decode_mirrored(header, memory, decoded)) {
        return false;
    }
    if (argument.is_string()) {
        return decoded == argument.str();
    }
    if (argument.is_bool()) {
        return decoded == (argument.boolean() ? "true" : "false");
    }
    // Numerically, and only what a double can hold exactly (AMBIGUITIES G38).
    const auto in_body = argument.integral();
    const auto in_header = base::parse_integral(decoded);
    constexpr std::int64_t exact = (std::int64_t{1} << 53) - 1;
    return in_body && in_header && *in_body == *in_header && *in_body <= exact &&
           *in_body >= -exact;
}

}  // namespace

bool decode_mirrored(std::string_view value, base::arena& memory, std::string_view& out) {
    constexpr std::string_view prefix = "=?base64?";
    constexpr std::string_view suffix = "?=";
    if (value.size() < prefix.size() + suffix.size() || !value.starts_with(prefix) ||
        !value.ends_with(suffix)) {
        out = value;
        return true;
    }
    const std::string_view text =
        value.substr(prefix.size(), value.size() - prefix.size() - suffix.size());
    char* to = static_cast<char*>(memory.allocate(base::base64::decoded_size_max(text.size()), 1));
    const auto bytes = base::base64::decode(text, to);
    if (!bytes) {
        return false;
    }
    out = {to, *bytes};
    return base::utf8::validate(out);
}

bool check_modern(request& r, fault& why) {
    if (!meta_present(r, why)) {
        return false;
    }
    const std::string_view version = r.meta.version.str();
    if (r.head != nullptr && (!usable(*r.head, http::header_id::mcp_protocol_version) ||
                              r.head->get(http::header_id::mcp_protocol_version) != version)) {
        return mismatch(why, "MCP-Protocol-Version header does not match the body");
    }
    if (version != name_of(modern)) {
        return unsupported(r, version, why);
    }
    if (r.head != nullptr && (!usable(*r.head, http::header_id::mcp_method) ||
                              r.head->get(http::header_id::mcp_method) != r.method)) {
        return mismatch(why, "Mcp-Method header does not match the body");
    }
    if (!method_known(r, why) || (r.head != nullptr && !name_header(r, why))) {
        return false;
    }
    r.client_capabilities = r.meta.capabilities;
    return log_and_progress(r, why);
}

bool check_legacy(request& r, fault& why) {
    if (!method_known(r, why)) {
        return false;
    }
    // A malformed token of an earlier revision is ignored (AMBIGUITIES G30).
    const json::view token = r.meta.progress_token;
    if (token.is_string() || token.is_integer()) {
        r.progress_token = token;
    }
    return true;
}

bool check_param_headers(request& r, fault& why) {
    if (r.head == nullptr) {
        return true;
    }
    for (const schema_check::header_param& p : r.tool->header_params) {
        json::view argument = r.arguments;
        for (const std::string& step : p.path) {
            argument = argument[step];
        }
        const std::uint8_t count = r.head->count(std::string_view(p.header_name));
        const bool in_body = argument.exists() && !argument.is_null();
        if (!in_body && count == 0) {
            continue;
        }
        const std::string_view value = r.head->find(p.header_name);
        if (!in_body || count != 1 || !base::is_ascii(value) ||
            !param_matches(argument, value, r.memory)) {
            return mismatch(why, "Mcp-Param header does not match the arguments");
        }
    }
    return true;
}

}  // namespace pillion::mcp
