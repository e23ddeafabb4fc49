// openapi_shape: which kinds of values a schema takes, as far as its types tell: what becomes part
// of a URL, a header or a form must have a plain text.
//
// Thread-safety: as openapi_document.
#pragma once

#include <pillion/json.hpp>

#include "sidecar/import_budget.hpp"
#include "sidecar/openapi_document.hpp"

namespace pillion::sidecar {

struct value_shape {
    bool scalar = false;  // a string, a number or a boolean
    bool list = false;    // of scalars
    bool other = false;   // an object, or a list of what has no plain text
    bool typed = false;   // anything was said at all

    // Whether its values have a plain text, so far as anybody knows.
    bool plain() const noexcept { return !list && !other; }
    bool plain_or_list() const noexcept { return !other; }
};

value_shape shape_of(openapi_document& in, json::view schema, import_budget& budget);

}  // namespace pillion::sidecar
