// The builder of include/pillion/schema.hpp: keywords in the order they were given, properties in
// the order they were declared.
#include <algorithm>

#include <pillion/json.hpp>
#include <pillion/schema.hpp>

namespace pillion {

namespace {

std::string quoted(std::string_view text) {
    json::builder out;
    out.value(text);
    return std::string(out.text());
}

std::string number_text(double number) {
    json::builder out;
    out.value(number);
    return std::string(out.text());
}

void set(std::vector<std::pair<std::string, std::string>>& list, std::string_view name,
         std::string json) {
    const auto same = [name](const auto& entry) { return entry.first == name; };
    const auto found = std::find_if(list.begin(), list.end(), same);
    if (found != list.end()) {
        found->second = std::move(json);
    } else {
        list.emplace_back(std::string(name), std::move(json));
    }
}

// The keyword that bounds a value of `type`.
std::string_view bound_keyword(std::string_view type, bool lower) {
    if (type == "string") {
        return lower ? "minLength" : "maxLength";
    }
    if (type == "array") {
        return lower ? "minItems" : "maxItems";
    }
    if (type == "object") {
        return lower ? "minProperties" : "maxProperties";
    }
    return lower ? "minimum" : "maximum";
}

}  // namespace

schema::schema(std::string_view type) : type_(type) {}

schema schema::raw(std::string json) {
    schema out{std::string_view()};
    out.raw_ = std::move(json);
    return out;
}

schema& schema::about(std::string_view text) { return keyword("description", quoted(text)); }

schema& schema::title(std::string_view text) { return keyword("title", quoted(text)); }

schema& schema::min(double bound) {
    return keyword(bound_keyword(type_, true), number_text(bound));
}

schema& schema::max(double bound) {
    return keyword(bound_keyword(type_, false), number_text(bound));
}

schema& schema::format(std::string_view name) { return keyword("format", quoted(name)); }

schema& schema::pattern(std::string_view regex) { return keyword("pattern", quoted(regex)); }

schema& schema::one_of(std::initializer_list<std::string_view> values) {
    return one_of(values.begin(), values.size());
}

schema& schema::one_of(const std::string_view* values, std::size_t count) {
    json::builder list;
    list.begin_array();
    for (std::size_t i = 0; i < count; ++i) {
        list.value(values[i]);
    }
    list.end_array();
    return keyword("enum", list.text());
}

schema& schema::default_json(std::string_view json) { return keyword("default", json); }

schema& schema::header(std::string_view suffix) { return keyword("x-mcp-header", quoted(suffix)); }

schema& schema::keyword(std::string_view name, std::string_view json) {
    set(keywords_, name, std::string(json));
    return *this;
}

schema& schema::required(std::string_view name, const schema& property) {
    set(properties_, name, property.json());
    if (std::find(required_.begin(), required_.end(), name) == required_.end()) {
        required_.emplace_back(name);
    }
    return *this;
}

schema& schema::optional(std::string_view name, const schema& property) {
    set(properties_, name, property.json());
    required_.erase(std::remove(required_.begin(), required_.end(), name), required_.end());
    return *this;
}

schema& schema::open() {
    open_ = true;
    return *this;
}

// Pieces are joined as text: keywords given as JSON are not checked before registration.
std::string schema::json() const {
    if (!raw_.empty()) {
        return raw_;
    }
    std::string out = type_.empty() ? std::string("{") : "{\"type\":" + quoted(type_);
    for (const auto& [name, value] : keywords_) {
        out += (out.size() > 1 ? "," : "") + quoted(name) + ":" + value;
    }
    if (type_ != "object") {
        return out + "}";
    }
    if (!properties_.empty()) {
        out += ",\"properties\":{";
        for (const auto& [name, value] : properties_) {
            out += (out.back() == '{' ? "" : ",") + quoted(name) + ":" + value;
        }
        out += "}";
    }
    if (!required_.empty()) {
        out += ",\"required\":[";
        for (const std::string& name : required_) {
            out += (out.back() == '[' ? "" : ",") + quoted(name);
        }
        out += "]";
    }
    if (!open_) {
        out += ",\"additionalProperties\":false";
    }
    return out + "}";
}

schema object() { return schema("object"); }
schema string() { return schema("string"); }
schema integer() { return schema("integer"); }
schema number() { return schema("number"); }
schema boolean() { return schema("boolean"); }
schema anything() { return schema(std::string_view()); }

schema array(const schema& items) {
    schema out("array");
    out.keyword("items", items.json());
    return out;
}

}  // namespace pillion
