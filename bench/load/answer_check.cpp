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
        case action::initialize:
            return result["protocolVersion"].is_string();
        case action::initialized:
            break;
    }
    return false;
}

}  // namespace

verdict answer_check::judge_result(json::view result, action of, bool modern) {
    // "input_required" and "task" are no results yet.
    const json::view type = result["resultType"];
    const bool whole = !modern || !type.exists() || type.str() == "complete";
    if (!result.is_object() || !whole || !has_shape(result, of, modern)) {
        return {fault::wrong_shape};
    }
    if (of == action::tools_call && result["isError"].boolean()) {
        return {fault::tool_error};
    }
    if (of == action::initialize) {
        negotiated_.assign(result["protocolVersion"].str());
    }
    return {};
}

std::optional<verdict> answer_check::judge(char* text, std::size_t size, std::uint64_t id,
                                           action of, bool modern) noexcept {
    const bool expected = of == action::initialize || expected_.empty() ||
                          std::string_view(text, size).find(expected_) != std::string_view::npos;
    std::optional<verdict> out = verdict{fault::malformed};
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
        } else if (error.exists() == result.exists()) {
            out = verdict{fault::malformed};
        } else if (answered != id && !(no_id && error.exists())) {
            out = verdict{fault::wrong_id};
        } else if (error.exists()) {
            out = verdict{fault::rpc_error, error["code"].i64().value_or(0)};
        } else {
            out = judge_result(result, of, modern);
            if (out->what == fault::none && !expected) {
                out = verdict{fault::unexpected};
            }
        }
    }
    memory_.release();
    return out;
}

}  // namespace pillion::load
