#include "sidecar/arguments.hpp"

#include <algorithm>
#include <string_view>

#include <pillion/json.hpp>

#include "json/document.hpp"
#include "sidecar/text_template.hpp"

namespace pillion::sidecar {

namespace {

class collector {
 public:
    void take(const std::string& name, bool required, bool any_type) {
        const auto known = std::find_if(all_.begin(), all_.end(),
                                        [&name](const used_argument& u) { return u.name == name; });
        if (known == all_.end()) {
            all_.push_back({name, required, any_type});
            return;
        }
        known->required = known->required || required;
        known->any_type = known->any_type && any_type;
    }

    // `may_vanish`: what is one place alone may be missing.
    void take_template(const std::string& text, bool may_vanish, bool list_counts) {
        text_template parsed;
        std::string ignored;
        if (!text_template::parse(text, parsed, ignored)) {
            return;
        }
        const bool alone = !parsed.only_argument().empty();
        for (const template_part& part : parsed.parts()) {
            if (part.argument) {
                take(part.text, !(alone && may_vanish), alone && list_counts);
            }
        }
    }

    std::vector<used_argument> all() && { return std::move(all_); }

 private:
    std::vector<used_argument> all_;
};

void collect(const command_spec& from, collector& to) {
    for (std::size_t i = 1; i < from.argv.size(); ++i) {
        to.take_template(from.argv[i], true, true);
    }
}

void collect(const http_spec& from, collector& to) {
    to.take_template(from.path, false, false);
    for (const auto* const list : {&from.query, &from.headers}) {
        for (const name_and_text& one : *list) {
            to.take_template(one.second, true, list == &from.query);
        }
    }
    if (from.sends == http_spec::body_kind::one) {
        to.take(from.body, false, true);
    } else if (from.sends == http_spec::body_kind::text) {
        to.take_template(from.body, false, false);
    }
}

// What takes more than the arguments that have a place: it is not known which.
bool takes_others(const tool_spec& what) {
    return (what.command && what.command->standard_input == command_spec::input::arguments) ||
           (what.http && (what.http->sends == http_spec::body_kind::rest ||
                          what.http->sends == http_spec::body_kind::form));
}

}  // namespace

std::vector<used_argument> used_arguments(const tool_spec& what) {
    collector found;
    if (what.command) {
        collect(*what.command, found);
    }
    if (what.http) {
        collect(*what.http, found);
    }
    return std::move(found).all();
}

std::string schema_of(const std::vector<used_argument>& used) {
    json::builder b;
    b.begin_object().member("type", "object").key("properties").begin_object();
    for (const used_argument& one : used) {
        b.key(one.name).begin_object();
        if (!one.any_type) {
            b.key("type")
                .begin_array()
                .value("string")
                .value("number")
                .value("boolean")
                .end_array();
        }
        b.end_object();
    }
    b.end_object();
    b.key("required").begin_array();
    for (const used_argument& one : used) {
        if (one.required) {
            b.value(one.name);
        }
    }
    b.end_array().member("additionalProperties", false).end_object();
    return std::string(b.text());
}

bool fits_schema(const tool_spec& what, const std::vector<used_argument>& used,
                 std::string& fault) {
    if (what.input_json.empty()) {
        if (takes_others(what)) {
            fault = "needs input: a schema of the arguments that it hands on";
            return false;
        }
        return true;
    }
    const auto parsed = json::document::parse(what.input_json);
    if (!parsed) {
        fault = "input is no JSON";
        return false;
    }
    const json::view properties = parsed->root()["properties"];
    for (const used_argument& one : used) {
        if (!properties[one.name].exists()) {
            fault = "uses {" + one.name + "}, which is not among the properties of input";
            return false;
        }
    }
    return true;
}

}  // namespace pillion::sidecar
