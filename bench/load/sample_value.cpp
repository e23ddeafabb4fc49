#include "sample_value.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/arena.hpp"
#include "json/document.hpp"
#include "json/pointer.hpp"
#include "schema/validator.hpp"

namespace pillion::load {

namespace {

constexpr int depth_max = 16;
constexpr std::int64_t count_max = 1000;
// Of a value: lists in lists grow by their product.
constexpr std::size_t text_bytes_max = std::size_t{4} << 20U;

class sampler {
 public:
    sampler(json::view root, std::uint64_t& seed) : root_(root), seed_(seed) {}

    bool sample(json::view schema, int depth) {
        if (depth > depth_max || is_too_large()) {
            return false;
        }
        if (schema["const"].exists()) {
            to_.value(schema["const"]);
            return true;
        }
        for (const char* const given : {"enum", "examples"}) {
            if (schema[given].size() > 0) {
                to_.value(schema[given][pick(schema[given].size())]);
                return true;
            }
        }
        if (schema["default"].exists()) {
            to_.value(schema["default"]);
            return true;
        }
        if (schema["$ref"].is_string()) {
            const std::string_view where = schema["$ref"].str();
            const json::view other =
                where.starts_with('#') ? json::resolve(root_, where.substr(1)) : json::view();
            return other.exists() && sample(other, depth + 1);
        }
        for (const char* const several : {"anyOf", "oneOf"}) {
            if (schema[several].size() > 0 && !schema["properties"].exists()) {
                return sample(schema[several][pick(schema[several].size())], depth + 1);
            }
        }
        if (schema["allOf"].size() == 1 && !schema["type"].exists()) {
            return sample(schema["allOf"][0], depth + 1);
        }
        return typed(schema, depth);
    }
    const json::builder& made() const noexcept { return to_; }
    bool is_too_large() const noexcept { return to_.text().size() > text_bytes_max; }

