#include "files/path.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/utf8.hpp"

namespace pillion::files {

namespace {

constexpr char hex_upper[] = "0123456789ABCDEF";

constexpr bool is_unreserved(char c) noexcept {
    return base::is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

// The first component of `path`, which is left with the rest.
std::string_view next_component(std::string_view& path) noexcept {
    const std::size_t slash = path.find('/');
    const std::string_view first = path.substr(0, slash);
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
    return first;
}

// A slash sorts before every other byte, so that "a/b" comes before "a.txt".
constexpr int rank(char c) noexcept { return c == '/' ? 0 : static_cast<unsigned char>(c) + 1; }

}  // namespace

bool valid_name(std::string_view name) noexcept {
    return !name.empty() && name.size() <= name_bytes_max && name != "." && name != ".." &&
           name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos &&
           base::utf8::validate(name);
}

bool valid_path(std::string_view path) noexcept {
    if (path.empty()) {
        return true;
    }
    if (path.size() > path_bytes_max || path.back() == '/') {
        return false;
    }
    while (!path.empty()) {
        if (!valid_name(next_component(path))) {
            return false;
        }
    }
    return true;
}

bool hidden_path(std::string_view path) noexcept {
    while (!path.empty()) {
        if (next_component(path).starts_with('.')) {
            return true;
        }
    }
    return false;
}

std::string_view name_of(std::string_view path) noexcept {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string join(std::string_view directory, std::string_view name) {
    std::string joined;
    joined.reserve(directory.size() + 1 + name.size());
    joined.append(directory);
    if (!directory.empty()) {
        joined.push_back('/');
    }
    joined.append(name);
    return joined;
}

bool is_within(std::string_view path, std::string_view directory) noexcept {
    return directory.empty() || path == directory ||
           (path.starts_with(directory) && path[directory.size()] == '/');
}

int compare_paths(std::string_view a, std::string_view b) noexcept {
    const std::size_t both = std::min(a.size(), b.size());
    for (std::size_t i = 0; i < both; ++i) {
        if (a[i] != b[i]) {
            return rank(a[i]) - rank(b[i]);
        }
    }
    return a.size() == b.size() ? 0 : (a.size() < b.size() ? -1 : 1);
}

std::string encode_path(std::string_view path) {
    std::string out;
    out.reserve(path.size() + path.size() / 4);
    for (const char c : path) {
        if (is_unreserved(c) || c == '/') {
            out.push_back(c);
        } else {
            const auto byte = static_cast<unsigned char>(c);
            out.push_back('%');
            out.push_back(hex_upper[byte >> 4]);
            out.push_back(hex_upper[byte & 15]);
        }
    }
    return out;
}

std::string escape_value(std::string_view path) {
    std::string out;
    out.reserve(path.size());
    for (std::size_t i = 0; i < path.size(); ++i) {
        out.push_back(path[i]);
        if (path[i] == '%' && path.size() - i > 2 && base::hex_digit(path[i + 1]) >= 0 &&
            base::hex_digit(path[i + 2]) >= 0) {
            out += "25";
        }
    }
    return out;
}

std::string unescape_value(std::string_view typed) {
    std::string out;
    out.reserve(typed.size());
    for (std::size_t i = 0; i < typed.size(); ++i) {
        out.push_back(typed[i]);
        if (typed.substr(i).starts_with("%25")) {
            i += 2;
        }
    }
    return out;
}

std::optional<std::string> decode_path(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out.push_back(text[i]);
            continue;
        }
        const int high = text.size() - i > 2 ? base::hex_digit(text[i + 1]) : -1;
        const int low = text.size() - i > 2 ? base::hex_digit(text[i + 2]) : -1;
        const int byte = high * 16 + low;
        if (high < 0 || low < 0 || byte == '/' || byte == 0) {
            return std::nullopt;
        }
        out.push_back(static_cast<char>(byte));
        i += 2;
    }
    if (!valid_path(out)) {
        return std::nullopt;
    }
    return out;
}

}  // namespace pillion::files
