#include "scenario.hpp"

#include <pillion/json.hpp>
#include <pillion/version.hpp>

#include "base/ascii.hpp"
#include "base/base64.hpp"

namespace pillion::load {

namespace {

constexpr std::string_view revisions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25",
                                          "2026-07-28"};

// The member of params that says what is meant, and that Mcp-Name repeats.
const char* subject_of(action what) noexcept {
    switch (what) {
        case action::tools_call:
        case action::prompts_get:
            return "name";
        case action::resources_read:
            return "uri";
        case action::tasks_get:
        case action::tasks_result:
            return "taskId";
        default:
            return nullptr;
    }
}

void add_client_info(json::builder& b, std::string_view name) {
    b.key(name).begin_object();
    b.member("name", "pillion-bench").member("version", pillion::version).end_object();
}

// What this client can be asked for, and can take.
const char* capabilities_of(pattern how) noexcept {
    return how == pattern::tasks    ? R"({"extensions":{"io.modelcontextprotocol/tasks":{}}})"
           : how == pattern::rounds ? R"({"elicitation":{"form":{}},"sampling":{},"roots":{}})"
                                    : "{}";
}

// The members of a message behind its id.
std::string render_rest(const scenario& how, const question& what) {
    json::builder b;
    b.begin_object();
    b.member("method", method_of(what.what, how.modern()));
    b.key("params").begin_object();
    if (what.what == action::initialize) {
        b.member("protocolVersion", name_of(how.rev));
        b.key("capabilities").begin_object().end_object();
        add_client_info(b, "clientInfo");
    } else if (const char* const subject = subject_of(what.what)) {
        b.member(subject, what.name);
        if (what.what == action::tools_call || what.what == action::prompts_get) {
            b.key("arguments").raw(what.arguments);
        }
    }
    const bool counted = how.how == pattern::progress && what.what == action::tools_call;
    if (how.modern() || counted) {
        b.key("_meta").begin_object();
        if (counted) {
            b.member("progressToken", progress_token);
        }
        if (how.modern()) {
            b.member("io.modelcontextprotocol/protocolVersion", name_of(how.rev));
            add_client_info(b, "io.modelcontextprotocol/clientInfo");
            b.key("io.modelcontextprotocol/clientCapabilities").raw(capabilities_of(how.how));
        }
        b.end_object();
    }
    b.end_object().end_object();
    std::string text(b.text().substr(1));
    // Inside of params, which end the message.
    const bool alone = text.ends_with("{}}");
    text.insert(text.size() - 2, alone && !what.more.empty() ? what.more.substr(1) : what.more);
    return text;
}

// A name as the value of Mcp-Name: as it is where HTTP takes it, else in base64.
std::string header_value(std::string_view name) {
    constexpr std::string_view open = "=?base64?";
    constexpr std::string_view close = "?=";
    bool plain = base::trim_ows(name).size() == name.size() &&
                 !(name.starts_with(open) && name.ends_with(close));
    for (const char c : name) {
        plain = plain && (base::is_ows(c) || (c > ' ' && c < 0x7f));
    }
    if (plain) {
        return std::string(name);
    }
    std::string coded(base::base64::encoded_size(name.size()), '\0');
    base::base64::encode(name, coded.data());
    return std::string(open) + coded + std::string(close);
}

void add_header(std::string& head, std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
}

std::string begin_head(std::string_view method, const scenario& how, const target& to,
                       const place& at) {
    std::string head(method);
    head.append(" ").append(at.path).append(" HTTP/1.1\r\n");
    add_header(head, "Host", to.host_field);
    if (!at.session.empty()) {
        add_header(head, "Mcp-Session-Id", at.session);
    }
    for (const std::string& own : how.headers) {
        head.append(own).append("\r\n");
    }
    return head;
}

}  // namespace

std::string_view name_of(revision r) noexcept { return revisions[static_cast<std::size_t>(r)]; }

