#include "schema/compiler.hpp"

#include <utility>

#include "schema/validator.hpp"

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

std::string escape_token(std::string_view token) {
    std::string out;
    for (const char c : token) {
        if (c == '~') {
            out += "~0";
        } else if (c == '/') {
            out += "~1";
        } else {
            out += c;
        }
    }
    return out;
}

const compiler::keyword_rule compiler::before_children[17] = {
    {"type", &compiler::type},
    {"enum", &compiler::enumeration},
    {"const", &compiler::constant},
    {"minimum", &compiler::bound_rule},
    {"maximum", &compiler::bound_rule},
    {"exclusiveMinimum", &compiler::bound_rule},
    {"exclusiveMaximum", &compiler::bound_rule},
    {"multipleOf", &compiler::multiple_of},
    {"minLength", &compiler::count_rule},
    {"maxLength", &compiler::count_rule},
    {"minItems", &compiler::count_rule},
    {"maxItems", &compiler::count_rule},
    {"minProperties", &compiler::count_rule},
    {"maxProperties", &compiler::count_rule},
    {"required", &compiler::required},
    {"dependentRequired", &compiler::dependent_required},
    {"propertyNames", &compiler::property_names},
};

const compiler::keyword_rule compiler::after_children[16] = {
    {"contains", &compiler::contains},
    {"uniqueItems", &compiler::unique_items},
    {"dependentSchemas", &compiler::dependent_schemas},
    {"dependencies", &compiler::dependencies},
    {"$ref", &compiler::reference},
    {"allOf", &compiler::combination},
    {"anyOf", &compiler::combination},
    {"oneOf", &compiler::combination},
    {"not", &compiler::negation},
    {"if", &compiler::condition},
    {"pattern", &compiler::annotation},
    {"format", &compiler::annotation},
    {"title", &compiler::annotation},
    {"description", &compiler::annotation},
    {"$schema", &compiler::annotation},
    {"$id", &compiler::annotation},
};

bool compiler::fail(std::string_view keyword, std::string_view message) {
    fault_ = "#" + at_;
    if (!keyword.empty()) {
        fault_ += '/';
        fault_ += escape_token(keyword);
    }
    fault_ += ": ";
    fault_ += message;
    return false;
}

void compiler::add(op code, std::size_t a, std::size_t b, std::uint32_t c) {
    step one;
    one.code = code;
    one.a = static_cast<std::uint32_t>(a);
    one.b = static_cast<std::uint32_t>(b);
    one.c = c;
    out_.steps.push_back(one);
}

// The block of a subschema at the pointer `at`, which is queued when it is new.
bool compiler::block_of(json::view schema, std::string at, std::uint32_t& index) {
    if (!schema.is_object() && !schema.is_bool()) {
        at_ = std::move(at);
        return fail({}, "a schema must be an object or a boolean");
    }
    const auto [entry, added] =
        known_.emplace(schema.raw(), static_cast<std::uint32_t>(queue_.size()));
    index = entry->second;
    if (added) {
        if (queue_.size() == blocks_max) {
            return fail({}, "the schema has too many subschemas");
        }
        queue_.push_back(pending{schema, std::move(at)});
    }
    return true;
}

bool compiler::child(std::string_view keyword, json::view value, std::uint32_t& index) {
    return block_of(value, at_ + "/" + escape_token(keyword), index);
}

// children[into.a, +into.b) from an array of schemas.
bool compiler::child_list(std::string_view keyword, json::view value, step& into) {
    std::vector<std::uint32_t> found;
    const std::string at = at_ + "/" + escape_token(keyword) + "/";
    for (const json::view one : value.elements()) {
        std::uint32_t index = 0;
        if (!block_of(one, at + std::to_string(found.size()), index)) {
            return false;
        }
        found.push_back(index);
    }
    into.a = static_cast<std::uint32_t>(out_.children.size());
    into.b = static_cast<std::uint32_t>(found.size());
    out_.children.insert(out_.children.end(), found.begin(), found.end());
    return true;
}

// names[into.a, +into.b) from an array of strings.
bool compiler::name_list(std::string_view keyword, json::view value, step& into) {
    if (!value.is_array()) {
        return fail(keyword, "must be an array of strings");
    }
    into.a = static_cast<std::uint32_t>(out_.names.size());
    into.b = static_cast<std::uint32_t>(value.size());
    for (const json::view name : value.elements()) {
        if (!name.is_string()) {
            return fail(keyword, "must be an array of strings");
        }
        out_.names.push_back(name.str());
    }
    return true;
}

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
    add(code, out_.bounds.size());
    out_.bounds.push_back(bound{decimal::parse(value.number_text()), value.i64()});
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
    out_.divisors.push_back(*by);
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

bool compiler::required(std::string_view keyword, json::view value) {
    step names;
    if (!name_list(keyword, value, names)) {
        return false;
    }
    add(op::required, names.a, names.b);
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

bool compiler::annotation(std::string_view keyword, json::view value) {
    return value.is_string() || fail(keyword, "must be a string");
}

template <std::size_t Count>
bool compiler::apply(const keyword_rule (&rules)[Count]) {
    for (const keyword_rule& one : rules) {
        const json::view value = here_[one.keyword];
        if (value.exists() && !(this->*one.apply)(one.keyword, value)) {
            return false;
        }
    }
    return true;
}

bool compiler::compile_block(std::size_t index) {
    here_ = queue_[index].schema;
    at_ = queue_[index].at;
    block made;
    made.first = static_cast<std::uint32_t>(out_.steps.size());
    if (here_.is_bool()) {
        made.never = !here_.boolean();
        if (made.never) {
            add(op::never);
        }
    } else if (draft7_ && here_["$ref"].exists()) {
        // Draft-07 ignores what stands beside "$ref".
        if (!reference("$ref", here_["$ref"])) {
            return false;
        }
    } else if (!apply(before_children) || !properties() || !items() || !apply(after_children)) {
        return false;
    }
    made.count = static_cast<std::uint32_t>(out_.steps.size()) - made.first;
    out_.blocks.push_back(made);
    return true;
}

bool compiler::run() {
    draft7_ = root_["$schema"].str().find("draft-07") != std::string_view::npos;
    for (const json::member m : root_.members()) {
        find_embedded(m.value);
    }
    std::uint32_t root = 0;
    if (!block_of(root_, {}, root)) {
        return false;
    }
    for (std::size_t i = 0; i < queue_.size(); ++i) {
        if (!compile_block(i)) {
            return false;
        }
    }
    return find_circle();
}

}  // namespace pillion::schema_check
