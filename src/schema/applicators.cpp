// The compiler's rules of keywords that hold subschemas, and of references.
#include <algorithm>

#include "base/ascii.hpp"
#include "json/node.hpp"
#include "json/pointer.hpp"
#include "schema/compiler.hpp"

namespace pillion::schema_check {

namespace {

// The pointer in a URI fragment; false when an escape is malformed.
bool decode_fragment(std::string_view text, std::string& out) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out.push_back(text[i]);
            continue;
        }
        const int high = text.size() - i > 2 ? base::hex_digit(text[i + 1]) : -1;
        const int low = text.size() - i > 2 ? base::hex_digit(text[i + 2]) : -1;
        if (high < 0 || low < 0) {
            return false;
        }
        out.push_back(static_cast<char>(high * 16 + low));
        i += 2;
    }
    return true;
}

}  // namespace

bool compiler::dependent_schemas(std::string_view keyword, json::view value) {
    if (!value.is_object()) {
        return fail(keyword, "must be an object");
    }
    const std::string at = at_ + "/" + std::string(keyword) + "/";
    for (const json::member m : value.members()) {
        std::uint32_t index = 0;
        if (!block_of(m.value, at + escape_token(m.key), index)) {
            return false;
        }
        add(op::dependent_schema, index, out_.names.size());
        out_.names.push_back(m.key);
    }
    return true;
}

// The draft-07 form of both, which later dialects do not know.
bool compiler::dependencies(std::string_view keyword, json::view value) {
    if (!draft7_) {
        return true;
    }
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
        } else if (block_of(m.value, at_ + "/dependencies/" + escape_token(m.key), index)) {
            add(op::dependent_schema, index, name);
        } else {
            return false;
        }
    }
    return true;
}

bool compiler::properties() {
    const json::view declared = here_["properties"];
    const json::view others = here_["additionalProperties"];
    const json::view by_pattern = here_["patternProperties"];
    if (declared.exists() && !declared.is_object()) {
        return fail("properties", "must be an object");
    }
    if (by_pattern.exists() && !by_pattern.is_object()) {
        return fail("patternProperties", "must be an object");
    }
    std::vector<property> found;
    for (const json::member m : declared.members()) {
        property one;
        one.name = m.key;
        if (!block_of(m.value, at_ + "/properties/" + escape_token(m.key), one.block)) {
            return false;
        }
        found.push_back(one);
    }
    std::uint32_t rest = no_block;
    if (others.exists() && !child("additionalProperties", others, rest)) {
        return false;
    }
    if (by_pattern.size() > 0) {
        rest = no_block;
    }
    if (found.empty() && rest == no_block) {
        return true;
    }
    std::sort(found.begin(), found.end(),
              [](const property& a, const property& b) { return a.name < b.name; });
    const auto twin =
        std::adjacent_find(found.begin(), found.end(),
                           [](const property& a, const property& b) { return a.name == b.name; });
    if (twin != found.end()) {
        return fail("properties", "declares a name twice");
    }
    add(op::properties, out_.properties.size(), found.size(), rest);
    out_.properties.insert(out_.properties.end(), found.begin(), found.end());
    return true;
}

bool compiler::property_names(std::string_view keyword, json::view value) {
    std::uint32_t index = 0;
    if (!child(keyword, value, index)) {
        return false;
    }
    add(op::property_names, index);
    return true;
}

bool compiler::items() {
    // Draft-07 spells prefixItems as an array of items, and items as additionalItems.
    const bool tuple = draft7_ && here_["items"].is_array();
    const std::string_view first_keyword = draft7_ ? "items" : "prefixItems";
    const std::string_view rest_keyword = tuple ? "additionalItems" : "items";
    const json::view first = tuple || !draft7_ ? here_[first_keyword] : json::view();
    const json::view rest = here_[rest_keyword];
    step parts;
    if (first.exists() && (!first.is_array() ? !fail(first_keyword, "must be an array of schemas")
                                             : !child_list(first_keyword, first, parts))) {
        return false;
    }
    if (rest.exists() && !child(rest_keyword, rest, parts.c)) {
        return false;
    }
    if (parts.b > 0 || parts.c != no_block) {
        add(op::items, parts.a, parts.b, parts.c);
    }
    return true;
}

