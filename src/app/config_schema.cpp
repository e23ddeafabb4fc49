#include "app/config_schema.hpp"

#include <set>

#include <pillion/json.hpp>

namespace pillion::app {

namespace {

constexpr const char* variable = "\\$\\{";
constexpr const char* positive_duration =
    "^([1-9][0-9]{0,10}ms|[1-9][0-9]{0,7}s|[1-9][0-9]{0,5}m|[1-9][0-9]{0,3}h)$";
constexpr const char* any_duration =
    "^(0(ms|s|m|h)|[1-9][0-9]{0,10}ms|[1-9][0-9]{0,7}s|[1-9][0-9]{0,5}m|[1-9][0-9]{0,3}h)$";
constexpr const char* size_with_unit =
    "^([1-9][0-9]{0,11}B|[1-9][0-9]{0,8}KiB|[1-9][0-9]{0,5}MiB|[1-9][0-9]{0,2}GiB)$";

void text_with(json::builder& b, const char* keyword, const std::string& value) {
    b.begin_object().member("type", "string").member(keyword, value).end_object();
}

void add_integer(json::builder& b, const config_key& key) {
    b.begin_object().member("type", "integer");
    b.member("minimum", key.min).member("maximum", key.max).end_object();
}

void word_list(json::builder& b, const std::vector<std::string>& words) {
    b.begin_object().key("enum").begin_array();
    for (const std::string& word : words) {
        b.value(word);
    }
    b.end_array().end_object();
}

// A text of the key, a variable in it or not.
void add_text(json::builder& b, const config_key& key) {
    b.begin_object().member("type", "string").member("minLength", key.min);
    if (!key.pattern.empty()) {
        b.member("pattern", key.pattern);
    }
    b.end_object();
}

// What the key may be besides a text with a variable.
void plain_forms(json::builder& b, const config_key& key) {
    switch (key.type) {
        case value_type::text:
        case value_type::secret:
            return add_text(b, key);
        case value_type::text_list:
            add_text(b, key);
            b.begin_object().member("type", "array").key("items");
            add_text(b, key);
            b.end_object();
            return;
        case value_type::boolean:
            b.begin_object().member("type", "boolean").end_object();
            return;
        case value_type::count:
            return add_integer(b, key);
        case value_type::count_or_auto:
            add_integer(b, key);
            return word_list(b, {"auto"});
        case value_type::duration:
            return text_with(b, "pattern", key.min > 0 ? positive_duration : any_duration);
        case value_type::bytes:
            add_integer(b, key);
            return text_with(b, "pattern", size_with_unit);
        case value_type::choice:
            return word_list(b, key.words);
        case value_type::text_map:
            b.begin_object().member("type", "object").key("additionalProperties").begin_object();
            b.key("type").begin_array().value("string").value("number").value("boolean");
            b.end_array().end_object().end_object();
            return;
        case value_type::json:
            b.begin_object().member("type", "object").end_object();
            return;
        case value_type::section:
        case value_type::sections:
            return;  // see add_key()
    }
}

std::string description_of(const config_key& key) {
    std::string said = key.type == value_type::boolean && key.negated() ? "Serve " + key.help
                       : key.type == value_type::secret
                           ? "The " + key.help + ": file:PATH, or the text itself"
                           : key.help;
    if (!key.flag.empty()) {
        said += ". Flag: " + key.flag;
    }
    if (!key.fallback.empty()) {
        said += ". Default: " + key.fallback;
    }
    return said + (key.live ? ". SIGHUP changes it." : ". Changed by a restart.");
}

// `keys`, which are all there are in their mapping.
void add_keys(json::builder& b, const config_table& keys);

// One of them, or a list; ends what add_key() has begun.
// NOLINTNEXTLINE(misc-no-recursion)
void add_sections(json::builder& b, const config_key& key) {
    const auto one = [&b, &key] {
        b.begin_object().member("type", "object");
        add_keys(b, key.inside(key.name));
        b.end_object();
    };
    b.key("anyOf").begin_array();
    one();
    b.begin_object().member("type", "array").key("items");
    one();
    b.end_object();
    b.end_array().end_object();
}

// Sections nest once: tools.NAME.command.
// NOLINTNEXTLINE(misc-no-recursion)
void add_key(json::builder& b, const config_key& key) {
    b.key(key.name).begin_object();
    b.member("description", description_of(key));
    if (key.type == value_type::section) {
        b.member("type", "object");
        add_keys(b, key.inside(key.name));
        b.end_object();
        return;
    }
    if (key.type == value_type::sections) {
        return add_sections(b, key);
    }
    b.key("anyOf").begin_array();
    plain_forms(b, key);
    if (key.type != value_type::text_map && key.type != value_type::json) {
        text_with(b, "pattern", variable);
    }
    b.end_array().end_object();
}

// NOLINTNEXTLINE(misc-no-recursion)
void add_keys(json::builder& b, const config_table& keys) {
    b.member("additionalProperties", false);
    b.key("properties").begin_object();
    for (const config_key& key : keys) {
        add_key(b, key);
    }
    b.end_object();
}

void add_section(json::builder& b, const config_table& keys, const std::string& section) {
    b.key(section).begin_object();
    b.key("type").begin_array().value("object").value("null").end_array();
    b.member("additionalProperties", false);
    if (section == "http") {
        // One way or the other to say where to listen.
        b.key("not").raw(R"({"type":"object","required":["listen"],)"
                         R"("anyOf":[{"required":["host"]},{"required":["port"]}]})");
    }
    b.key("properties").begin_object();
    for (const config_key& key : keys) {
        if (key.section == section) {
            add_key(b, key);
        }
    }
    b.end_object().end_object();
}

// Whatever their names, things of a kind have the same keys.
void add_named(json::builder& b, const std::string& kind, const char* description) {
    const auto section = [&b] {
        b.begin_object();
        b.key("type").begin_array().value("object").value("null").end_array();
    };
    b.key(kind);
    section();
    b.member("description", description);
    b.key("additionalProperties");
    section();
    add_keys(b, make_named_table(kind, kind));
    b.end_object().end_object();
}

// Compact JSON with a line for each member, two blanks a level.
std::string indented(std::string_view compact) {
    std::string out;
    std::size_t level = 0;
    bool in_text = false;
    const auto new_line = [&] { out += "\n" + std::string(2 * level, ' '); };
    for (std::size_t i = 0; i < compact.size(); ++i) {
        const char c = compact[i];
        if (in_text) {
            out += c;
            if (c == '\\') {
                out += compact[++i];
            } else if (c == '"') {
                in_text = false;
            }
        } else if (c == '{' || c == '[') {
            out += c;
            ++level;
            new_line();
        } else if (c == '}' || c == ']') {
            --level;
            new_line();
            out += c;
        } else {
            out += c;
            in_text = c == '"';
            if (c == ',') {
                new_line();
            } else if (c == ':') {
                out += ' ';
            }
        }
    }
    return out + "\n";
}

}  // namespace

std::string config_schema(const config_table& keys, const std::string& program) {
    json::builder b;
    b.begin_object();
    b.member("$schema", "http://json-schema.org/draft-07/schema#");
    b.member("title", "Configuration of " + program);
    b.member("description",
             "Every text may hold ${NAME} or ${NAME:-default} from the environment; $$ is a dollar "
             "sign. Secrets may be file:PATH.");
    b.key("type").begin_array().value("object").value("null").end_array();
    b.member("additionalProperties", false);
    b.key("properties").begin_object();
    b.key("$schema").begin_object().member("type", "string").end_object();
    std::set<std::string> done;
    for (const config_key& key : keys) {
        if (done.insert(key.section).second) {
            add_section(b, keys, key.section);
        }
    }
    add_named(
        b, "tools",
        "Tools by name: limits and scopes, which win over those in the code, and with command "
        "or http a tool that is made here.");
    add_named(b, "prompts", "The scopes that callers of prompts need, by name.");
    add_named(b, "resources",
              "The scopes that readers of registered resources and templates need, by URI.");
    add_named(b, "methods", "The scopes that methods need whatever their target, by name.");
    add_named(b, "principals",
              "Who is let in of those for whom the system or a certificate vouches, and what they "
              "may use: the scopes here, or everything where none are said.");
    add_named(b, "upstreams", "Services that tools ask over HTTP, by name.");
    add_named(b, "servers", "MCP servers whose tools, prompts and resources are offered here.");
    add_named(b, "openapi", "Descriptions of services whose operations become tools.");
    add_named(b, "folders", "Directories whose files are resources.");
    b.end_object().end_object();
    return indented(b.text());
}

}  // namespace pillion::app