std::optional<revision> parse_revision(std::string_view text) noexcept {
    for (std::size_t i = 0; i < std::size(revisions); ++i) {
        if (revisions[i] == text) {
            return static_cast<revision>(i);
        }
    }
    return std::nullopt;
}

std::string_view method_of(action what, bool modern) noexcept {
    switch (what) {
        case action::ping:
            return modern ? "server/discover" : "ping";
        case action::tools_list:
            return "tools/list";
        case action::tools_call:
            return "tools/call";
        case action::resources_list:
            return "resources/list";
        case action::resources_read:
            return "resources/read";
        case action::prompts_list:
            return "prompts/list";
        case action::prompts_get:
            return "prompts/get";
        case action::tasks_get:
            return "tasks/get";
        case action::tasks_result:
            return "tasks/result";
        case action::listen:
            return "subscriptions/listen";
        case action::initialize:
            return "initialize";
        case action::initialized:
            break;
    }
    return "notifications/initialized";
}

const char* events_of(pattern how) noexcept {
    switch (how) {
        case pattern::progress:
            return "progress";
        case pattern::tasks:
            return "polls";
        case pattern::rounds:
            return "questions";
        default:
            return nullptr;
    }
}

request_text render(const scenario& how, const question& what, const target& to, const place& at) {
    request_text out;
    const bool has_id = what.what != action::initialized;
    std::string body = R"({"jsonrpc":"2.0",)";
    if (has_id) {
        body.append(R"("id":)");
        out.id_at = body.size();
        body.append(std::to_string(first_id)).append(",");
    }
    out.end = render_rest(how, what);
    if (to.is_command()) {
        out.begin = std::move(body);
        out.end += "\n";
        return out;
    }
    std::string head = begin_head("POST", how, to, at);
    add_header(head, "Content-Type", "application/json");
    add_header(head, "Accept", "application/json, text/event-stream");
    // 2025-03-26 has no such header, and the others none before the handshake has ended.
    if (how.modern() || (what.what != action::initialize && how.rev > revision::r2025_03_26)) {
        add_header(head, "MCP-Protocol-Version", name_of(how.rev));
    }
    if (how.modern()) {
        add_header(head, "Mcp-Method", method_of(what.what, true));
        if (subject_of(what.what) != nullptr) {
            add_header(head, "Mcp-Name", header_value(what.name));
        }
    }
    add_header(head, "Content-Length", std::to_string(body.size() + out.end.size()));
    head.append("\r\n");
    out.id_at += has_id ? head.size() : 0;
    out.begin = head + body;
    return out;
}

std::string render_answer(const scenario& how, const target& to, const place& at,
                          std::string_view json) {
    std::string head = begin_head("POST", how, to, at);
    add_header(head, "Content-Type", "application/json");
    add_header(head, "Accept", "application/json, text/event-stream");
    if (how.rev > revision::r2025_03_26) {
        add_header(head, "MCP-Protocol-Version", name_of(how.rev));
    }
    add_header(head, "Content-Length", std::to_string(json.size()));
    head.append("\r\n").append(json);
    return head;
}

std::string render_delete(const scenario& how, const target& to, const place& at) {
    std::string head = begin_head("DELETE", how, to, at);
    if (how.rev > revision::r2025_03_26) {
        add_header(head, "MCP-Protocol-Version", name_of(how.rev));
    }
    return head + "\r\n";
}

std::string render_open(const scenario& how, const target& to) {
    std::string head = begin_head("GET", how, to, {{}, to.path});
    add_header(head, "Accept", "text/event-stream");
    return head + "\r\n";
}

bool is_extra_header(std::string_view text) noexcept {
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    if (colon == std::string_view::npos || !base::is_token(name) ||
        !base::is_field_value(text.substr(colon + 1))) {
        return false;
    }
    for (const std::string_view ours : {"host", "content-length", "transfer-encoding", "connection",
                                        "content-type", "accept", "mcp-session-id"}) {
        if (base::equals_ignore_case(name, ours)) {
            return false;
        }
    }
    return true;
}

}  // namespace pillion::load