 private:
    // splitmix64.
    std::uint64_t next() noexcept {
        std::uint64_t z = (seed_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }
    std::size_t pick(std::size_t of) noexcept { return static_cast<std::size_t>(next() % of); }

    static std::string_view type_of(json::view schema) {
        const json::view type = schema["type"];
        if (type.is_array()) {
            return type[std::size_t{0}].str();
        }
        return type.is_string()                ? type.str()
               : schema["properties"].exists() ? "object"
               : schema["items"].exists()      ? "array"
               : schema["minimum"].exists()    ? "number"
                                               : "string";
    }

    bool typed(json::view schema, int depth) {
        const std::string_view type = type_of(schema);
        if (type == "object") {
            return object(schema, depth);
        }
        if (type == "array") {
            return array(schema, depth);
        }
        if (type == "string") {
            return text(schema);
        }
        if (type == "integer" || type == "number") {
            return number(schema, type == "integer");
        }
        if (type == "boolean") {
            to_.value(next() % 2 == 0);
            return true;
        }
        to_.value(nullptr);
        return type == "null";
    }

    static bool is_required(json::view schema, std::string_view name) {
        for (const json::view one : schema["required"].elements()) {
            if (one.str() == name) {
                return true;
            }
        }
        return false;
    }

    // What is required, and about half of the rest.
    bool object(json::view schema, int depth) {
        to_.begin_object();
        for (const auto& [name, of] : schema["properties"].members()) {
            const bool taken = next() % 2 == 0 && depth < 3;
            if (!is_required(schema, name) && !taken) {
                continue;
            }
            to_.key(name);
            if (!sample(of, depth + 1)) {
                return false;
            }
        }
        for (const json::view name : schema["required"].elements()) {
            if (!schema["properties"][name.str()].exists()) {
                to_.member(name.str(), "x");
            }
        }
        to_.end_object();
        return true;
    }

    bool array(json::view schema, int depth) {
        const std::int64_t least = schema["minItems"].i64().value_or(0);
        const std::int64_t most =
            std::max(least, std::min<std::int64_t>(schema["maxItems"].i64().value_or(3), 3));
        if (least < 0 || most > count_max) {
            return false;
        }
        const std::int64_t count =
            least + static_cast<std::int64_t>(pick(static_cast<std::size_t>(most - least + 1)));
        to_.begin_array();
        for (std::int64_t i = 0; i < count; ++i) {
            if (!sample(schema["items"], depth + 1)) {
                return false;
            }
        }
        to_.end_array();
        return true;
    }

    static std::string_view of_format(std::string_view format) {
        constexpr std::pair<std::string_view, std::string_view> known[] = {
            {"date", "2026-07-28"},
            {"time", "12:34:56Z"},
            {"date-time", "2026-07-28T12:34:56Z"},
            {"duration", "PT1H"},
            {"email", "someone@example.com"},
            {"idn-email", "someone@example.com"},
            {"hostname", "example.com"},
            {"ipv4", "192.0.2.1"},
            {"ipv6", "2001:db8::1"},
            {"uri", "https://example.com/a"},
            {"iri", "https://example.com/a"},
            {"uri-reference", "a/b"},
            {"uuid", "123e4567-e89b-42d3-a456-426614174000"},
            {"json-pointer", "/a"},
            {"regex", "a+"},
        };
        for (const auto& [name, value] : known) {
            if (name == format) {
                return value;
            }
        }
        return {};
    }

    bool text(json::view schema) {
        if (schema["pattern"].exists()) {
            return false;
        }
        const std::string_view known = of_format(schema["format"].str());
        if (!known.empty()) {
            to_.value(known);
            return true;
        }
        constexpr std::int64_t text_max = 1'000'000;
        const std::int64_t least = schema["minLength"].i64().value_or(0);
        const std::int64_t most =
            schema["maxLength"].i64().value_or(std::max<std::int64_t>(least, 12));
        if (least < 0 || least > text_max || most < least) {
            return false;
        }
        const std::int64_t length = std::clamp<std::int64_t>(
            3 + static_cast<std::int64_t>(pick(10)), least, std::min(most, text_max));
        std::string value;
        for (std::int64_t i = 0; i < length; ++i) {
            value.push_back(static_cast<char>('a' + static_cast<char>(pick(26))));
        }
        to_.value(value);
        return true;
    }

    // Where the bounds are too near for a step to be between them.
    bool number_between(json::view schema) {
        double least =
            std::max(schema["minimum"].num(-INFINITY), schema["exclusiveMinimum"].num(-INFINITY));
        const double most =
            std::min(schema["maximum"].num(INFINITY), schema["exclusiveMaximum"].num(INFINITY));
        if (std::isinf(least)) {
            least = most - 1;
        }
        if (!(least <= most)) {
            return false;
        }
        to_.value(least + (most - least) * static_cast<double>(1 + pick(9)) / 10);
        return true;
    }

    bool number(json::view schema, bool whole) {
        const double step = schema["multipleOf"].num(whole ? 1 : 0.5);
        double least = schema["minimum"].num(-INFINITY);
        double most = schema["maximum"].num(INFINITY);
        const json::view above = schema["exclusiveMinimum"];
        const json::view below = schema["exclusiveMaximum"];
        // Exclusive bounds are numbers since draft 6, and booleans before.
        if (!(step > 0)) {
            return false;
        }
        if (above.is_number() || above.boolean()) {
            least = std::max(least, above.num(least) + step / 2);
        }
        if (below.is_number() || below.boolean()) {
            most = std::min(most, below.num(most) - step / 2);
        }
        if (std::isinf(least)) {
            least = std::min(0.0, most);
        }
        // Small numbers: many tools do something as often, or for as long, as they are told.
        const double first = std::ceil(least / step);
        const double last = std::min(std::floor(most / step), first + 9);
        if (last < first) {
            return !whole && !schema["multipleOf"].exists() && number_between(schema);
        }
        const double value =
            (first + static_cast<double>(pick(static_cast<std::size_t>(last - first) + 1))) * step;
        if (whole && std::abs(value) < 9e15) {
            to_.value(static_cast<std::int64_t>(std::llround(value)));
        } else {
            to_.value(value);
        }
        return true;
    }

    json::view root_;
    std::uint64_t& seed_;
    json::builder to_;
};

}  // namespace

std::optional<std::string> sample_value(json::view schema, std::uint64_t& seed,
                                        std::string* fault) {
    constexpr int attempts = 16;
    std::string why_not;
    const auto judge = schema_check::validator::compile(schema, why_not);
    if (!judge) {
        // Whatever were made would be judged by nobody.
        if (fault != nullptr) {
            *fault = why_not;
        }
        return std::nullopt;
    }
    base::chunk_pool pool;
    base::arena memory(pool);
    for (int i = 0; i < attempts; ++i) {
        sampler made(schema, seed);
        if (!made.sample(schema, 0)) {
            if (made.is_too_large()) {
                break;
            }
            continue;
        }
        std::string text(made.made().text());
        const auto value = json::document::parse(text);
        schema_check::failure why;
        if (value && judge->validate(value->root(), memory, why)) {
            return text;
        }
    }
    return std::nullopt;
}

}  // namespace pillion::load
