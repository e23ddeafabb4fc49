// field_import: what definitions and results of servers behind us have in common, as it may go on
// to clients: annotations, icons, and what `_meta` says beside the protocol's own.
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <pillion/content.hpp>
#include <pillion/json.hpp>

namespace pillion::sidecar {

// Of a member "annotations"; views into it.
content_annotations import_annotations(json::view from);

// Of a member "icons". What cannot be meant is left out, since clients would have to refuse the
// whole definition.
std::vector<icon> import_icons(json::view from);

// Whether a member of `_meta` goes on: what the protocol says there is between the server and us.
bool is_outward_meta(std::string_view key);
// Those of a member "_meta", as JSON; empty: there are none.
std::string import_meta(json::view from);

}  // namespace pillion::sidecar
