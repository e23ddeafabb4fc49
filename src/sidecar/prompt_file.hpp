// prompt_file: a prompt that is a text with places for its arguments, and its registration.
//
// The text is one message of the user, or several: a line that is "<!-- user -->" or
// "<!-- assistant -->" begins the next one. {{name}} is an argument, empty where it is not given;
// \{{ is two braces. What an argument holds is never read again: braces in it are braces.
//
// Thread-safety: plain data; registered prompts are immutable and serve all threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <pillion/json.hpp>
#include <pillion/server.hpp>

namespace pillion::sidecar {

struct prompt_argument {
    std::string name;
    std::string description;
    bool required = false;
    std::vector<std::string> complete;  // what it may be, for completion
};

struct prompt_part {
    static constexpr std::size_t no_argument = SIZE_MAX;

    std::string text;
    std::size_t argument = no_argument;  // index, in place of the text
};

struct prompt_message {
    bool assistant = false;
    std::vector<prompt_part> parts;
};

struct prompt_file {
    static constexpr std::size_t messages_max = 64;
    static constexpr std::size_t arguments_max = 64;
    static constexpr std::size_t suggestions_max = 1000;

    std::string name;
    std::string title;
    std::string description;
    std::vector<prompt_argument> arguments;
    std::vector<prompt_message> messages;
    std::size_t folder = 0;  // the how-manieth of all folders it is of
};

// Reads the text of a prompt whose arguments are known. False with a fault in words and its line,
// counted from 1.
bool parse_prompt_text(std::string_view text, prompt_file& to, std::size_t& line,
                       std::string& fault);

// A message with these arguments, of which those that are no strings count as missing.
std::string prompt_text(const prompt_file& of, const prompt_message& message, json::view arguments);

// Registers one under its name.
void add_prompt(prompt_builder to, prompt_file what);

}  // namespace pillion::sidecar
