#include "sidecar/tool_names.hpp"

#include <cstdint>

#include "base/ascii.hpp"

namespace pillion::sidecar {

namespace {

constexpr std::size_t digits_of_hash = 8;

bool is_name_char(char c) noexcept { return base::is_alnum(c) || c == '_' || c == '.' || c == '-'; }

// FNV-1a: the same in every run, which base/hash is not.
std::string hash_digits(std::string_view text) {
    std::uint32_t hash = 2166136261U;
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    }
    std::string out;
    for (std::size_t i = 0; i < digits_of_hash; ++i) {
        out += base::hex_digits[(hash >> (28 - 4 * i)) & 15];
    }
    return out;
}

}  // namespace

bool is_tool_name(std::string_view text) noexcept {
    for (const char c : text) {
        if (!is_name_char(c)) {
            return false;
        }
    }
    return !text.empty() && text.size() <= tool_name_max;
}

std::string fit_name(std::string_view text, std::size_t bytes_max) {
    std::string out;
    bool gap = false;
    for (const char c : text) {
        if (!is_name_char(c)) {
            gap = !out.empty();
            continue;
        }
        if (gap && out.back() != '_' && c != '_') {
            out += '_';
        }
        gap = false;
        out += c;
    }
    if (out.size() > bytes_max) {
        const std::string hash = hash_digits(text);
        out = out.substr(0, bytes_max - digits_of_hash - 1) + "_" + hash;
    }
    return out;
}

std::string name_of_route(std::string_view method, std::string_view path) {
    std::string text;
    for (const char c : method) {
        text += base::to_lower(c);
    }
    const std::string rest = fit_name(path);
    return fit_name(rest.empty() ? text : text + "_" + rest);
}

std::string name_set::take_like(const std::string& name, std::string_view suffix) {
    std::string out = name;
    const std::string longer = name + "_" + std::string(suffix);
    for (std::size_t i = 1; !taken_.insert(out).second; ++i) {
        out = i == 1 ? longer : longer + "_" + std::to_string(i);
    }
    return out;
}

}  // namespace pillion::sidecar
