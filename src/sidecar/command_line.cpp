#include "sidecar/command_line.hpp"

#include <algorithm>
#include <utility>

namespace pillion::sidecar {

namespace {

// A place in what a shell is told to run would let arguments run anything.
bool scripts_a_shell(const command_spec& what, std::size_t word) {
    const std::string& program = what.argv[0];
    const std::size_t slash = program.rfind('/');
    const std::string name = slash == program.npos ? program : program.substr(slash + 1);
    const bool shell = name == "sh" || name == "bash" || name == "dash" || name == "ash" ||
                       name == "zsh" || name == "ksh" || name == "fish";
    const std::string& before = what.argv[word - 1];
    return shell && word > 1 && before.starts_with('-') && before.ends_with('c');
}

}  // namespace

bool command_line::parse(const command_spec& what, command_line& to, std::string& fault) {
    if (what.argv.empty()) {
        fault = "command: needs argv";
        return false;
    }
    for (const std::string& text : what.argv) {
        text_template one;
        if (!text_template::parse(text, one, fault)) {
            fault = "command.argv: " + fault;
            return false;
        }
        if (!to.words_.empty() && one.has_arguments() && scripts_a_shell(what, to.words_.size())) {
            fault =
                "command.argv: a shell would run what is in an argument; give it as a word of its "
                "own, which the script calls $1";
            return false;
        }
        to.words_.push_back(std::move(one));
    }
    if (to.words_[0].parts().empty()) {
        fault = "command.argv: begins with the program";
        return false;
    }
    if (to.words_[0].has_arguments()) {
        fault = "command.argv: which program it is must not depend on arguments";
        return false;
    }
    to.program_ = to.words_[0].parts()[0].text;
    to.words_.erase(to.words_.begin());
    to.dashes_ = what.dashes;
    return true;
}

bool command_line::add_text(std::string_view name, json::view value, std::string& word,
                            std::string& fault) const {
    bool good = false;
    const std::string_view text = plain_text(value, good);
    const std::string shown(name);
    if (!good) {
        fault = "The argument " + shown + " must be a text, a number or a boolean";
        return false;
    }
    if (text.find('\0') != text.npos) {
        fault = "The argument " + shown + " must not hold a NUL";
        return false;
    }
    const bool may = std::find(dashes_.begin(), dashes_.end(), name) != dashes_.end();
    if (word.empty() && text.starts_with('-') && !may) {
        fault = "The argument " + shown + " must not begin with -";
        return false;
    }
    word += text;
    return true;
}

bool command_line::add_word(const text_template& from, json::view arguments,
                            std::vector<std::string>& to, std::string& fault) const {
    const std::string_view alone = from.only_argument();
    const json::view value = alone.empty() ? json::view() : arguments[alone];
    if (!alone.empty() && (!value.exists() || value.is_null())) {
        return true;
    }
    if (value.is_array()) {
        for (const json::view one : value.elements()) {
            std::string word;
            if (!add_text(alone, one, word, fault)) {
                return false;
            }
            to.push_back(std::move(word));
        }
        return true;
    }
    std::string word;
    for (const template_part& part : from.parts()) {
        if (!part.argument) {
            word += part.text;
        } else if (!arguments[part.text].exists()) {
            fault = "The argument " + part.text + " is missing";
            return false;
        } else if (!add_text(part.text, arguments[part.text], word, fault)) {
            return false;
        }
    }
    to.push_back(std::move(word));
    return true;
}

bool command_line::render(json::view arguments, std::vector<std::string>& to,
                          std::string& fault) const {
    to.assign(1, program_);
    std::size_t bytes = program_.size();
    for (const text_template& one : words_) {
        const std::size_t before = to.size();
        if (!add_word(one, arguments, to, fault)) {
            return false;
        }
        for (std::size_t i = before; i < to.size(); ++i) {
            bytes += to[i].size() + 1;
        }
        if (bytes > bytes_max) {
            fault = "The arguments are too long";
            return false;
        }
    }
    return true;
}

}  // namespace pillion::sidecar
