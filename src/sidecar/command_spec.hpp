// command_spec: a tool that runs a program, as the configuration says it. Plain data, in plain
// units.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace pillion::sidecar {

struct command_spec {
    enum class input : std::uint8_t { none, arguments };  // arguments: as JSON
    // text: as it is. json: one JSON value, which is the structured result if it is an object.
    enum class output : std::uint8_t { text, json };

    // Templates (text_template). The first is the program, without places: a name is looked for in
    // PATH of our own environment. An item that is one place alone vanishes when the argument is
    // missing, and becomes several when it is an array. Never a shell.
    std::vector<std::string> argv;
    input standard_input = input::none;
    output standard_output = output::text;
    std::string folder;                                            // to work in; empty: ours
    std::vector<std::pair<std::string, std::string>> environment;  // set; values are no templates
    std::vector<std::string> passed;    // names of our own variables that it sees as well
    std::vector<std::string> dashes;    // arguments that may begin with "-"
    std::map<int, std::string> errors;  // what an exit code means, beside 0
    std::size_t output_bytes_max = 1024 * 1024;
    std::size_t stderr_tail_bytes = 2048;
    std::int64_t kill_after_ms = 2000;  // from TERM to KILL
    // Limits of the child (setrlimit(2)); 0: ours.
    std::uint64_t cpu_seconds = 0;
    std::uint64_t memory_bytes = 0;
    std::uint64_t file_bytes = 0;
    std::uint64_t open_files = 0;
};

}  // namespace pillion::sidecar
