// The compiler's rules of keywords that hold values only.
#include <optional>
#include <utility>

#include "schema/compiler.hpp"

namespace pillion::schema_check {

namespace {

constexpr std::pair<std::string_view, std::uint32_t> type_names[] = {
    {"null", bit_null},
    {"boolean", bit_boolean},
    {"object", bit_object},
    {"array", bit_array},
    {"number", bit_number | bit_integer},
    {"string", bit_string},
    {"integer", bit_integer},
};

}  // namespace

bool compiler::type(std::string_view keyword, json::view value) {
    std::uint32_t mask = 0;
    const auto take = [&mask](json::view name) {
        for (const auto& [text, bits] : type_names) {
            if (name.is_string() && name.str() == text) {
                mask |= bits;
                return true;
            }
        }
        return false;
    };
    if (value.is_string()) {
        if (!take(value)) {
            return fail(keyword, "is no JSON type");
        }
    } else if (value.is_array() && value.size() > 0) {
        for (const json::view name : value.elements()) {
            if (!take(name)) {
                return fail(keyword, "must name JSON types only");
            }
        }
    } else {
        return fail(keyword, "must be a string or an array of strings");
    }
    add(op::type, mask);
    return true;
}

bool compiler::enumeration(std::string_view keyword, json::view value) {
    if (!value.is_array()) {
        return fail(keyword, "must be an array");
    }
    add(op::enumeration, out_.values.size(), value.size());
    for (const json::view one : value.elements()) {
        out_.values.push_back(one);
    }
    return true;
}

bool compiler::constant(std::string_view, json::view value) {
    add(op::constant, out_.values.size(), 1);
    out_.values.push_back(value);
    return true;
}

bool compiler::bound_rule(std::string_view keyword, json::view value) {
    if (!value.is_number()) {
        return fail(keyword, "must be a number");
    }
    const op code = keyword == "minimum"            ? op::minimum
                    : keyword == "maximum"          ? op::maximum
                    : keyword == "exclusiveMinimum" ? op::exclusive_minimum
                                                    : op::exclusive_maximum;
    const std::string_view text = value.number_text();
    add(code, out_.bounds.size());
    out_.bounds.push_back(bound{decimal::parse(text), short_decimal::parse(text), text});
    return true;
}

bool compiler::multiple_of(std::string_view keyword, json::view value) {
    if (!value.is_number()) {
        return fail(keyword, "must be a number");
    }
    const auto by = divisor::make(decimal::parse(value.number_text()));
    if (!by) {
        return fail(keyword, "must be above 0 and have at most 18 significant digits");
    }
    add(op::multiple_of, out_.divisors.size());
    out_.divisors.push_back(step_width{*by, value.number_text()});
    return true;
}

bool compiler::count_of(std::string_view keyword, json::view value, std::uint64_t& count) {
    const decimal exact = decimal::parse(value.is_number() ? value.number_text() : "0.5");
    if (!exact.integral() || exact.negative) {
        return fail(keyword, "must be an integer that is not negative");
    }
    const std::optional<std::int64_t> whole = value.integral();
    count = whole ? static_cast<std::uint64_t>(*whole) : UINT64_MAX;
    return true;
}

bool compiler::count_rule(std::string_view keyword, json::view value) {
    std::uint64_t count = 0;
    if (!count_of(keyword, value, count)) {
        return false;
    }
    const op code = keyword == "minLength"       ? op::min_length
                    : keyword == "maxLength"     ? op::max_length
                    : keyword == "minItems"      ? op::min_items
                    : keyword == "maxItems"      ? op::max_items
                    : keyword == "minProperties" ? op::min_properties
                                                 : op::max_properties;
    add(code, out_.counts.size());
    out_.counts.push_back(count);
    return true;
}

bool compiler::unique_items(std::string_view keyword, json::view value) {
    if (!value.is_bool()) {
        return fail(keyword, "must be a boolean");
    }
    if (value.boolean()) {
        add(op::unique_items);
    }
    return true;
}

// Equal patterns are one. `at` is what a fault is about.
bool compiler::pattern_of(json::view at, std::string_view text, std::uint32_t& index) {
    const auto known = patterns_.find(text);
    if (known != patterns_.end()) {
        index = known->second;
        return true;
    }
    if (out_.patterns.size() == patterns_max) {
        return fail_at(at, "there are too many patterns");
    }
    std::string detail;
    pattern made;
    made.text = text;
    made.expression = regex::compile(text, detail);
    if (made.expression == nullptr) {
        return fail_at(at, "the pattern " + std::string(text) + ' ' + detail);
    }
    patterns_weight_ += made.expression->weight();
    if (patterns_weight_ > patterns_weight_max) {
        return fail_at(at, "the patterns are too large together");
    }
    index = static_cast<std::uint32_t>(out_.patterns.size());
    patterns_.emplace(text, index);
    out_.patterns.push_back(std::move(made));
    return true;
}

bool compiler::pattern_rule(std::string_view keyword, json::view value) {
    std::uint32_t index = 0;
    if (!value.is_string()) {
        return fail(keyword, "must be a string");
    }
    if (!pattern_of(value, value.str(), index)) {
        return false;
    }
    add(op::pattern, index);
    return true;
}

// An annotation by default, as 2020-12 has it (validation §7.2.1).
bool compiler::format(std::string_view keyword, json::view value) {
    if (!value.is_string()) {
        return fail(keyword, "must be a string");
    }
    const bool asserts = knows(vocabulary_format_assertion) ||
                         (assert_formats_ && knows(vocabulary_format_annotation));
    const format_check check = asserts ? find_format(value.str()) : nullptr;
    if (check != nullptr) {
        add(op::format, out_.formats.size());
        out_.formats.push_back(named_format{check, value.str()});
    }
    return true;
}

bool compiler::dependent_required(std::string_view keyword, json::view value) {
    if (!value.is_object()) {
        return fail(keyword, "must be an object");
    }
    for (const json::member m : value.members()) {
        step names;
        if (!name_list(keyword, m.value, names)) {
            return false;
        }
        const auto name = static_cast<std::uint32_t>(out_.names.size());
        out_.names.push_back(m.key);
        add(op::dependent_required, names.a, names.b, name);
    }
    return true;
}

}  // namespace pillion::schema_check
