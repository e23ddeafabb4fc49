// metaschemas: the documents that "$schema" and "$ref" may name without being given along.
//
// Thread-safety: constants; any thread.
#pragma once

#include <string_view>

namespace pillion::schema_check {

// The metaschemas of the two dialects, by which they are also told apart.
inline constexpr std::string_view metaschema_2020_12 =
    "https://json-schema.org/draft/2020-12/schema";
inline constexpr std::string_view metaschema_draft_07 = "http://json-schema.org/draft-07/schema";

// The JSON text of the published document at `uri` (without fragment); empty when there is none.
std::string_view metaschema(std::string_view uri) noexcept;

}  // namespace pillion::schema_check
