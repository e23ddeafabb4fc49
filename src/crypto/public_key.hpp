// public_key: keys that verify signatures of tokens: RSA (RSASSA-PKCS1-v1_5, RFC 8017 §8.2) and
// ECDSA on P-256 (FIPS 186-4), both with SHA-256; and shared secrets for HMAC-SHA-256.
//
// Thread: one at a time; a key remembers tables of its curve.
#pragma once

#include <memory>
#include <string_view>

namespace pillion::crypto {

class public_key {
 public:
    virtual ~public_key() = default;
    public_key(const public_key&) = delete;
    public_key& operator=(const public_key&) = delete;

    // Whether `signature` is one of `text` by this key: for RSA as long as the modulus, for ECDSA
    // r and s of 32 bytes each (RFC 7518 §3.4), for HMAC 32 bytes.
    virtual bool verify(std::string_view text, std::string_view signature) = 0;

    // Modulus and exponent, big endian. Null unless the modulus has 2048 to 8192 bits, and the
    // exponent is odd and above 2.
    static std::unique_ptr<public_key> rsa(std::string_view modulus, std::string_view exponent);
    // A point of P-256, 32 bytes a coordinate. Null when it is none.
    static std::unique_ptr<public_key> p256(std::string_view x, std::string_view y);
    // A secret of at least 32 bytes (RFC 7518 §3.2); null for a shorter one. Wiped with the key.
    static std::unique_ptr<public_key> hmac(std::string_view secret);

 protected:
    public_key() = default;
};

// Whether two texts are the same, in a time that depends on their sizes only.
bool same_secret(std::string_view a, std::string_view b) noexcept;

}  // namespace pillion::crypto
