#include "base/base64.hpp"

#include <array>

namespace pillion::base::base64 {

namespace {

constexpr char standard_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr char url_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// Marks bytes outside the alphabet; has bits that no digit (0..63) has, so that the four digits
// of a group can be checked with one OR.
constexpr std::uint8_t bad = 0xFF;

constexpr std::array<std::uint8_t, 256> reverse(const char* digits) noexcept {
    std::array<std::uint8_t, 256> table{};
    table.fill(bad);
    for (std::uint8_t i = 0; i < 64; ++i) {
        table[static_cast<unsigned char>(digits[i])] = i;
    }
    return table;
}

constexpr auto standard_values = reverse(standard_digits);
constexpr auto url_values = reverse(url_digits);

struct digits_of_four {
    std::uint32_t bits;  // 24 of them
    bool ok;
};

digits_of_four group(const unsigned char* at, const std::array<std::uint8_t, 256>& value) noexcept {
    const std::uint32_t a = value[at[0]];
    const std::uint32_t b = value[at[1]];
    const std::uint32_t c = value[at[2]];
    const std::uint32_t d = value[at[3]];
    return {a << 18 | b << 12 | c << 6 | d, (a | b | c | d) < 64};
}

void put(char* out, std::uint32_t bits, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        out[i] = static_cast<char>(bits >> (16 - 8 * i) & 0xFF);
    }
}

// Decodes the 2 or 3 digits of a short last group; 0 when they are malformed.
std::size_t decode_tail(const unsigned char* at, std::size_t digits, char* out,
                        const std::array<std::uint8_t, 256>& value) noexcept {
    // 'A' stands for the missing digits: it has the value 0 in both alphabets.
    const unsigned char full[4] = {at[0], at[1],
                                   digits == 3 ? at[2] : static_cast<unsigned char>('A'),
                                   static_cast<unsigned char>('A')};
    const digits_of_four last = group(full, value);
    const std::size_t bytes = digits - 1;
    const std::uint32_t unused = bytes == 1 ? 0xFFFFU : 0xFFU;
    if (!last.ok || (last.bits & unused) != 0) {
        return 0;
    }
    put(out, last.bits, bytes);
    return bytes;
}

}  // namespace

std::size_t encode(std::string_view bytes, char* out, form f) noexcept {
    const char* const digits = f == form::standard ? standard_digits : url_digits;
    const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
    std::size_t left = bytes.size();
    char* const begin = out;
    for (; left >= 3; left -= 3, at += 3, out += 4) {
        const std::uint32_t bits =
            std::uint32_t{at[0]} << 16 | std::uint32_t{at[1]} << 8 | std::uint32_t{at[2]};
        out[0] = digits[bits >> 18];
        out[1] = digits[bits >> 12 & 63];
        out[2] = digits[bits >> 6 & 63];
        out[3] = digits[bits & 63];
    }
    if (left > 0) {
        const std::uint32_t bits =
            std::uint32_t{at[0]} << 16 | (left == 2 ? std::uint32_t{at[1]} << 8 : 0U);
        *out++ = digits[bits >> 18];
        *out++ = digits[bits >> 12 & 63];
        if (left == 2) {
            *out++ = digits[bits >> 6 & 63];
        }
        for (std::size_t pad = f == form::url ? 0 : 3 - left; pad > 0; --pad) {
            *out++ = '=';
        }
    }
    return static_cast<std::size_t>(out - begin);
}

void encode(std::string_view bytes, byte_buffer& out, form f) noexcept {
    if (!bytes.empty()) {
        out.commit(encode(bytes, out.reserve(encoded_size(bytes.size(), f)), f));
    }
}

std::optional<std::size_t> decode(std::string_view text, char* out, form f) noexcept {
    const auto& value = f == form::standard ? standard_values : url_values;
    std::size_t digits = text.size();
    if (f != form::url) {
        if (digits % 4 != 0) {
            return std::nullopt;
        }
        if (digits > 0 && text[digits - 1] == '=') {
            digits -= text[digits - 2] == '=' ? 2 : 1;
        }
    }
    const std::size_t tail = digits % 4;
    if (tail == 1) {
        return std::nullopt;
    }
    const auto* at = reinterpret_cast<const unsigned char*>(text.data());
    char* const begin = out;
    for (std::size_t groups = digits / 4; groups > 0; --groups, at += 4, out += 3) {
        const digits_of_four four = group(at, value);
        if (!four.ok) {
            return std::nullopt;
        }
        put(out, four.bits, 3);
    }
    if (tail > 0) {
        const std::size_t bytes = decode_tail(at, tail, out, value);
        if (bytes == 0) {
            return std::nullopt;
        }
        out += bytes;
    }
    return static_cast<std::size_t>(out - begin);
}

bool decode(std::string_view text, byte_buffer& out, form f) noexcept {
    if (text.empty()) {
        return true;
    }
    const auto size = decode(text, out.reserve(decoded_size_max(text.size())), f);
    if (size) {
        out.commit(*size);
    }
    return size.has_value();
}

}  // namespace pillion::base::base64
