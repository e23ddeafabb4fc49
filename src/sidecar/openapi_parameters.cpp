#include "sidecar/openapi_parameters.hpp"

#include <algorithm>
#include <optional>

#include "base/ascii.hpp"
#include "schema/uri.hpp"
#include "sidecar/openapi_shape.hpp"
#include "sidecar/report_text.hpp"

namespace pillion::sidecar {

namespace {

constexpr std::size_t parameters_max = 256;
constexpr std::size_t parameter_name_max = 256;
// Finding one and looking into it takes about as long as looking at so many members.
constexpr std::size_t parameter_steps = 64;
constexpr std::size_t argument_name_max = 64;

// OpenAPI 3.1 §4.8.12.2: the first three are not said by parameters. The others are the
// connection's, or credentials, which belong to the upstream (RFC 9110 §7.6.1).
constexpr std::string_view kept_headers[] = {
    "accept",           "content-type", "authorization", "connection",        "content-length",
    "cookie",           "expect",       "host",          "keep-alive",        "proxy-authorization",
    "proxy-connection", "te",           "trailer",       "transfer-encoding", "upgrade"};

std::string named(const openapi_parameter& one, std::string_view in) {
    return one_line(in, 16) + " parameter " + one_line(one.name, 64);
}

bool is_kept_header(std::string_view name) {
    return std::any_of(std::begin(kept_headers), std::end(kept_headers),
                       [name](std::string_view h) { return base::equals_ignore_case(h, name); });
}

// Why a parameter cannot be said; null when it can.
const char* judge_shape(openapi_parameter& one, const value_shape& shape, json::view from) {
    const std::string_view style = from["style"].str();
    const bool query = one.in == openapi_parameter::place::query;
    if (!style.empty() && style != (query ? "form" : "simple")) {
        return "its style is not the default";
    }
    if (shape.other) {
        return "it is an object";
    }
    if (shape.list && !query) {
        return "it is a list";
    }
    if (shape.list && !from["explode"].boolean(true)) {
        return "it is a list that is not exploded";
    }
    one.list = shape.list;
    one.typed = shape.typed;
    return nullptr;
}

// The same of all but its shape.
const char* judge_place(openapi_parameter& one, json::view from) {
    const std::string_view in = from["in"].str();
    if (one.name.empty() || one.name.size() > parameter_name_max) {
        return "it has no name, or a very long one";
    }
    if (in == "path") {
        one.in = openapi_parameter::place::path;
        one.required = true;
    } else if (in == "header") {
        one.in = openapi_parameter::place::header;
        if (!base::is_token(one.name)) {
            return "it is no name of a header";
        }
        if (is_kept_header(one.name)) {
            return "arguments cannot set this header";
        }
    } else if (in == "cookie") {
        return "arguments cannot set cookies";
    } else if (in != "query") {
        return "it is none of path, query and header";
    }
    return from["content"].exists() ? "its value is a document (content)" : nullptr;
}

// Adds one, or replaces the one of the path item that it overrides.
void put(openapi_parameter&& one, std::vector<openapi_parameter>& to) {
    const auto same = std::find_if(to.begin(), to.end(), [&one](const openapi_parameter& p) {
        return p.in == one.in && p.name == one.name;
    });
    if (same == to.end()) {
        to.push_back(std::move(one));
    } else {
        *same = std::move(one);
    }
}

bool read_one(openapi_document& from, import_budget& budget, json::view given, parameter_list& to,
              std::string& fault) {
    std::string detail;
    if (budget.steps < parameter_steps) {
        fault = "the operations are too large together";
        return false;
    }
    budget.steps -= parameter_steps;
    const json::view what = from.follow(given, detail);
    if (!what.exists()) {
        fault = "a parameter: " + detail;
        return false;
    }
    openapi_parameter one;
    one.name = what["name"].str();
    one.description = what["description"].str();
    one.schema = what["schema"];
    one.required = what["required"].boolean();
    one.deprecated = what["deprecated"].boolean();
    const char* why = judge_place(one, what);
    if (why == nullptr) {
        why = judge_shape(one, shape_of(from, one.schema, budget), what);
    }
    if (why == nullptr) {
        put(std::move(one), to.all);
        return true;
    }
    const std::string text = named(one, what["in"].str()) + ": " + why;
    // What the specification ignores is not missed (§4.8.12.2).
    const bool ignored = what["in"].str() == "header" && is_kept_header(one.name);
    if (one.required && !ignored) {
        fault = "required " + text;
        return false;
    }
    to.notes.push_back("left out " + text);
    return true;
}

bool is_path_char(char c) noexcept {
    return base::is_alnum(c) ||
           std::string_view("/-._~!$&'()*+,;=:@%").find(c) != std::string_view::npos;
}

// As it is, or escaped (RFC 3986 §6.2.2.3): servers take both for one.
bool has_dot_segment(std::string_view escaped) {
    std::string path;
    if (!schema_check::decode_percent(escaped, path)) {
        return true;
    }
    for (std::size_t begin = 0; begin < path.size();) {
        const std::size_t end = std::min(path.find('/', begin), path.size());
        const std::string segment = path.substr(begin, end - begin);
        if (segment == "." || segment == "..") {
            return true;
        }
        begin = end + 1;
    }
    return false;
}

// The argument of a place in the path.
std::string place_of(std::string_view name, parameter_list& parameters, name_set& taken) {
    for (const openapi_parameter& one : parameters.all) {
        if (one.in == openapi_parameter::place::path && one.name == name) {
            return one.argument;
        }
    }
    openapi_parameter made;
    made.in = openapi_parameter::place::path;
    made.name = name;
    made.required = true;
    const std::string wanted = fit_name(name, argument_name_max);
    made.argument = taken.take_like(wanted.empty() ? "path" : wanted, "path");
    parameters.notes.push_back("no parameter describes {" + one_line(name, 64) +
                               "} of its path: taken as a text");
    parameters.all.push_back(made);
    return made.argument;
}

}  // namespace

bool read_parameters(openapi_document& from, import_budget& budget, json::view path_item,
                     json::view operation, parameter_list& to, std::string& fault) {
    for (const json::view list : {path_item["parameters"], operation["parameters"]}) {
        if (list.size() > parameters_max) {
            fault = "it has more than 256 parameters";
            return false;
        }
        for (const json::view one : list.elements()) {
            if (!read_one(from, budget, one, to, fault)) {
                return false;
            }
        }
    }
    return true;
}

void name_arguments(std::vector<openapi_parameter>& of, name_set& taken) {
    for (openapi_parameter& one : of) {
        const std::string_view in = one.in == openapi_parameter::place::path    ? "path"
                                    : one.in == openapi_parameter::place::query ? "query"
                                                                                : "header";
        const std::string wanted = fit_name(one.name, argument_name_max);
        one.argument = taken.take_like(wanted.empty() ? std::string(in) : wanted, in);
    }
}

bool path_template(std::string_view path, parameter_list& parameters, name_set& taken,
                   std::string& to, std::string& fault) {
    if (!path.starts_with('/') || has_dot_segment(path)) {
        fault = "its path does not begin with a slash, or has a dot segment or a bad escape";
        return false;
    }
    std::set<std::string> used;
    for (std::size_t i = 0; i < path.size(); ++i) {
        if (path[i] == '{') {
            const std::size_t end = path.find('}', i);
            const std::string_view name = path.substr(i + 1, std::min(end, path.size()) - i - 1);
            if (end == path.npos || name.empty() || name.find('{') != name.npos) {
                fault = "its path has a brace without its other";
                return false;
            }
            const std::string argument = place_of(name, parameters, taken);
            used.insert(argument);
            to += "{" + argument + "}";
            i = end;
        } else if (is_path_char(path[i])) {
            to += path[i];
        } else {
            fault = "its path has a character that no path has";
            return false;
        }
    }
    for (const openapi_parameter& one : parameters.all) {
        if (one.in == openapi_parameter::place::path && used.count(one.argument) == 0) {
            fault = "path parameter " + one_line(one.name, 64) + " has no place in the path";
            return false;
        }
    }
    return true;
}

}  // namespace pillion::sidecar
