// command_line: the words that a program is started with, from templates and the arguments of a
// call. There is no shell: a word is a word, whatever it holds.
//
// An argument that begins with "-" would be read as an option by most programs; it is refused where
// the operator has not said that it may.
//
// Thread-safety: immutable once made.
#pragma once

#include <string>
#include <vector>

#include <pillion/json.hpp>

#include "sidecar/command_spec.hpp"
#include "sidecar/text_template.hpp"

namespace pillion::sidecar {

class command_line {
 public:
    // All words together; the system's own bound is larger (execve(2)).
    static constexpr std::size_t bytes_max = 128 * 1024;

    // False with a fault in words: of the templates, not of arguments.
    static bool parse(const command_spec& what, command_line& to, std::string& fault);

    // The words of a call. False with a fault in words that names an argument.
    bool render(json::view arguments, std::vector<std::string>& to, std::string& fault) const;

 private:
    bool add_word(const text_template& from, json::view arguments, std::vector<std::string>& to,
                  std::string& fault) const;
    bool add_text(std::string_view name, json::view value, std::string& word,
                  std::string& fault) const;

    std::string program_;
    std::vector<text_template> words_;
    std::vector<std::string> dashes_;
};

}  // namespace pillion::sidecar
