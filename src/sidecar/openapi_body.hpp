// openapi_body: the body of an operation's request (OpenAPI 3.1 §4.8.13) as one of those that an
// http_spec can send: JSON as the argument `body`, a text as the argument `body`, or a form whose
// fields are arguments. Of several media types the first of JSON, form and text is taken.
//
// JSON is one argument, not one for each property: so its schema stays what it is, whatever it is
// composed of, an optional body can be left out, and no property meets a parameter of its name.
//
// Ownership: views of the document. Thread-safety: plain data and functions of one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <pillion/json.hpp>

#include "sidecar/http_spec.hpp"
#include "sidecar/import_budget.hpp"
#include "sidecar/openapi_document.hpp"

namespace pillion::sidecar {

// The argument of a body that is one.
inline constexpr std::string_view body_argument = "body";

struct form_field {
    std::string_view name;
    json::view schema;
    bool required = false;
};

struct openapi_body {
    http_spec::body_kind kind = http_spec::body_kind::none;
    std::string content_type;  // where it is not the usual one of its kind
    bool required = false;
    std::string_view description;
    json::view schema;               // of JSON; missing: anything
    std::vector<form_field> fields;  // of a form
    std::vector<std::string> notes;
};

// False with a fault where there is a body that cannot be sent.
bool read_body(openapi_document& from, import_budget& budget, std::string_view method,
               json::view operation, openapi_body& to, std::string& fault);

// Whether `media_type` is that of JSON: application/json, or anything that ends in +json
// (RFC 6839 §3.1).
bool is_json_media_type(std::string_view media_type);

}  // namespace pillion::sidecar
