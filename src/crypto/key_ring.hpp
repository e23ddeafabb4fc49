// key_ring: secret keys that seal small texts for a trip through a client: nobody else can read or
// change them, and each is bound to a context that must be the same when it comes back.
//
// AES-256-GCM with a key of its own per text: HMAC-SHA-256 of a random 16-byte salt under the
// ring's key, so that no nonce is ever used twice (NIST SP 800-38D §8). The first key of a ring
// seals, all of them open: a new key goes in front, an old one leaves when what it sealed has
// expired.
//
// Thread-safety: immutable. Keys are wiped when the ring is destroyed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.hpp"
#include "base/wipe.hpp"

namespace pillion::crypto {

class key_ring {
 public:
    static constexpr std::size_t key_bytes = 32;

    // One new random key.
    static std::unique_ptr<key_ring> random();
    // Keys as text, one per line: 32 bytes in base64 or 64 hexadecimal digits. Empty lines and
    // those that begin with '#' are skipped. Null with a fault that names the line and nothing of
    // it.
    static std::unique_ptr<key_ring> parse(std::string_view text, std::string& fault);

    key_ring(const key_ring&) = delete;
    key_ring& operator=(const key_ring&) = delete;
    ~key_ring();

    // `plain` as URL-safe text in `memory`; it opens with the same `bound` only.
    std::string_view seal(std::string_view plain, std::string_view bound,
                          base::arena& memory) const;
    // What was sealed; nullopt for anything that no key of this ring sealed for `bound`.
    std::optional<std::string_view> open(std::string_view text, std::string_view bound,
                                         base::arena& memory) const;

    std::size_t keys() const noexcept { return keys_.size(); }

 private:
    using key = std::array<unsigned char, key_bytes>;
    key_ring() = default;

    std::vector<key> keys_;
};

using base::wipe;

// SHA-256 of `bytes`.
std::array<unsigned char, 32> sha256(std::string_view bytes) noexcept;

}  // namespace pillion::crypto
