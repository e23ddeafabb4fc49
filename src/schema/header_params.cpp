#include "schema/header_params.hpp"

#include <algorithm>
#include <optional>

#include "base/ascii.hpp"
#include "schema/uri.hpp"

namespace pillion::schema_check {

namespace {

constexpr std::string_view annotation = "x-mcp-header";
constexpr std::string_view header_prefix = "mcp-param-";

// The one type besides null that `schema` allows, if a header can carry it.
std::optional<header_type> type_of(json::view schema) {
    const json::view type = schema["type"];
    std::string_view only = type.str();
    for (const json::view name : type.elements()) {
        if (name.str() != "null") {
            if (!only.empty()) {
                return std::nullopt;
            }
            only = name.str();
        }
    }
    if (only == "string") {
        return header_type::string;
    }
    if (only == "integer") {
        return header_type::integer;
    }
    return only == "boolean" ? std::optional(header_type::boolean) : std::nullopt;
}

// Walks a schema. Depth is limited by the parser of the document.
class collector {
 public:
    collector(std::vector<header_param>& out, std::string& fault) : out_(out), fault_(fault) {}

    // A schema reached through "properties" only; `path` leads there.
    bool reachable(json::view schema, const std::string& at, std::vector<std::string>& path) {
        if (schema[annotation].exists() && !take(schema, at, path)) {
            return false;
        }
        for (const json::member m : schema.members()) {
            const std::string below = at + "/" + escape_token(m.key);
            if (m.key != "properties") {
                if (!unreachable(m.key, m.value, below)) {
                    return false;
                }
                continue;
            }
            for (const json::member property : m.value.members()) {
                path.emplace_back(property.key);
                if (!reachable(property.value, below + "/" + escape_token(property.key), path)) {
                    return false;
                }
                path.pop_back();
            }
        }
        return true;
    }

 private:
    bool fail(const std::string& at, const char* message) {
        fault_ = "#" + at + ": " + message;
        return false;
    }

    // What stands under any other keyword must hold no annotation; the values of these are data.
    bool unreachable(std::string_view keyword, json::view value, const std::string& at) {
        if (keyword == "enum" || keyword == "const" || keyword == "default" ||
            keyword == "examples") {
            return true;
        }
        // The members of these are named freely.
        const bool named = keyword == "properties" || keyword == "patternProperties" ||
                           keyword == "$defs" || keyword == "definitions" ||
                           keyword == "dependentSchemas" || keyword == "dependencies";
        if (!named && value[annotation].exists()) {
            return fail(at, "x-mcp-header is allowed only on what properties lead to");
        }
        for (const json::member m : value.members()) {
            if (!unreachable(named ? std::string_view() : m.key, m.value,
                             at + "/" + escape_token(m.key))) {
                return false;
            }
        }
        std::size_t index = 0;
        for (const json::view one : value.elements()) {
            if (!unreachable({}, one, at + "/" + std::to_string(index++))) {
                return false;
            }
        }
        return true;
    }

    bool take(json::view schema, const std::string& at, const std::vector<std::string>& path) {
        const json::view suffix = schema[annotation];
        if (!suffix.is_string() || !base::is_token(suffix.str())) {
            return fail(at, "x-mcp-header must be an HTTP token");
        }
        const std::optional<header_type> type = type_of(schema);
        if (path.empty() || !type) {
            return fail(at, "x-mcp-header is allowed only on strings, integers and booleans");
        }
        header_param found;
        found.suffix = suffix.str();
        found.header_name = header_prefix;
        std::transform(found.suffix.begin(), found.suffix.end(),
                       std::back_inserter(found.header_name), base::to_lower);
        found.path = path;
        found.type = *type;
        const bool twice = std::any_of(
            out_.begin(), out_.end(),
            [&found](const header_param& other) { return other.header_name == found.header_name; });
        if (twice) {
            return fail(at, "x-mcp-header names a header that another argument has already");
        }
        out_.push_back(std::move(found));
        return true;
    }

    std::vector<header_param>& out_;
    std::string& fault_;
};

}  // namespace

bool collect_header_params(json::view schema, std::vector<header_param>& out, std::string& fault) {
    std::vector<std::string> path;
    return collector(out, fault).reachable(schema, {}, path);
}

}  // namespace pillion::schema_check
