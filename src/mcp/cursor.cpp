#include "mcp/cursor.hpp"

#include <cstring>

#include "base/base64.hpp"
#include "base/hash.hpp"

namespace pillion::mcp {

namespace {

// Layout before base64url: kind, number (4 bytes little endian), key, checksum (8 bytes).
constexpr std::size_t front = 5;
constexpr std::size_t back = 8;
// Fixed, so that a cursor survives restarts and load balancers.
constexpr base::hash_key key{0x70696c6c696f6e31, 0x637572736f720001};

bool known(char kind) noexcept {
    return kind == 't' || kind == 'p' || kind == 'r' || kind == 'm' || kind == 'v' || kind == 'k';
}

}  // namespace

std::string_view encode_cursor(const position& at, base::arena& memory) {
    const std::size_t size = front + at.after.size() + back;
    char* raw = static_cast<char*>(memory.allocate(size, 1));
    raw[0] = static_cast<char>(at.kind);
    for (unsigned i = 0; i < 4; ++i) {
        raw[1 + i] = static_cast<char>(at.number >> (8 * i) & 0xFFU);
    }
    if (!at.after.empty()) {
        std::memcpy(raw + front, at.after.data(), at.after.size());
    }
    const std::uint64_t sum = base::siphash13({raw, size - back}, key);
    std::memcpy(raw + size - back, &sum, back);
    char* text = static_cast<char*>(
        memory.allocate(base::base64::encoded_size(size, base::base64::form::url), 1));
    return {text, base::base64::encode({raw, size}, text, base::base64::form::url)};
}

std::optional<position> decode_cursor(std::string_view text, base::arena& memory) {
    char* raw = static_cast<char*>(memory.allocate(base::base64::decoded_size_max(text.size()), 1));
    const auto size = base::base64::decode(text, raw, base::base64::form::url);
    if (!size || *size < front + back || !known(raw[0])) {
        return std::nullopt;
    }
    std::uint64_t sum = 0;
    std::memcpy(&sum, raw + *size - back, back);
    if (sum != base::siphash13({raw, *size - back}, key)) {
        return std::nullopt;
    }
    position at{static_cast<list_kind>(raw[0]), 0, {raw + front, *size - front - back}};
    for (unsigned i = 0; i < 4; ++i) {
        at.number |= static_cast<std::uint32_t>(static_cast<unsigned char>(raw[1 + i])) << (8 * i);
    }
    return at;
}

}  // namespace pillion::mcp
