// dialect: which keywords mean what in a schema, by its "$schema".
//
// Thread-safety: no state; for start-up, allocates freely.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <pillion/json.hpp>

#include "base/function_ref.hpp"

namespace pillion::schema_check {

// The vocabularies of 2020-12 (https://json-schema.org/draft/2020-12/vocab/…).
enum vocabulary : std::uint32_t {
    vocabulary_core = 1,
    vocabulary_applicator = 2,
    vocabulary_unevaluated = 4,
    vocabulary_validation = 8,
    vocabulary_meta_data = 16,
    vocabulary_format_annotation = 32,
    vocabulary_format_assertion = 64,
    vocabulary_content = 128,
};

struct dialect {
    bool draft7 = false;
    std::uint32_t vocabularies = ~static_cast<std::uint32_t>(vocabulary_format_assertion);
};

// Finds the document of a URI; missing when nobody gave it.
using find_document = base::function_ref<json::view(std::string_view uri)>;

// What `uri`, the value of a "$schema", stands for: 2020-12, draft-07, or a metaschema that `find`
// knows and whose required vocabularies are all known here. False with `fault` set otherwise.
bool find_dialect(std::string_view uri, find_document find, dialect& out, std::string& fault);

}  // namespace pillion::schema_check
