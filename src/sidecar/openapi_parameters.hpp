// openapi_parameters: the parameters of an operation (OpenAPI 3.1 §4.8.12), and how each can be
// said by the templates of an http_spec.
//
// A scalar can stand in the path (style simple), the query (form) and a header (simple); a list of
// scalars in the query (form with explode, the default). Whatever else is required makes the
// operation one that cannot be offered; what is optional is left out, and noted.
//
// Ownership: views of the document. Thread-safety: plain data and functions of one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <pillion/json.hpp>

#include "sidecar/import_budget.hpp"
#include "sidecar/openapi_document.hpp"
#include "sidecar/tool_names.hpp"

namespace pillion::sidecar {

struct openapi_parameter {
    enum class place { path, query, header };

    place in = place::query;
    std::string_view name;
    std::string argument;  // of the tool
    std::string_view description;
    json::view schema;  // missing: any text
    bool required = false;
    bool deprecated = false;
    bool list = false;   // may be a list
    bool typed = false;  // the schema says which kind
};

struct parameter_list {
    std::vector<openapi_parameter> all;
    std::vector<std::string> notes;  // what was left out, and why
};

// Those of the path item and the operation, in this order; the operation's own win. False with a
// fault where a required one cannot be offered.
bool read_parameters(openapi_document& from, import_budget& budget, json::view path_item,
                     json::view operation, parameter_list& to, std::string& fault);

// Gives each argument a name: its own as far as it can be one, longer where it is taken.
void name_arguments(std::vector<openapi_parameter>& of, name_set& taken);

// `path` as a template whose places are arguments. What has a place and no parameter becomes one
// with no schema. False with a fault where it is no path, or where a parameter has no place in it.
bool path_template(std::string_view path, parameter_list& parameters, name_set& taken,
                   std::string& to, std::string& fault);

}  // namespace pillion::sidecar
