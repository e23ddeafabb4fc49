// config_fault: what is wrong with a configuration, and where. Thread-safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pillion::app {

// Line and column of a file, both from 1 and in characters; line 0 is no place in it.
struct file_place {
    std::uint32_t line = 0;
    std::uint32_t column = 0;

    friend bool operator==(const file_place&, const file_place&) = default;
};

struct config_fault {
    file_place at;
    std::string text;  // one line; begins with the key or the flag
};

using config_faults = std::vector<config_fault>;
// More are not told of at a time.
inline constexpr std::size_t config_faults_max = 100;

// "FILE:LINE:COLUMN: text", or the text alone where the fault is no place in the file.
std::string describe(const config_fault& fault, std::string_view file);

// In the order of the file, behind those that are no place in it.
void sort_by_place(config_faults& faults);

// A name out of the file as it may stand in a message: quoted, cut, without control characters.
std::string shown(std::string_view name, std::size_t bytes_max = 64);
// The same of a file that the operator named: its end says which it is, so none is cut.
std::string shown_path(std::string_view path);

}  // namespace pillion::app
