#include "mcp/request_meta.hpp"

#include "json/node.hpp"

namespace pillion::mcp {

namespace {

// Where a member belongs; null: nowhere here. No two names are of one length.
json::view* slot_of(request_meta& m, std::string_view key) noexcept {
    switch (key.size()) {
        case meta_version.size():
            return key == meta_version ? &m.version : nullptr;
        case meta_capabilities.size():
            return key == meta_capabilities ? &m.capabilities : nullptr;
        case meta_client_info.size():
            return key == meta_client_info ? &m.client_info : nullptr;
        case meta_log_level.size():
            return key == meta_log_level ? &m.log_level : nullptr;
        case meta_timeout.size():
            return key == meta_timeout ? &m.timeout : nullptr;
        case 13:
            return key == "progressToken" ? &m.progress_token : nullptr;
        case 11:
            return key == "traceparent" ? &m.traceparent : nullptr;
        case 10:
            return key == "tracestate" ? &m.tracestate : nullptr;
        default:
            return nullptr;
    }
}

json::view* slot_of(request_params& p, std::string_view key) noexcept {
    switch (key.size()) {
        case 3:
            return key == "uri" ? &p.uri : nullptr;
        case 4:
            return key == "name" ? &p.name : nullptr;
        case 5:
            return key == "_meta" ? &p.meta : nullptr;
        case 9:
            return key == "arguments" ? &p.arguments : nullptr;
        case 12:
            return key == "requestState" ? &p.request_state : nullptr;
        case 14:
            return key == "inputResponses" ? &p.input_responses : nullptr;
        default:
            return nullptr;
    }
}

}  // namespace

request_params request_params::of(json::view params) noexcept {
    request_params p;
    json::for_each_member(params, [&p](std::string_view key, json::view value) {
        if (json::view* const slot = slot_of(p, key)) {
            *slot = value;
        }
    });
    return p;
}

request_meta request_meta::of(json::view meta) noexcept {
    request_meta m;
    m.all = meta;
    json::for_each_member(m.all, [&m](std::string_view key, json::view value) {
        if (json::view* const slot = slot_of(m, key)) {
            *slot = value;
        }
    });
    return m;
}

}  // namespace pillion::mcp
