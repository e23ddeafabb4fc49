#include "sidecar/openapi_document.hpp"

#include <algorithm>
#include <utility>

#include "base/number.hpp"
#include "schema/uri.hpp"
#include "sidecar/report_text.hpp"

namespace pillion::sidecar {

namespace {

// Containers up to this size are searched from their beginning.
constexpr std::size_t searched_max = 32;

std::string quoted(std::string_view text) { return "\"" + one_line(text, 120) + "\""; }

}  // namespace

result<openapi_document> openapi_document::parse(std::string_view json, std::size_t* where) {
    if (json.size() > bytes_max) {
        return error(errc::too_large, "the description is larger than 64 MiB");
    }
    // RFC 8259 §8.1: who reads may ignore it; some generators write one.
    if (json.starts_with("\xEF\xBB\xBF")) {
        json.remove_prefix(3);
    }
    json::parse_limits bounds;
    bounds.nodes_max = nodes_max;
    auto text = json::document::parse(json, where, bounds);
    if (!text) {
        return text.error();
    }
    openapi_document made(std::move(*text));
    if (made.root()["swagger"].exists()) {
        return error(errc::unsupported, "Swagger 2.0: only OpenAPI 3 is read; convert it");
    }
    const std::string_view version = made.root()["openapi"].str();
    made.old_schemas_ = version.starts_with("3.0.");
    if (!made.old_schemas_ && !version.starts_with("3.1.") && !version.starts_with("3.2.")) {
        return error(errc::unsupported, "no OpenAPI of version 3.0, 3.1 or 3.2");
    }
    // OpenAPI 3.1 §4.8.1: the dialect of schemas that do not say theirs.
    const std::string_view dialect = made.root()["jsonSchemaDialect"].str();
    if (!made.old_schemas_ && !dialect.empty() &&
        dialect != "https://json-schema.org/draft/2020-12/schema" &&
        !dialect.starts_with("https://spec.openapis.org/oas/3.")) {
        return error(errc::unsupported, "its jsonSchemaDialect is not that of JSON Schema 2020-12");
    }
    if (!made.root()["paths"].is_object()) {
        return error(errc::invalid, "it has no paths");
    }
    return made;
}

json::view openapi_document::child(json::view parent, std::string_view token) {
    if (parent.is_array()) {
        const auto index = token.starts_with('-') ? std::nullopt : base::parse_u64(token);
        if (!index || *index >= parent.size()) {
            return {};
        }
        if (parent.size() <= searched_max) {
            return parent[static_cast<std::size_t>(*index)];
        }
        std::vector<json::view>& all = elements_[parent.raw()];
        if (all.empty()) {
            for (const json::view one : parent.elements()) {
                all.push_back(one);
            }
        }
        return all[static_cast<std::size_t>(*index)];
    }
    const std::string name = schema_check::unescape_token(token);
    if (parent.size() <= searched_max) {
        return parent[name];
    }
    auto& all = names_[parent.raw()];
    if (all.empty()) {
        for (const json::member m : parent.members()) {
            all.insert_or_assign(m.key, m.value);
        }
    }
    const auto found = all.find(name);
    return found == all.end() ? json::view() : found->second;
}

json::view openapi_document::find(std::string_view reference, std::string& fault) {
    if (reference.size() > reference_bytes_max) {
        fault = "a $ref is too long";
        return {};
    }
    const auto known = found_.find(std::string(reference));
    if (known != found_.end()) {
        return known->second;
    }
    if (!reference.starts_with('#')) {
        fault = "$ref " + quoted(reference) + " leads to another document, and none is fetched";
        return {};
    }
    std::string pointer;
    if (!schema_check::decode_percent(reference.substr(1), pointer) ||
        (!pointer.empty() && pointer.front() != '/')) {
        fault = "$ref " + quoted(reference) + " is no JSON Pointer";
        return {};
    }
    json::view at = root();
    for (std::string_view left = pointer; !left.empty() && at.exists();) {
        const std::size_t end = std::min(left.find('/', 1), left.size());
        at = child(at, left.substr(1, end - 1));
        left.remove_prefix(end);
    }
    if (!at.exists()) {
        fault = "$ref " + quoted(reference) + " leads to nothing";
        return {};
    }
    found_.emplace(reference, at);
    return at;
}

json::view openapi_document::follow(json::view value, std::string& fault) {
    for (std::size_t i = 0; i <= hops_max; ++i) {
        if (!value.is_object()) {
            fault = "there is no object where one should be";
            return {};
        }
        if (value.size() > members_max) {
            fault = "an object has more than 256 members";
            return {};
        }
        const json::view reference = value["$ref"];
        if (!reference.is_string()) {
            return value;
        }
        value = find(reference.str(), fault);
        if (!value.exists()) {
            return {};
        }
    }
    fault = "a $ref leads to too many others, one after the other";
    return {};
}

}  // namespace pillion::sidecar
