#include "schema/catalog.hpp"

#include <algorithm>

#include "base/byte_buffer.hpp"
#include "base/number.hpp"
#include "json/node.hpp"
#include "json/pointer.hpp"
#include "schema/metaschemas.hpp"
#include "schema/uri.hpp"

namespace pillion::schema_check {

namespace {

// Containers up to this size are searched from their beginning.
constexpr std::size_t linear_max = 32;

enum drafts : std::uint8_t { in_draft7 = 1, in_2020 = 2, in_both = 3 };
// How a keyword holds its subschemas: as its value, as elements, or as values of members.
enum class shape : std::uint8_t { value, list, named, value_or_list };

struct holder {
    std::string_view keyword;
    shape form;
    drafts where;
};

constexpr holder holders[] = {
    {"properties", shape::named, in_both},
    {"patternProperties", shape::named, in_both},
    {"additionalProperties", shape::value, in_both},
    {"propertyNames", shape::value, in_both},
    {"items", shape::value_or_list, in_draft7},
    {"items", shape::value, in_2020},
    {"additionalItems", shape::value, in_draft7},
    {"prefixItems", shape::list, in_2020},
    {"contains", shape::value, in_both},
    {"allOf", shape::list, in_both},
    {"anyOf", shape::list, in_both},
    {"oneOf", shape::list, in_both},
    {"not", shape::value, in_both},
    {"if", shape::value, in_both},
    {"then", shape::value, in_both},
    {"else", shape::value, in_both},
    {"dependencies", shape::named, in_draft7},
    {"dependentSchemas", shape::named, in_2020},
    {"unevaluatedItems", shape::value, in_2020},
    {"unevaluatedProperties", shape::value, in_2020},
    {"contentSchema", shape::value, in_2020},
    {"definitions", shape::named, in_both},
    {"$defs", shape::named, in_2020},
};

json::document copy_of(json::view value) {
    json::builder text;
    text.value(value);
    return std::move(*json::document::parse(text.text()));
}

}  // namespace

catalog::catalog(std::vector<json::document>& owned, std::span<const schema_document> given,
                 const dialect& by_default)
    : owned_(owned), by_default_(by_default) {
    for (const schema_document& one : given) {
        const std::string uri = resolve_uri({}, one.uri);
        given_.emplace(uri, one.root);
        const json::view id = one.root["$id"];
        if (id.is_string()) {
            given_.emplace(resolve_uri(uri, id.str()), one.root);
        }
    }
}

// A given document or a metaschema, for "$schema".
json::view catalog::find_given(std::string_view uri) {
    const std::string key(uri);
    const auto found = given_.find(key);
    if (found != given_.end()) {
        return found->second;
    }
    const std::string_view text = metaschema(uri);
    if (text.empty()) {
        return {};
    }
    const auto entry = texts_.find(key);
    return entry != texts_.end()
               ? entry->second.root()
               : texts_.emplace(key, std::move(*json::document::parse(text))).first->second.root();
}

void catalog::choose_dialect(resource& made, const dialect& inherited) {
    made.speaks = inherited;
    const json::view name = made.root["$schema"];
    if (!name.is_string()) {
        return;
    }
    const auto find = [this](std::string_view uri) { return find_given(uri); };
    if (!find_dialect(name.str(), find, made.speaks, made.fault)) {
        made.speaks = inherited;
    }
}

bool catalog::add_document(json::view from, std::string uri, std::uint32_t& index,
                           std::string& fault) {
    owned_.push_back(copy_of(from));
    document_uris_.push_back(uri);
    const json::view root = owned_.back().root();
    index = static_cast<std::uint32_t>(resources_.size());
    resource made;
    made.uri = uri;
    made.root = root;
    choose_dialect(made, by_default_);
    const json::view id = root["$id"];
    const bool hidden = made.speaks.draft7 && root["$ref"].exists();
    if (id.is_string() && !hidden && !without_fragment(id.str()).empty()) {
        made.uri = resolve_uri(uri, id.str());
    }
    by_uri_.emplace(made.uri, index);
    by_uri_.emplace(std::move(uri), index);
    resources_.push_back(std::move(made));
    homes_.emplace(root.raw(), index);
    note_anchors(root, index);
    scan_children(root, index);
    if (homes_.size() > subschemas_max) {
        fault = "there are too many subschemas";
        return false;
    }
    return true;
}

bool catalog::add_root(json::view schema, std::string& fault) {
    std::uint32_t index = 0;
    return add_document(schema, {}, index, fault);
}

bool catalog::load(const std::string& uri, std::uint32_t& index, std::string& fault) {
    const auto known = by_uri_.find(uri);
    if (known != by_uri_.end()) {
        index = known->second;
        return true;
    }
    const json::view given = find_given(uri);
    if (!given.exists()) {
        fault = "refers to " + uri + ", which is not among the given documents; none is fetched";
        return false;
    }
    return add_document(given, uri, index, fault);
}

// The resource that `schema` begins, or else the one it is in.
std::uint32_t catalog::enter(json::view schema, std::uint32_t in) {
    const std::string_view uri = without_fragment(schema["$id"].str());
    // Draft-07 ignores what stands beside "$ref".
    if (uri.empty() || (resources_[in].speaks.draft7 && schema["$ref"].exists())) {
        return in;
    }
    resource made;
    made.uri = resolve_uri(resources_[in].uri, uri);
    made.root = schema;
    choose_dialect(made, resources_[in].speaks);
    const auto index = static_cast<std::uint32_t>(resources_.size());
    by_uri_.emplace(made.uri, index);
    resources_.push_back(std::move(made));
    return index;
}

void catalog::note_anchors(json::view schema, std::uint32_t in) {
    if (resources_[in].speaks.draft7) {
        // There "$id": "#name" gives a name to a place.
        const std::string_view name = fragment_of(schema["$id"].str());
        if (!name.empty() && !schema["$ref"].exists()) {
            anchors_.emplace(std::pair(in, std::string(name)), anchor{schema, false});
        }
        return;
    }
    for (const std::string_view keyword : {"$dynamicAnchor", "$anchor"}) {
        const json::view name = schema[keyword];
        if (name.is_string()) {
            anchors_.emplace(std::pair(in, std::string(name.str())),
                             anchor{schema, keyword == "$dynamicAnchor"});
        }
    }
}

// REQUIRES: the depth of documents is limited, as the parser does.
void catalog::scan(json::view schema, std::uint32_t in) {
    if ((!schema.is_object() && !schema.is_bool()) || homes_.count(schema.raw()) > 0) {
        return;
    }
    in = enter(schema, in);
    homes_.emplace(schema.raw(), in);
    note_anchors(schema, in);
    scan_children(schema, in);
}

void catalog::scan_children(json::view schema, std::uint32_t in) {
    const drafts mine = resources_[in].speaks.draft7 ? in_draft7 : in_2020;
    for (const json::member m : schema.members()) {
        for (const holder& one : holders) {
            if (one.keyword != m.key || (one.where & mine) == 0) {
                continue;
            }
            if (one.form == shape::value || one.form == shape::value_or_list) {
                scan(m.value, in);
            }
            if (one.form == shape::list || one.form == shape::value_or_list) {
                for (const json::view element : m.value.elements()) {
                    scan(element, in);
                }
            }
            if (one.form == shape::named) {
                for (const json::member below : m.value.members()) {
                    scan(below.value, in);
                }
            }
        }
    }
}

json::view catalog::child(json::view parent, std::string_view token) {
    if (parent.is_array()) {
        const auto index = token.starts_with('-') ? std::nullopt : base::parse_u64(token);
        if (!index || *index >= parent.size()) {
            return {};
        }
        if (parent.size() <= linear_max) {
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
    const std::string name = unescape_token(token);
    if (parent.size() <= linear_max) {
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

// Follows a JSON Pointer from the root of a resource. The innermost subschema on the way that is a
// resource of its own gives the base.
bool catalog::walk(std::uint32_t from, std::string_view pointer, place& out, std::string& fault) {
    json::view at = resources_[from].root;
    std::uint32_t in = from;
    while (!pointer.empty() && at.exists()) {
        const std::size_t end = std::min(pointer.find('/', 1), pointer.size());
        at = child(at, pointer.substr(1, end - 1));
        pointer.remove_prefix(end);
        const auto home = homes_.find(at.raw());
        in = home == homes_.end() ? in : home->second;
    }
    if (!at.exists()) {
        fault = "refers to nothing in the schema";
        return false;
    }
    scan(at, in);
    out.schema = at;
    out.resource = resource_of(at, in);
    return true;
}

bool catalog::find(std::uint32_t from, std::string_view reference, place& out, std::string& fault) {
    std::uint32_t target = 0;
    std::string fragment;
    if (!decode_percent(fragment_of(reference), fragment)) {
        fault = "has a malformed escape";
        return false;
    }
    if (!load(resolve_uri(resources_[from].uri, without_fragment(reference)), target, fault)) {
        return false;
    }
    if (fragment.empty() || fragment.starts_with('/')) {
        return walk(target, fragment, out, fault);
    }
    const auto found = anchors_.find(std::pair(target, fragment));
    if (found == anchors_.end()) {
        fault = "refers to an anchor that is not there";
        return false;
    }
    out.schema = found->second.schema;
    out.resource = resource_of(out.schema, target);
    return true;
}

std::uint32_t catalog::resource_of(json::view schema, std::uint32_t known) const {
    const auto home = homes_.find(schema.raw());
    return home == homes_.end() ? known : home->second;
}

json::view catalog::dynamic_anchor(std::uint32_t resource, const std::string& name) const {
    const auto found = anchors_.find(std::pair(resource, name));
    return found != anchors_.end() && found->second.dynamic ? found->second.schema : json::view();
}

std::string catalog::where(json::view value) const {
    base::chunk_pool pool;
    for (std::size_t i = 0; i < owned_.size(); ++i) {
        const json::view root = owned_[i].root();
        if (value.raw() >= root.raw() && value.raw() < json::next(root.raw())) {
            base::byte_buffer out(pool);
            out.append(document_uris_[i]);
            out.append('#');
            json::append_pointer(out, root, value);
            return std::string(out.view());
        }
    }
    return "#";
}

}  // namespace pillion::schema_check
