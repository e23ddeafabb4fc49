// item_settings: what the configuration says of single tools, prompts and resources, wherever they
// come from: limits, effects, icons.
//
// Thread: the one that makes the settings.
#pragma once

#include <vector>

#include <pillion/content.hpp>

#include "app/key_reader.hpp"

namespace pillion::app {

// Of the key `icons`; `whose` is what faults call it. One without a source is left out, with a
// fault.
std::vector<icon> icons_of(key_reader& from, const config_value& value, const std::string& whose);

// What is said of one tool beside its scopes.
detail::operator_limits operator_word_of(key_reader& from, const named_values& tool);

// Adds the icons of a prompt, resource or template to `to.icons`; of other things it has none.
void read_icons_of(key_reader& from, const named_values& one, settings& to);

}  // namespace pillion::app
