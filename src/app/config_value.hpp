// config_value: one value as a person writes it, to what it means. Thread-safety: plain functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config_fault.hpp"
#include "app/config_keys.hpp"

namespace pillion::app {

// A value of one key, from the file or the command line.
struct config_value {
    bool given = false;
    bool from_flag = false;  // or from the environment: not from the file
    bool from_environment = false;
    bool hidden = false;             // a secret, or holds what a variable held: never shown
    std::vector<std::string> texts;  // as meant; booleans and numbers in their plain spelling
    std::vector<file_place> places;  // of each text, where they are from the file
    std::vector<std::string> names;  // text_map: of each text
    // section: by its keys. sections: one for each, which holds that.
    std::vector<config_value> inside;
    std::int64_t number = 0;  // count, milliseconds, bytes, or 0 and 1

    std::string_view text() const noexcept {
        return texts.empty() ? std::string_view() : std::string_view(texts.front());
    }
};

// What the file says of one thing that has a name, by the keys of make_named_table().
struct named_values {
    std::string section;
    std::string name;
    file_place at;
    std::vector<config_value> values;
};

// By key, as the table orders them; besides, the things that the file names.
struct config_values : std::vector<config_value> {
    using std::vector<config_value>::vector;
    std::vector<named_values> named;
};

// Where variables come from; tests give their own.
using environment = std::function<std::optional<std::string>(const std::string& name)>;
environment process_environment();

// The values of keys whose variables are set: names of files, as flags would give them. An empty
// variable is none.
config_values read_environment(const config_table& keys, const environment& from);

// Milliseconds of "500ms", "30s", "5m", "2h".
std::optional<std::int64_t> parse_duration_ms(std::string_view text);
// Bytes of "1048576", "512B", "64KiB", "1MiB", "1GiB".
std::optional<std::int64_t> parse_bytes(std::string_view text);

// Whether `text` holds a variable.
bool has_variable(std::string_view text) noexcept;
// Replaces ${NAME} and ${NAME:-default} (also for an empty NAME) in `text`; $$ stands for $. False
// with a fault that names the variable and shows no value.
bool substitute(std::string_view text, const environment& from, std::string& out,
                std::string& fault);

// Appends the value that `text` spells for this key. False when it is none.
bool parse_value(const config_key& key, std::string_view text, config_value& out);

}  // namespace pillion::app
