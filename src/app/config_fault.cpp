#include "app/config_fault.hpp"

#include <algorithm>

#include "base/utf8.hpp"

namespace pillion::app {

namespace {

constexpr std::size_t path_bytes_max = 4096;  // PATH_MAX

}  // namespace

std::string shown(std::string_view name, std::size_t bytes_max) {
    std::string out = "\"";
    for (const char c : name.substr(0, bytes_max)) {
        const auto byte = static_cast<unsigned char>(c);
        out += byte < 0x20 || byte == 0x7F ? '?' : c;
    }
    if (name.size() > bytes_max) {
        // Not in the middle of a character.
        const std::string_view whole(out);
        out.resize(base::utf8::valid_prefix(whole));
        out += "…";
    }
    return out + "\"";
}

std::string shown_path(std::string_view path) { return shown(path, path_bytes_max); }

void sort_by_place(config_faults& faults) {
    const auto before = [](const config_fault& a, const config_fault& b) {
        return a.at.line != b.at.line ? a.at.line < b.at.line : a.at.column < b.at.column;
    };
    // Those of one place stay in their order; there are few.
    for (auto next = faults.begin(); next != faults.end(); ++next) {
        std::rotate(std::upper_bound(faults.begin(), next, *next, before), next, next + 1);
    }
}

std::string describe(const config_fault& fault, std::string_view file) {
    if (fault.at.line == 0) {
        return fault.text;
    }
    return std::string(file) + ":" + std::to_string(fault.at.line) + ":" +
           std::to_string(fault.at.column) + ": " + fault.text;
}

}  // namespace pillion::app
