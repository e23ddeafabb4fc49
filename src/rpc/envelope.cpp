#include "rpc/envelope.hpp"

#include "base/limits.hpp"
#include "json/node.hpp"
#include "rpc/errors.hpp"

namespace pillion::rpc {

namespace {

bool usable_id(json::view id) noexcept {
    // A fraction or an exponent is refused even when the value is whole (AMBIGUITIES G35).
    if (id.is_string()) {
        return id.str().size() <= limits::rpc_id_bytes_max;
    }
    return id.is_integer() && id.number_text().size() <= limits::rpc_id_bytes_max;
}

envelope invalid(const char* fault, json::view id = {}, int code = invalid_request) noexcept {
    envelope e;
    e.fault = fault;
    e.id = id;
    e.code = code;
    return e;
}

}  // namespace

envelope classify(json::view message) noexcept {
    if (!message.is_object()) {
        return invalid("a message is a JSON object");
    }
    // One pass over the members: the order of envelope keys is free.
    json::view version;
    json::view method;
    json::view id;
    json::view params;
    bool has_result = false;
    bool has_error = false;
    bool duplicate = false;
    json::for_each_member(message, [&](std::string_view key, json::view value) {
        json::view* slot = nullptr;
        if (key == "jsonrpc") {
            slot = &version;
        } else if (key == "method") {
            slot = &method;
        } else if (key == "id") {
            slot = &id;
        } else if (key == "params") {
            slot = &params;
        } else if (key == "result") {
            has_result = true;
        } else if (key == "error") {
            has_error = true;
        }
        if (slot != nullptr) {
            duplicate = duplicate || slot->exists();
            *slot = value;
        }
    });
    const json::view readable_id = usable_id(id) ? id : json::view{};
    if (duplicate) {
        return invalid("duplicate member in the envelope", {});
    }
    if (version.str() != "2.0") {
        return invalid("jsonrpc must be \"2.0\"", readable_id);
    }
    if (id.exists() && !usable_id(id)) {
        return invalid("id must be a string or an integer");
    }
    envelope e;
    e.id = id;
    if (method.exists()) {
        if (!method.is_string() || has_result || has_error) {
            return invalid("method must be a string beside no result or error", readable_id);
        }
        if (params.exists() && !params.is_object()) {
            if (!id.exists()) {
                // Nobody waits for an answer, not even to a malformed notification.
                e.kind = message_kind::notification;
                e.method = method.str();
                return e;
            }
            return invalid("params must be an object", readable_id, invalid_params);
        }
        e.kind = id.exists() ? message_kind::request : message_kind::notification;
        e.method = method.str();
        e.params = params;
        return e;
    }
    if (has_result != has_error && (id.exists() || has_error)) {
        e.kind = message_kind::response;
        return e;
    }
    return invalid("neither a request nor a notification nor a response", readable_id);
}

void write_id(json::writer& out, json::view id) {
    if (id.exists()) {
        out.value(id);
    } else {
        out.null();
    }
}

bool same_id(json::view a, json::view b) noexcept {
    if (a.is_string() && b.is_string()) {
        return a.str() == b.str();
    }
    return a.is_integer() && b.is_integer() && a.number_text() == b.number_text();
}

}  // namespace pillion::rpc
