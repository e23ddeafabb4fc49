// yaml_scalar: what a scalar means by itself (YAML 1.2.2 §10.3.2), and a tree as JSON.
//
// Thread-safety: plain functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <pillion/json.hpp>

#include "app/yaml_tree.hpp"

namespace pillion::app {

// Nothing is converted: a number is no text and a text no number.
enum class plain_kind : std::uint8_t { text, boolean, integer, real };

// Of a scalar: text when it has quotes.
plain_kind type_of(const yaml_node& node);
// Whether a text without quotes would be an integer.
bool is_integer_text(std::string_view text);
// A number as JSON Schema sees it: 8080, 0x1F90, 8080.0 and 8.08e3 are the same integer.
std::string integer_text(std::string_view text, plain_kind kind);

// Appends `node` with all below it. False for what JSON has not: .inf and .nan.
bool yaml_to_json(const yaml_tree& tree, const yaml_node& node, json::builder& to);

}  // namespace pillion::app
