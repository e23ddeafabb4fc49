#include "sidecar/http_message.hpp"

#include <algorithm>

#include <pillion/json.hpp>

#include "base/base64.hpp"
#include "json/document.hpp"
#include "sidecar/rpc_peer.hpp"

namespace pillion::sidecar {

namespace {

constexpr std::string_view version_key = "io.modelcontextprotocol/protocolVersion";

// Which part of the parameters Mcp-Name repeats; empty: none.
std::string_view named_member(std::string_view method) {
    if (method == "tools/call" || method == "prompts/get") {
        return "name";
    }
    if (method == "resources/read") {
        return "uri";
    }
    return method.starts_with("tasks/") ? "taskId" : std::string_view();
}

void add_arguments(http_message& to, json::view params, const tool_fields& tools) {
    const auto found = tools.find(params["name"].str());
    if (to.method != "tools/call" || found == tools.end()) {
        return;
    }
    for (const schema_check::header_param& one : found->second) {
        json::view value = params["arguments"];
        for (const std::string& step : one.path) {
            value = value[step];
        }
        if (value.is_string()) {
            to.fields.emplace_back("Mcp-Param-" + one.suffix, field_value(value.str()));
        } else if (value.is_number() || value.is_bool()) {
            to.fields.emplace_back("Mcp-Param-" + one.suffix, json_text(value));
        }
    }
}

}  // namespace

tool_fields fields_of_tools(const std::vector<std::string>& tools) {
    tool_fields all;
    for (const std::string& text : tools) {
        const auto parsed = json::document::parse(text);
        std::vector<schema_check::header_param> found;
        std::string ignored;
        if (parsed &&
            schema_check::collect_header_params(parsed->root()["inputSchema"], found, ignored) &&
            !found.empty()) {
            all.emplace(parsed->root()["name"].str(), std::move(found));
        }
    }
    return all;
}

http_message read_message(std::string text, const tool_fields& tools) {
    http_message made;
    const auto parsed = json::document::parse(text);
    const json::view root = parsed ? parsed->root() : json::view();
    const json::view params = root["params"];
    made.text = std::move(text);
    made.method = root["method"].str();
    if (made.method.empty()) {
        made.what = http_message::kind::response;
        return made;
    }
    made.id = root["id"].u64().value_or(0);
    made.what = made.id != 0 ? http_message::kind::request : http_message::kind::notification;
    if (made.method == "notifications/cancelled") {
        made.cancels = params["requestId"].u64().value_or(0);
    }
    made.version = params["_meta"][version_key].str();
    if (!made.version.empty()) {
        made.fields.emplace_back("Mcp-Method", made.method);
        const std::string_view member = named_member(made.method);
        if (!member.empty() && params[member].is_string()) {
            made.fields.emplace_back("Mcp-Name", field_value(params[member].str()));
        }
        add_arguments(made, params, tools);
    }
    return made;
}

std::string field_value(std::string_view text) {
    constexpr std::string_view prefix = "=?base64?";
    constexpr std::string_view suffix = "?=";
    const auto blank = [](char c) { return c == ' ' || c == '\t'; };
    const bool plain = std::all_of(text.begin(), text.end(),
                                   [&](char c) { return blank(c) || (c > ' ' && c < '\x7f'); }) &&
                       (text.empty() || (!blank(text.front()) && !blank(text.back()))) &&
                       !(text.starts_with(prefix) && text.ends_with(suffix));
    if (plain) {
        return std::string(text);
    }
    std::string coded(base::base64::encoded_size(text.size()), '\0');
    coded.resize(base::base64::encode(text, coded.data()));
    return std::string(prefix) + coded + std::string(suffix);
}

std::string error_answer(std::uint64_t id, int code, std::string_view message,
                         std::string_view data) {
    json::builder b;
    b.begin_object().member("jsonrpc", "2.0").member("id", id).key("error").begin_object();
    b.member("code", code).member("message", message);
    if (!data.empty()) {
        b.key("data").raw(data);
    }
    b.end_object().end_object();
    return std::string(b.text());
}

}  // namespace pillion::sidecar
