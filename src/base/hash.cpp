#include "base/hash.hpp"

#include <cstring>

#include "base/random.hpp"

namespace pillion::base {

namespace {

struct sip_state {
    std::uint64_t v0;
    std::uint64_t v1;
    std::uint64_t v2;
    std::uint64_t v3;

    static std::uint64_t rotate_left(std::uint64_t x, int k) noexcept {
        return (x << k) | (x >> (64 - k));
    }

    void round() noexcept {
        v0 += v1;
        v1 = rotate_left(v1, 13) ^ v0;
        v0 = rotate_left(v0, 32);
        v2 += v3;
        v3 = rotate_left(v3, 16) ^ v2;
        v0 += v3;
        v3 = rotate_left(v3, 21) ^ v0;
        v2 += v1;
        v1 = rotate_left(v1, 17) ^ v2;
        v2 = rotate_left(v2, 32);
    }

    void absorb(std::uint64_t word) noexcept {
        v3 ^= word;
        round();
        v0 ^= word;
    }
};

// Little-endian, as the reference; a big-endian machine gets other values, which is fine here.
std::uint64_t load(const char* from, std::size_t bytes) noexcept {
    std::uint64_t word = 0;
    std::memcpy(&word, from, bytes);
    return word;
}

hash_key draw_key() noexcept {
    hash_key key;
    os_random(&key, sizeof(key));
    return key;
}

}  // namespace

std::uint64_t siphash13(std::string_view bytes, const hash_key& key) noexcept {
    sip_state state{key.k0 ^ 0x736F6D6570736575U, key.k1 ^ 0x646F72616E646F6DU,
                    key.k0 ^ 0x6C7967656E657261U, key.k1 ^ 0x7465646279746573U};
    const char* at = bytes.data();
    std::size_t left = bytes.size();
    for (; left >= 8; left -= 8, at += 8) {
        state.absorb(load(at, 8));
    }
    const std::uint64_t tail = left > 0 ? load(at, left) : 0;
    state.absorb(tail | (static_cast<std::uint64_t>(bytes.size()) << 56));
    state.v2 ^= 0xFF;
    state.round();
    state.round();
    state.round();
    return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

const hash_key& process_hash_key() noexcept {
    static const hash_key key = draw_key();
    return key;
}

}  // namespace pillion::base
