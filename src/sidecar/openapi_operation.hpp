// openapi_operation: one operation of an OpenAPI description as one request of an http_spec and the
// JSON Schema of its arguments.
//
// Thread-safety: plain data and functions of one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <pillion/json.hpp>

#include "sidecar/http_spec.hpp"
#include "sidecar/import_budget.hpp"
#include "sidecar/openapi_document.hpp"

namespace pillion::sidecar {

struct operation_request {
    http_spec http;  // without its upstream
    std::string input_json;
    std::vector<std::string> notes;  // what was left out
};

// False with a fault in words where it cannot be offered. What it makes is proven: the schema
// compiles (src/schema), and each place of a template is one of its properties.
bool read_operation(openapi_document& from, import_budget& budget, std::string_view method,
                    std::string_view path, json::view path_item, json::view operation,
                    operation_request& to, std::string& fault);

}  // namespace pillion::sidecar
