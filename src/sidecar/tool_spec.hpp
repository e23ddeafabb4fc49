// tool_spec: a tool that the configuration makes: what clients see of it, and what it does. Plain
// data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <pillion/content.hpp>

#include "sidecar/command_spec.hpp"
#include "sidecar/http_spec.hpp"

namespace pillion::sidecar {

struct tool_spec {
    std::string name;
    std::string title;
    std::string description;
    std::string input_json;   // empty: no arguments
    std::string output_json;  // empty: not said
    std::optional<bool> read_only;
    std::optional<bool> destructive;
    std::optional<bool> idempotent;
    std::optional<bool> open_world;
    std::string deprecated;  // a date; empty: it stays
    std::string instead;
    std::vector<icon> icons;
    // One of them.
    std::optional<command_spec> command;
    std::optional<http_spec> http;
    // Where that was said: "tools.NAME", or "openapi.NAME" of many.
    std::string section;
    // Of all that was said of it, what it inherits included: the same means nothing has changed.
    std::uint64_t fingerprint = 0;
};

}  // namespace pillion::sidecar
