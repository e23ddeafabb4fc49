// The compiler's rules of keywords that hold subschemas.
#include <algorithm>

#include "schema/compiler.hpp"

namespace pillion::schema_check {

namespace {

// Names of "required" that one look at a value can find: one bit each.
constexpr std::size_t needed_max = 64;

}  // namespace

bool compiler::dependent_schemas(std::string_view keyword, json::view value) {
    if (!value.is_object()) {
        return fail(keyword, "must be an object");
    }
    for (const json::member m : value.members()) {
        std::uint32_t index = 0;
        if (!child(m.value, index)) {
            return false;
        }
        add(op::dependent_schema, index, out_.names.size());
        out_.names.push_back(m.key);
    }
    return true;
}

// The draft-07 form of both, which later dialects do not know.
bool compiler::dependencies(std::string_view keyword, json::view value) {
    if (!value.is_object()) {
        return fail(keyword, "must be an object");
    }
    for (const json::member m : value.members()) {
        const auto name = static_cast<std::uint32_t>(out_.names.size());
        out_.names.push_back(m.key);
        step names;
        std::uint32_t index = 0;
        if (m.value.is_array()) {
            if (!name_list(keyword, m.value, names)) {
                return false;
            }
            add(op::dependent_required, names.a, names.b, name);
        } else if (child(m.value, index)) {
            add(op::dependent_schema, index, name);
        } else {
            return false;
        }
    }
    return true;
}

// Fills `found` from "properties", in the order of the schema.
bool compiler::collect_properties(std::vector<property>& found) {
    const json::view declared = here_.schema["properties"];
    if (!declared.exists() || !knows(vocabulary_applicator)) {
        return true;
    }
    if (!declared.is_object()) {
        return fail("properties", "must be an object");
    }
    for (const json::member m : declared.members()) {
        property one;
        one.name = m.key;
        one.declared = true;
        if (!child(m.value, one.block)) {
            return false;
        }
        found.push_back(one);
    }
    return true;
}

// Adds required names to `found`, which is and stays sorted by name.
void compiler::need(std::span<const std::string_view> names, std::vector<property>& found,
                    object_rule& made) {
    const auto by_name = [](const property& p, std::string_view name) { return p.name < name; };
    std::uint8_t bits = 0;
    for (const std::string_view name : names) {
        auto at = std::lower_bound(found.begin(), found.end(), name, by_name);
        if (at == found.end() || at->name != name) {
            property one;
            one.name = name;
            at = found.insert(at, one);
        }
        if (at->needed == 0) {
            at->needed = ++bits;
            made.needed |= std::uint64_t{1} << (bits - 1);
        }
    }
}

void compiler::add_object_rule(object_rule made, std::vector<property>& found) {
    made.first = static_cast<std::uint32_t>(out_.properties.size());
    made.count = static_cast<std::uint32_t>(found.size());
    for (property& one : found) {
        one.head = head_of(one.name);
    }
    add(op::properties, out_.objects.size());
    out_.objects.push_back(made);
    out_.properties.insert(out_.properties.end(), found.begin(), found.end());
}

bool compiler::collect_required(std::vector<std::string_view>& found) {
    const json::view names = here_.schema["required"];
    if (!names.exists() || !knows(vocabulary_validation)) {
        return true;
    }
    if (!names.is_array()) {
        return fail("required", "must be an array of strings");
    }
    for (const json::view name : names.elements()) {
        if (!name.is_string()) {
            return fail("required", "must be an array of strings");
        }
        found.push_back(name.str());
    }
    return true;
}

bool compiler::collect_patterns(object_rule& made) {
    const json::view patterns = here_.schema["patternProperties"];
    if (!patterns.exists() || !knows(vocabulary_applicator)) {
        return true;
    }
    if (!patterns.is_object()) {
        return fail("patternProperties", "must be an object");
    }
    made.pattern_first = static_cast<std::uint32_t>(out_.pattern_properties.size());
    made.pattern_count = static_cast<std::uint32_t>(patterns.size());
    for (const json::member m : patterns.members()) {
        pattern_property one;
        if (!pattern_of(m.value, m.key, one.pattern) || !child(m.value, one.block)) {
            return false;
        }
        out_.pattern_properties.push_back(one);
    }
    return true;
}

// properties, patternProperties, additionalProperties and required are one step: each member of a
// value is looked up once.
bool compiler::objects() {
    object_rule made;
    std::vector<property> found;
    if (!collect_properties(found)) {
        return false;
    }
    std::vector<std::string_view> order;
    for (const property& one : found) {
        order.push_back(one.name);
    }
    const auto by_name = [](const property& a, const property& b) { return a.name < b.name; };
    std::sort(found.begin(), found.end(), by_name);
    if (std::adjacent_find(found.begin(), found.end(), [](const property& a, const property& b) {
            return a.name == b.name;
        }) != found.end()) {
        return fail("properties", "declares a name twice");
    }
    const json::view rest = here_.schema["additionalProperties"];
    std::vector<std::string_view> names;
    if (!collect_required(names) || !collect_patterns(made) ||
        (rest.exists() && knows(vocabulary_applicator) && !child(rest, made.rest))) {
        return false;
    }
    const std::span<const std::string_view> needed(names);
    need(needed.first(std::min(needed.size(), needed_max)), found, made);
    if (found.empty() && made.pattern_count == 0 && made.rest == no_block) {
        return true;
    }
    const auto place_of = [&](std::string_view name) {
        property key;
        key.name = name;
        const auto at = std::lower_bound(found.begin(), found.end(), key, by_name);
        return static_cast<std::uint32_t>(at - found.begin());
    };
    for (std::size_t i = 0; i + 1 < order.size(); ++i) {
        found[place_of(order[i])].next = place_of(order[i + 1]);
    }
    made.start = order.empty() ? 0 : place_of(order.front());
    add_object_rule(made, found);
    // More names than there are bits get rules of their own.
    for (std::size_t i = needed_max; i < needed.size(); i += needed_max) {
        std::vector<property> more;
        object_rule further;
        need(needed.subspan(i, std::min(needed.size() - i, needed_max)), more, further);
        add_object_rule(further, more);
    }
    return true;
}

bool compiler::property_names(std::string_view, json::view value) {
    std::uint32_t index = 0;
    if (!child(value, index)) {
        return false;
    }
    add(op::property_names, index);
    return true;
}

bool compiler::items() {
    if (!knows(vocabulary_applicator)) {
        return true;
    }
    // Draft-07 spells prefixItems as an array of items, and items as additionalItems.
    const json::view schema = here_.schema;
    const bool tuple = speaks_.draft7 && schema["items"].is_array();
    const std::string_view first_keyword = speaks_.draft7 ? "items" : "prefixItems";
    const json::view first = tuple || !speaks_.draft7 ? schema[first_keyword] : json::view();
    const json::view rest = schema[tuple ? "additionalItems" : "items"];
    step parts;
    if (first.exists() && (!first.is_array() ? !fail(first_keyword, "must be an array of schemas")
                                             : !child_list(first, parts))) {
        return false;
    }
    if (rest.exists() && !child(rest, parts.c)) {
        return false;
    }
    if (parts.b > 0 || parts.c != no_block) {
        add(op::items, parts.a, parts.b, parts.c);
    }
    return true;
}

bool compiler::contains(std::string_view, json::view value) {
    std::uint32_t index = 0;
    std::uint64_t least = 1;
    std::uint64_t most = UINT64_MAX;
    const bool counted = !speaks_.draft7 && knows(vocabulary_validation);
    const json::view min = here_.schema["minContains"];
    const json::view max = here_.schema["maxContains"];
    if (!child(value, index) || (counted && min.exists() && !count_of("minContains", min, least)) ||
        (counted && max.exists() && !count_of("maxContains", max, most))) {
        return false;
    }
    add(op::contains, index, out_.counts.size());
    out_.counts.push_back(least);
    out_.counts.push_back(most);
    return true;
}

bool compiler::combination(std::string_view keyword, json::view value) {
    step parts;
    if (!value.is_array() || value.size() == 0) {
        return fail(keyword, "must be an array of at least one schema");
    }
    if (!child_list(value, parts)) {
        return false;
    }
    add(keyword == "allOf"   ? op::all_of
        : keyword == "anyOf" ? op::any_of
                             : op::one_of,
        parts.a, parts.b);
    return true;
}

bool compiler::negation(std::string_view, json::view value) {
    std::uint32_t index = 0;
    if (!child(value, index)) {
        return false;
    }
    add(op::negation, index);
    return true;
}

bool compiler::condition(std::string_view, json::view value) {
    std::uint32_t test = 0;
    std::uint32_t then_block = no_block;
    std::uint32_t else_block = no_block;
    const json::view on_true = here_.schema["then"];
    const json::view on_false = here_.schema["else"];
    if (!child(value, test) || (on_true.exists() && !child(on_true, then_block)) ||
        (on_false.exists() && !child(on_false, else_block))) {
        return false;
    }
    add(op::condition, test, then_block, else_block);
    return true;
}

bool compiler::unevaluated(std::string_view keyword, json::view value) {
    std::uint32_t index = 0;
    if (!child(value, index)) {
        return false;
    }
    add(keyword == "unevaluatedItems" ? op::unevaluated_items : op::unevaluated_properties, index);
    return true;
}

}  // namespace pillion::schema_check
