// signing_key: keys that sign tokens: ECDSA on P-256 (ES256), RSA (RS256), and secrets (HS256, for
// development). The server verifies and never signs; this is for `pillion token`, and for tests.
//
// Thread: one at a time. The key is wiped when it goes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "crypto/mbedtls_compat.hpp"

namespace pillion::crypto {

class signing_key {
 public:
    // New ones. RSA of 2048 bits takes a second.
    static std::unique_ptr<signing_key> new_p256();
    static std::unique_ptr<signing_key> new_rsa();
    static std::unique_ptr<signing_key> new_secret();
    // One in PEM, without password; or a secret of 32 bytes or more in base64url, alone on its
    // line. Null with a fault that says nothing of the key.
    static std::unique_ptr<signing_key> read(const std::string& pem, std::string& fault);

    signing_key(const signing_key&) = delete;
    signing_key& operator=(const signing_key&) = delete;
    ~signing_key();

    // "ES256", "RS256" or "HS256".
    const char* algorithm() const noexcept {
        return is_secret() ? "HS256" : is_rsa_ ? "RS256" : "ES256";
    }
    // Whether the key that verifies is the one that signs.
    bool is_secret() const noexcept { return !secret_.empty(); }
    // As tokens have it: r and s of 32 bytes each, the number of RSA, or 32 bytes of HMAC (RFC 7518
    // §3.2 to §3.4).
    std::string sign(std::string_view text);
    // The private key as read() takes it; the caller wipes it.
    std::string pem();
    // The public key, or the secret, as a JSON Web Key (RFC 7517) of that id, which must need no
    // escapes.
    std::string jwk(std::string_view id);

 private:
    signing_key() noexcept { mbedtls_pk_init(&key_); }

    mbedtls_pk_context key_;
    bool is_rsa_ = false;
    std::string secret_;  // of HS256, else empty
};

}  // namespace pillion::crypto
