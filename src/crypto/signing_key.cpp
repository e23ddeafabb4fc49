#include "crypto/signing_key.hpp"

#include <cstring>
#include <utility>
#include <vector>

#include <mbedtls/asn1.h>
#include <mbedtls/ecp.h>
#include <mbedtls/md.h>
#include <mbedtls/rsa.h>

#include "base/assert.hpp"
#include "base/random.hpp"
#include "crypto/base64url.hpp"
#include "crypto/key_ring.hpp"

namespace pillion::crypto {

namespace {

constexpr unsigned rsa_bits = 2048;
constexpr int rsa_exponent = 65537;
constexpr std::size_t p256_bytes = 32;
constexpr std::size_t secret_bytes_min = 32;  // RFC 7518 §3.2

void must(int failed) { PILLION_ASSERT(failed == 0); }

// One of the two numbers of an ECDSA signature in DER (RFC 3279 §2.2.3), as 32 bytes.
std::string next_number(unsigned char*& at, const unsigned char* end) {
    mbedtls_mpi number;
    mbedtls_mpi_init(&number);
    must(mbedtls_asn1_get_mpi(&at, end, &number));
    std::string bytes(p256_bytes, '\0');
    must(mbedtls_mpi_write_binary(&number, reinterpret_cast<unsigned char*>(bytes.data()),
                                  bytes.size()));
    mbedtls_mpi_free(&number);
    return bytes;
}

// The secret of a text that holds one alone; empty for anything else.
std::string read_secret(std::string_view text) {
    if (text.ends_with('\n')) {
        text.remove_suffix(1);
    }
    auto secret = from_base64url(text);
    const bool good = secret && secret->size() >= secret_bytes_min;
    if (secret && !good) {
        wipe(secret->data(), secret->size());
    }
    return good ? std::move(*secret) : std::string();
}

}  // namespace

signing_key::~signing_key() {
    mbedtls_pk_free(&key_);
    wipe(secret_.data(), secret_.size());
}

std::unique_ptr<signing_key> signing_key::new_p256() {
    PILLION_ASSERT(compat::start_library());
    std::unique_ptr<signing_key> made(new signing_key);
    must(mbedtls_pk_setup(&made->key_, mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY)));
    must(mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, mbedtls_pk_ec(made->key_), &compat::random,
                             nullptr));
    return made;
}

std::unique_ptr<signing_key> signing_key::new_rsa() {
    PILLION_ASSERT(compat::start_library());
    std::unique_ptr<signing_key> made(new signing_key);
    made->is_rsa_ = true;
    must(mbedtls_pk_setup(&made->key_, mbedtls_pk_info_from_type(MBEDTLS_PK_RSA)));
    must(mbedtls_rsa_gen_key(mbedtls_pk_rsa(made->key_), &compat::random, nullptr, rsa_bits,
                             rsa_exponent));
    return made;
}

std::unique_ptr<signing_key> signing_key::new_secret() {
    std::unique_ptr<signing_key> made(new signing_key);
    made->secret_.resize(secret_bytes_min);
    base::os_random(made->secret_.data(), made->secret_.size());
    return made;
}

std::unique_ptr<signing_key> signing_key::read(const std::string& pem, std::string& fault) {
    PILLION_ASSERT(compat::start_library());
    std::unique_ptr<signing_key> made(new signing_key);
    made->secret_ = read_secret(pem);
    if (made->is_secret()) {
        return made;
    }
    if (compat::parse_key(made->key_, reinterpret_cast<const unsigned char*>(pem.c_str()),
                          pem.size() + 1) != 0) {
        fault = "no private key in PEM without password";
        return nullptr;
    }
    made->is_rsa_ = mbedtls_pk_get_type(&made->key_) == MBEDTLS_PK_RSA;
    const bool usable = made->is_rsa_ ? mbedtls_pk_get_bitlen(&made->key_) >= rsa_bits
                                      : compat::is_p256(made->key_);
    if (!usable) {
        fault = "neither a key of P-256 nor of RSA with 2048 bits or more";
        return nullptr;
    }
    return made;
}

std::string signing_key::sign(std::string_view text) {
    if (is_secret()) {
        std::string made(32, '\0');
        must(mbedtls_md_hmac(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256),
                             reinterpret_cast<const unsigned char*>(secret_.data()), secret_.size(),
                             reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                             reinterpret_cast<unsigned char*>(made.data())));
        return made;
    }
    const auto digest = sha256(text);
    unsigned char signature[1024];
    std::size_t size = 0;
    must(compat::sign_digest(key_, digest.data(), signature, sizeof signature, size));
    if (is_rsa_) {
        return {reinterpret_cast<const char*>(signature), size};
    }
    unsigned char* at = signature;
    std::size_t length = 0;
    must(mbedtls_asn1_get_tag(&at, signature + size, &length,
                              MBEDTLS_ASN1_CONSTRUCTED | MBEDTLS_ASN1_SEQUENCE));
    const std::string r = next_number(at, signature + size);
    return r + next_number(at, signature + size);
}

std::string signing_key::pem() {
    if (is_secret()) {
        return to_base64url(secret_) + "\n";
    }
    std::vector<unsigned char> text(8192);
    must(mbedtls_pk_write_key_pem(&key_, text.data(), text.size()));
    std::string out(reinterpret_cast<const char*>(text.data()));
    wipe(text.data(), text.size());
    return out;
}

std::string signing_key::jwk(std::string_view id) {
    std::string out = "{\"kty\":\"";
    if (is_secret()) {
        out += "oct\",\"k\":\"" + to_base64url(secret_);
    } else if (is_rsa_) {
        mbedtls_rsa_context* const rsa = mbedtls_pk_rsa(key_);
        std::string modulus(mbedtls_rsa_get_len(rsa), '\0');
        unsigned char exponent[4];
        must(mbedtls_rsa_export_raw(rsa, reinterpret_cast<unsigned char*>(modulus.data()),
                                    modulus.size(), nullptr, 0, nullptr, 0, nullptr, 0, exponent,
                                    sizeof exponent));
        const std::string_view e(reinterpret_cast<const char*>(exponent), sizeof exponent);
        out += "RSA\",\"n\":\"" + to_base64url(modulus) + "\",\"e\":\"" +
               to_base64url(e.substr(e.find_first_not_of('\0')));
    } else {
        // The last bytes of the public key in DER are its point: 0x04, x, y (RFC 5480 §2.2).
        unsigned char der[256];
        const int size = mbedtls_pk_write_pubkey_der(&key_, der, sizeof der);
        PILLION_ASSERT(size > static_cast<int>(2 * p256_bytes));
        const std::string_view all(reinterpret_cast<const char*>(der), sizeof der);
        out += "EC\",\"crv\":\"P-256\",\"x\":\"" +
               to_base64url(all.substr(all.size() - 2 * p256_bytes, p256_bytes)) + "\",\"y\":\"" +
               to_base64url(all.substr(all.size() - p256_bytes));
    }
    out += "\",\"use\":\"sig\",\"alg\":\"";
    out += algorithm();
    out += "\",\"kid\":\"";
    out += id;
    return out + "\"}";
}

}  // namespace pillion::crypto
