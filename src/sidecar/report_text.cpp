#include "sidecar/report_text.hpp"

#include <algorithm>

namespace pillion::sidecar {

namespace {

constexpr std::string_view ellipsis = "\xE2\x80\xA6";

}  // namespace

std::string cut_text(std::string_view text, std::size_t bytes_max) {
    if (text.size() <= bytes_max) {
        return std::string(text);
    }
    std::size_t size = bytes_max - std::min(bytes_max, ellipsis.size());
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) {
        --size;
    }
    return std::string(text.substr(0, size)) + std::string(ellipsis);
}

std::string one_line(std::string_view text, std::size_t bytes_max) {
    std::string out;
    bool blank = false;
    for (const char c : text) {
        if (out.size() > bytes_max) {
            break;
        }
        if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7F) {
            blank = !out.empty();
            continue;
        }
        if (blank) {
            out += ' ';
            blank = false;
        }
        out += c;
    }
    return cut_text(out, bytes_max);
}

}  // namespace pillion::sidecar