bool compiler::contains(std::string_view keyword, json::view value) {
    std::uint32_t index = 0;
    std::uint64_t least = 1;
    std::uint64_t most = UINT64_MAX;
    const json::view min = here_["minContains"];
    const json::view max = here_["maxContains"];
    if (!child(keyword, value, index) ||
        (!draft7_ && min.exists() && !count_of("minContains", min, least)) ||
        (!draft7_ && max.exists() && !count_of("maxContains", max, most))) {
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
    if (!child_list(keyword, value, parts)) {
        return false;
    }
    add(keyword == "allOf"   ? op::all_of
        : keyword == "anyOf" ? op::any_of
                             : op::one_of,
        parts.a, parts.b);
    return true;
}

bool compiler::negation(std::string_view keyword, json::view value) {
    std::uint32_t index = 0;
    if (!child(keyword, value, index)) {
        return false;
    }
    add(op::negation, index);
    return true;
}

bool compiler::condition(std::string_view keyword, json::view value) {
    std::uint32_t test = 0;
    std::uint32_t then_block = no_block;
    std::uint32_t else_block = no_block;
    const json::view on_true = here_["then"];
    const json::view on_false = here_["else"];
    if (!child(keyword, value, test) || (on_true.exists() && !child("then", on_true, then_block)) ||
        (on_false.exists() && !child("else", on_false, else_block))) {
        return false;
    }
    add(op::condition, test, then_block, else_block);
    return true;
}

// Remembers subschemas that are resources of their own: inside them "#" means something else.
// REQUIRES: the depth of the document is limited, as the parser does.
void compiler::find_embedded(json::view value) {
    if (value["$id"].is_string()) {
        embedded_.push_back(value);
    }
    for (const json::view one : value.elements()) {
        find_embedded(one);
    }
    for (const json::member m : value.members()) {
        find_embedded(m.value);
    }
}

// What "$ref" means, and its pointer.
bool compiler::find_target(std::string_view ref, json::view& target, std::string& at) {
    const std::string_view id = root_["$id"].str();
    const std::string_view base = id.substr(0, id.find('#'));
    for (const json::view resource : embedded_) {
        if (here_.raw() >= resource.raw() && here_.raw() < json::next(resource.raw())) {
            return fail("$ref", "a reference inside a subschema with its own $id is not supported");
        }
    }
    if (!base.empty() && ref.starts_with(base) &&
        (ref.size() == base.size() || ref[base.size()] == '#')) {
        ref.remove_prefix(base.size());
    }
    if (!ref.empty() && !ref.starts_with('#')) {
        return fail("$ref",
                    "refers to another document; only references inside the schema are "
                    "allowed");
    }
    if (!decode_fragment(ref.substr(ref.empty() ? 0 : 1), at)) {
        return fail("$ref", "has a malformed escape");
    }
    if (!at.empty() && !at.starts_with('/')) {
        return fail("$ref", "refers to an anchor; only JSON Pointers are supported");
    }
    target = json::resolve(root_, at);
    return target.exists() || fail("$ref", "refers to nothing in the schema");
}

bool compiler::reference(std::string_view keyword, json::view value) {
    if (!value.is_string()) {
        return fail(keyword, "must be a string");
    }
    json::view target;
    std::string at;
    std::uint32_t index = 0;
    if (!find_target(value.str(), target, at) || !block_of(target, std::move(at), index)) {
        return false;
    }
    add(op::reference, index);
    return true;
}

// Blocks that `one` applies to the value itself.
void compiler::in_place(const step& one, std::vector<std::uint32_t>& next) const {
    switch (one.code) {
        case op::reference:
        case op::negation:
        case op::dependent_schema:
            next.push_back(one.a);
            break;
        case op::all_of:
        case op::any_of:
        case op::one_of:
            next.insert(next.end(), out_.children.begin() + one.a,
                        out_.children.begin() + one.a + one.b);
            break;
        case op::condition:
            next.push_back(one.a);
            for (const std::uint32_t branch : {one.b, one.c}) {
                if (branch != no_block) {
                    next.push_back(branch);
                }
            }
            break;
        default:
            break;
    }
}

// A schema that applies itself to the same value again would never come to an end.
bool compiler::find_circle() {
    enum class mark : std::uint8_t { fresh, open, done };
    struct visit {
        std::uint32_t index;
        std::vector<std::uint32_t> next;
    };
    std::vector<mark> marks(out_.blocks.size(), mark::fresh);
    std::vector<visit> path;
    const auto enter = [&](std::uint32_t index) {
        visit one{index, {}};
        const block& b = out_.blocks[index];
        for (std::uint32_t i = b.first; i < b.first + b.count; ++i) {
            in_place(out_.steps[i], one.next);
        }
        marks[index] = mark::open;
        path.push_back(std::move(one));
    };
    for (std::uint32_t start = 0; start < marks.size(); ++start) {
        if (marks[start] == mark::fresh) {
            enter(start);
        }
        while (!path.empty()) {
            if (path.back().next.empty()) {
                marks[path.back().index] = mark::done;
                path.pop_back();
                continue;
            }
            const std::uint32_t next = path.back().next.back();
            path.back().next.pop_back();
            if (marks[next] == mark::open) {
                at_ = queue_[next].at;
                return fail({}, "refers to itself without end");
            }
            if (marks[next] == mark::fresh) {
                enter(next);
            }
        }
    }
    return true;
}

}  // namespace pillion::schema_check
