#include "schema/compiler.hpp"

#include <iterator>
#include <utility>

#include "schema/uri.hpp"

namespace pillion::schema_check {

namespace {

constexpr std::uint32_t core = vocabulary_core;
constexpr std::uint32_t applicator = vocabulary_applicator;
constexpr std::uint32_t validation = vocabulary_validation;

dialect default_dialect(const compile_options& how) {
    dialect out;
    out.draft7 = how.draft7_by_default;
    return out;
}

}  // namespace

// In the order of the steps: what is cheap comes first, what needs to know what the others looked
// at comes last. properties and items have rules of their own between the two halves.
const compiler::keyword_rule compiler::rules[] = {
    {"$schema", core, true, true, &compiler::dialect_rule},
    {"$id", core, true, true, &compiler::annotation},
    {"title", core, true, true, &compiler::annotation},
    {"description", core, true, true, &compiler::annotation},
    {"type", validation, true, true, &compiler::type},
    {"const", validation, true, true, &compiler::constant},
    {"enum", validation, true, true, &compiler::enumeration},
    {"minimum", validation, true, true, &compiler::bound_rule},
    {"maximum", validation, true, true, &compiler::bound_rule},
    {"exclusiveMinimum", validation, true, true, &compiler::bound_rule},
    {"exclusiveMaximum", validation, true, true, &compiler::bound_rule},
    {"multipleOf", validation, true, true, &compiler::multiple_of},
    {"minLength", validation, true, true, &compiler::count_rule},
    {"maxLength", validation, true, true, &compiler::count_rule},
    {"minItems", validation, true, true, &compiler::count_rule},
    {"maxItems", validation, true, true, &compiler::count_rule},
    {"minProperties", validation, true, true, &compiler::count_rule},
    {"maxProperties", validation, true, true, &compiler::count_rule},
    {"pattern", validation, true, true, &compiler::pattern_rule},
    {"format", core, true, true, &compiler::format},
    {"dependentRequired", validation, false, true, &compiler::dependent_required},
    {"propertyNames", applicator, true, true, &compiler::property_names},
    {"contains", applicator, true, true, &compiler::contains},
    {"uniqueItems", validation, true, true, &compiler::unique_items},
    {"dependentSchemas", applicator, false, true, &compiler::dependent_schemas},
    {"dependencies", applicator, true, false, &compiler::dependencies},
    {"$ref", core, true, true, &compiler::reference},
    {"$dynamicRef", core, false, true, &compiler::dynamic_reference},
    {"allOf", applicator, true, true, &compiler::combination},
    {"anyOf", applicator, true, true, &compiler::combination},
    {"oneOf", applicator, true, true, &compiler::combination},
    {"not", applicator, true, true, &compiler::negation},
    {"if", applicator, true, true, &compiler::condition},
    {"unevaluatedProperties", vocabulary_unevaluated, false, true, &compiler::unevaluated},
    {"unevaluatedItems", vocabulary_unevaluated, false, true, &compiler::unevaluated},
};
const std::size_t compiler::rules_before_children = 22;
const std::size_t compiler::rules_count = std::size(compiler::rules);

compiler::compiler(program& out, std::string& fault, const compile_options& how)
    : out_(out),
      fault_(fault),
      assert_formats_(how.assert_formats),
      catalog_(out.documents, how.documents, default_dialect(how)) {}

bool compiler::fail_at(json::view value, std::string_view message) {
    fault_ = catalog_.where(value) + ": " + std::string(message);
    return false;
}

// The value may be missing or a duplicate, so the name is put behind the place of the schema.
bool compiler::fail(std::string_view keyword, std::string_view message) {
    fault_ =
        catalog_.where(here_.schema) + "/" + escape_token(keyword) + ": " + std::string(message);
    return false;
}

bool compiler::knows(std::uint32_t vocabulary) const {
    return (speaks_.vocabularies & vocabulary) != 0;
}

void compiler::add(op code, std::size_t a, std::size_t b, std::uint32_t c) {
    step one;
    one.code = code;
    one.a = static_cast<std::uint32_t>(a);
    one.b = static_cast<std::uint32_t>(b);
    one.c = c;
    out_.steps.push_back(one);
}

// The block of a subschema, which is queued when it is new.
bool compiler::block_of(const place& target, std::uint32_t& index) {
    const json::view schema = target.schema;
    if (!schema.is_object() && !schema.is_bool()) {
        return fail_at(schema, "a schema must be an object or a boolean");
    }
    const auto [entry, added] =
        known_.emplace(schema.raw(), static_cast<std::uint32_t>(queue_.size()));
    index = entry->second;
    if (added) {
        if (queue_.size() == subschemas_max) {
            return fail_at(schema, "there are too many subschemas");
        }
        queue_.push_back(target);
    }
    return true;
}

bool compiler::child(json::view value, std::uint32_t& index) {
    return block_of(place{value, catalog_.resource_of(value, here_.resource)}, index);
}

// children[into.a, +into.b) from an array of schemas.
bool compiler::child_list(json::view value, step& into) {
    std::vector<std::uint32_t> found;
    for (const json::view one : value.elements()) {
        if (!child(one, found.emplace_back())) {
            return false;
        }
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

bool compiler::annotation(std::string_view keyword, json::view value) {
    return value.is_string() || fail(keyword, "must be a string");
}

// Only the root of a resource chooses its dialect (core §8.1.1).
bool compiler::dialect_rule(std::string_view keyword, json::view value) {
    const resource& of = catalog_.resources()[here_.resource];
    if (!value.is_string()) {
        return fail(keyword, "must be a string");
    }
    return of.root.raw() == here_.schema.raw() || of.root["$schema"].str() == value.str() ||
           fail(keyword, "is allowed only at the root of a schema or beside an $id");
}

bool compiler::keywords() {
    const bool draft7 = speaks_.draft7;
    for (std::size_t i = 0; i < rules_count; ++i) {
        if (i == rules_before_children && knows(applicator | validation) &&
            (!objects() || !items())) {
            return false;
        }
        const keyword_rule& one = rules[i];
        if (!(draft7 ? one.in_draft7 : one.in_2020) || !knows(one.vocabulary)) {
            continue;
        }
        const json::view value = here_.schema[one.keyword];
        if (value.exists() && !(this->*one.apply)(one.keyword, value)) {
            return false;
        }
    }
    return true;
}

bool compiler::compile_block(std::size_t index) {
    here_ = queue_[index];
    const resource& of = catalog_.resources()[here_.resource];
    if (!of.fault.empty()) {
        fault_ = catalog_.where(of.root) + "/$schema: " + of.fault;
        return false;
    }
    speaks_ = of.speaks;
    entered_.insert(here_.resource);
    block made;
    made.resource = here_.resource;
    made.first = static_cast<std::uint32_t>(out_.steps.size());
    const json::view ref = here_.schema["$ref"];
    if (here_.schema.is_bool()) {
        made.never = !here_.schema.boolean();
        if (made.never) {
            add(op::never);
        }
    } else if (speaks_.draft7 && ref.exists()) {
        // Draft-07 ignores what stands beside "$ref".
        if (!reference("$ref", ref)) {
            return false;
        }
    } else if (!keywords()) {
        return false;
    }
    made.count = static_cast<std::uint32_t>(out_.steps.size()) - made.first;
    for (std::uint32_t i = made.first; i < made.first + made.count; ++i) {
        const op code = out_.steps[i].code;
        made.unevaluated =
            made.unevaluated || code == op::unevaluated_properties || code == op::unevaluated_items;
    }
    if (made.count > 0 && out_.steps[made.first].code == op::type) {
        made.types = out_.steps[made.first].a;
    }
    out_.blocks.push_back(made);
    return true;
}

bool compiler::compile_queue() {
    while (out_.blocks.size() < queue_.size()) {
        if (!compile_block(out_.blocks.size())) {
            return false;
        }
    }
    return true;
}

bool compiler::run(json::view schema) {
    if (!schema.is_object() && !schema.is_bool()) {
        fault_ = "#: a schema must be an object or a boolean";
        return false;
    }
    std::string detail;
    if (!catalog_.add_root(schema, detail)) {
        fault_ = "#: " + detail;
        return false;
    }
    std::uint32_t root = 0;
    if (!block_of(place{catalog_.resources()[0].root, 0}, root)) {
        return false;
    }
    // What a dynamic reference may lead to depends on the resources that are there in the end.
    for (bool added = true; added;) {
        if (!compile_queue() || !add_dynamic_targets(added)) {
            return false;
        }
    }
    finish_dynamics();
    return find_circle();
}

}  // namespace pillion::schema_check
