// code_set: sets of code points as sorted ranges.
//
// Thread-safety: ordinary values.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace pillion::schema_check {

inline constexpr std::uint32_t code_point_max = 0x10FFFF;

// Code points, first to last.
using code_range = std::pair<std::uint32_t, std::uint32_t>;

// Sorts, joins what touches, and turns the set around if asked to.
void normalise(std::vector<code_range>& set, bool inverted);

// The code point at `at`, which moves behind it. REQUIRES: valid UTF-8, at < text.size().
inline std::uint32_t decode_utf8(std::string_view text, std::size_t& at) noexcept {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    const std::uint32_t first = byte(at);
    const std::size_t more = first < 0xC0 ? 0 : first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
    std::uint32_t code = more == 0 ? first : first & (0x3FU >> more);
    for (std::size_t i = 1; i <= more; ++i) {
        code = (code << 6) | (byte(at + i) & 0x3F);
    }
    at += more + 1;
    return code;
}

// A set that is asked often.
class code_set {
 public:
    // REQUIRES: `ranges` are normalised.
    explicit code_set(std::vector<code_range> ranges);

    bool has_ascii(unsigned char c) const noexcept { return (ascii_[c >> 6] >> (c & 63) & 1) != 0; }
    bool has(std::uint32_t code) const noexcept;
    // Whether they have a code point in common.
    bool meets(const code_set& other) const noexcept;

 private:
    std::array<std::uint64_t, 2> ascii_{};
    std::vector<code_range> ranges_;
};

}  // namespace pillion::schema_check
