// text_template: a text with places for arguments of a call: "{name}"; "{{" and "}}" are braces.
// A place takes one member of the arguments, which must be a string, a number or a boolean.
//
// Thread-safety: immutable once parsed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <pillion/json.hpp>

namespace pillion::sidecar {

struct template_part {
    std::string text;       // as it is, or the name of an argument
    bool argument = false;  // which of the two
};

class text_template {
 public:
    // Names of arguments are of a-z, A-Z, 0-9, _, . and -. False with a fault in words that repeats
    // nothing of the text but such a name.
    static bool parse(std::string_view text, text_template& to, std::string& fault);

    const std::vector<template_part>& parts() const noexcept { return parts_; }
    // One place and nothing beside it: its name. Empty otherwise.
    std::string_view only_argument() const noexcept;
    bool has_arguments() const noexcept;

 private:
    std::vector<template_part> parts_;
};

// The text of a string, a number as it was written, true or false. Empty, and `good` false, for
// what is none of these.
std::string_view plain_text(json::view value, bool& good) noexcept;

}  // namespace pillion::sidecar
