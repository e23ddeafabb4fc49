#include "answer_check.hpp"

#include "json/parser.hpp"

namespace pillion::load {

namespace {

// What the result of a method must hold.
bool has_shape(json::view result, action of, bool modern) {
    switch (of) {
        case action::ping:
            return !modern || result["supportedVersions"].is_array();
        case action::tools_list:
            return result["tools"].is_array();
        case action::tools_call:
            return result["content"].is_array();
        case action::resources_list:
            return result["resources"].is_array();
        case action::resources_read:
            return result["contents"].is_array();
        case action::prompts_list:
            return result["prompts"].is_array();
        case action::prompts_get:
            return result["messages"].is_array();
        case action::tasks_get:
            return result["status"].is_string();
        case action::tasks_result:
            return result["content"].is_array();
        case action::initialize:
            return result["protocolVersion"].is_string();
        case action::listen:
        case action::initialized:
            break;
    }
    return false;
}

std::string reply_to(json::view request) {
    json::builder b;
    b.begin_object().member("jsonrpc", "2.0");
    b.key("id").value(request["id"]);
    if (request["method"].str() == "ping") {
        b.key("result").begin_object().end_object();
    } else {
        b.key("error").begin_object().member("code", -32601);
        b.member("message", "Method not found").end_object();
    }
    b.end_object();
    return std::string(b.text());
}

}  // namespace

verdict answer_check::judge_shape(json::view result, action of, bool modern) {
    // "input_required" and "task" are no results yet.
    const json::view type = result["resultType"];
    const bool whole = !modern || !type.exists() || type.str() == "complete";
    if (!result.is_object() || !whole || !has_shape(result, of, modern)) {
        return {fault::wrong_shape};
    }
    const bool call = of == action::tools_call || of == action::tasks_result;
    return {call && result["isError"].boolean() ? fault::tool_error : fault::none};
}

std::optional<verdict> answer_check::judge(char* text, std::size_t size, std::uint64_t id,
                                           action of, bool modern, answer_taker* taker) noexcept {
    const bool expected = of == action::initialize || expected_.empty() ||
                          std::string_view(text, size).find(expected_) != std::string_view::npos;
    std::optional<verdict> out = verdict{fault::malformed};
    reply_.clear();
    const json::parse_result parsed = json::parse(text, size, memory_);
    const json::view root = parsed.root;
    if (parsed.ok && root.is_object() && root["jsonrpc"].str() == "2.0") {
        const json::view error = root["error"];
        const json::view result = root["result"];
        const std::optional<std::uint64_t> answered = root["id"].u64();
        // An error may have no id when the question could not be read.
        const bool no_id = !root["id"].exists() || root["id"].is_null();
        if (root["method"].exists()) {
            out.reset();
            if (!no_id) {
                reply_ = reply_to(root);
            }
            if (taker != nullptr) {
                taker->hear(root);
            }
        } else if (error.exists() == result.exists()) {
            out = verdict{fault::malformed};
        } else if (answered != id && !(no_id && error.exists())) {
            out = verdict{fault::wrong_id};
        } else if (error.exists()) {
            out = verdict{fault::rpc_error, error["code"].i64().value_or(0)};
        } else {
            out = taker != nullptr ? taker->take(result) : judge_shape(result, of, modern);
            if (of == action::initialize && out->what == fault::none) {
                negotiated_.assign(result["protocolVersion"].str());
            }
            const bool is_last = taker == nullptr || taker->is_over();
            if (out->what == fault::none && is_last && !expected) {
                out = verdict{fault::unexpected};
            }
        }
    }
    memory_.release();
    return out;
}

}  // namespace pillion::load
