#include "sidecar/rpc_peer.hpp"

#include <utility>

#include "json/document.hpp"
#include "json/writer.hpp"

namespace pillion::sidecar {

namespace {

std::string message_of(std::string_view id_json, std::string_view method, std::string_view params) {
    json::builder b;
    b.begin_object().member("jsonrpc", "2.0");
    if (!id_json.empty()) {
        b.key("id").raw(id_json);
    }
    b.member("method", method);
    if (!params.empty()) {
        b.key("params").raw(params);
    }
    b.end_object();
    return std::string(b.text());
}

// Of a response: our numbers come back as they were sent, some servers make them texts.
std::uint64_t number_of(json::view id) {
    if (const auto number = id.u64()) {
        return *number;
    }
    std::uint64_t number = 0;
    const std::string_view text = id.str();
    if (text.empty() || text.size() > 18) {
        return 0;
    }
    for (const char c : text) {
        if (c < '0' || c > '9') {
            return 0;
        }
        number = number * 10 + static_cast<std::uint64_t>(c - '0');
    }
    return number;
}

}  // namespace

std::uint64_t rpc_peer::ask(std::string_view method, std::string_view params, receiver then) {
    const std::uint64_t number = ++last_;
    waiting_.emplace(number, std::move(then));
    side_.send(message_of(std::to_string(number), method, params));
    return number;
}

void rpc_peer::notify(std::string_view method, std::string_view params) {
    side_.send(message_of({}, method, params));
}

void rpc_peer::answer(std::string_view id_json, std::string_view result_json) {
    json::builder b;
    b.begin_object().member("jsonrpc", "2.0").key("id").raw(id_json);
    b.key("result").raw(result_json).end_object();
    side_.send(std::string(b.text()));
}

void rpc_peer::refuse(std::string_view id_json, int code, std::string_view message) {
    json::builder b;
    b.begin_object().member("jsonrpc", "2.0").key("id").raw(id_json);
    b.key("error").begin_object().member("code", code).member("message", message);
    b.end_object().end_object();
    side_.send(std::string(b.text()));
}

bool rpc_peer::take(std::string_view message) {
    const auto parsed = json::document::parse(message);
    if (!parsed) {
        return false;
    }
    const json::view root = parsed->root();
    if (!root.is_array()) {
        return take_one(root);
    }
    // 2025-03-26 has batches.
    bool good = true;
    for (const json::view one : root.elements()) {
        good = take_one(one) && good;
    }
    return good;
}

bool rpc_peer::take_one(json::view message) {
    const json::view id = message["id"];
    const json::view method = message["method"];
    if (method.is_string()) {
        if (!id.exists() || id.is_null()) {
            side_.on_notification(method.str(), message["params"]);
        } else {
            side_.on_request(json_text(id), method.str(), message["params"]);
        }
        return true;
    }
    const json::view result = message["result"];
    const json::view error = message["error"];
    if (!message.is_object() || (!result.exists() && !error.is_object())) {
        return false;
    }
    const auto found = waiting_.find(number_of(id));
    if (found == waiting_.end()) {
        return true;  // it came too late
    }
    receiver then = std::move(found->second);
    waiting_.erase(found);
    rpc_answer what;
    what.result = error.is_object() ? json::view() : result;
    what.error = error;
    then(what);
    return true;
}

void rpc_peer::end() {
    auto all = std::exchange(waiting_, {});
    rpc_answer none;
    none.lost = true;
    for (auto& one : all) {
        one.second(none);
    }
}

std::string json_text(json::view value) {
    if (!value.exists()) {
        return "null";
    }
    json::builder b;
    b.value(value);
    return std::string(b.text());
}

}  // namespace pillion::sidecar
