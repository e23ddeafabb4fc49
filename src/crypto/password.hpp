// password: what is kept of a password: PBKDF2 with HMAC-SHA-256 (RFC 8018 §5.2) and a random salt,
// as people choose passwords that a plain hash would give away.
//
// Thread-safety: values; any thread. Looking at a password takes a tenth of a second and more: not
// on a loop.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pillion::crypto {

struct password_hash {
    static constexpr std::size_t salt_bytes = 16;
    // What new ones have, and what is accepted.
    static constexpr std::uint32_t iterations_usual = 600'000;
    static constexpr std::uint32_t iterations_min = 10'000;
    static constexpr std::uint32_t iterations_max = 5'000'000;

    std::uint32_t iterations = iterations_usual;
    std::array<unsigned char, salt_bytes> salt{};
    std::array<unsigned char, 32> hash{};

    // With a new salt.
    static password_hash of(std::string_view password);
    // "pbkdf2-sha256$ITERATIONS$SALT$HASH", both in base64url; nullopt for anything else.
    static std::optional<password_hash> parse(std::string_view text);
    std::string text() const;

    // Whether it is of that password. The time it takes says nothing of either.
    bool is_of(std::string_view password) const;
};

}  // namespace pillion::crypto
