#include "file_text.hpp"

#include <array>
#include <fstream>

namespace pillion::load {

std::optional<std::string> read_text(const std::string& path, std::string& why,
                                     std::size_t bytes_max) {
    std::ifstream in(path, std::ios::binary);
    std::string text;
    std::array<char, 16 * 1024> piece;
    // Not by istreambuf_iterator: its reading throws where the system has an error to tell.
    while (in.read(piece.data(), piece.size()) || in.gcount() > 0) {
        text.append(piece.data(), static_cast<std::size_t>(in.gcount()));
        if (text.size() > bytes_max) {
            why = path + " is larger than " + std::to_string(bytes_max >> 20U) + " MiB";
            return std::nullopt;
        }
    }
    if (!in.eof() || in.bad()) {
        why = "cannot read " + path;
        return std::nullopt;
    }
    return text;
}

}  // namespace pillion::load
