#include "crypto/public_key.hpp"

#include <array>
#include <cstring>
#include <string>

#include <mbedtls/ecdsa.h>
#include <mbedtls/md.h>
#include <mbedtls/pk.h>
#include <mbedtls/platform_util.h>
#include <mbedtls/rsa.h>

#include "crypto/key_ring.hpp"

namespace pillion::crypto {

namespace {

constexpr std::size_t rsa_bytes_min = 256;
constexpr std::size_t rsa_bytes_max = 1024;
constexpr std::size_t exponent_bytes_max = 8;
constexpr std::size_t coordinate_bytes = 32;
constexpr std::size_t hmac_secret_bytes_min = 32;

const unsigned char* bytes(std::string_view text) noexcept {
    return reinterpret_cast<const unsigned char*>(text.data());
}

std::string_view without_zeros(std::string_view number) noexcept {
    const std::size_t first = number.find_first_not_of('\0');
    return first == number.npos ? std::string_view() : number.substr(first);
}

class rsa_key final : public public_key {
 public:
    rsa_key() { mbedtls_pk_init(&key_); }
    ~rsa_key() override { mbedtls_pk_free(&key_); }

    bool read(std::string_view modulus, std::string_view exponent) {
        modulus = without_zeros(modulus);
        exponent = without_zeros(exponent);
        const bool plausible = modulus.size() >= rsa_bytes_min && modulus.size() <= rsa_bytes_max &&
                               !exponent.empty() && exponent.size() <= exponent_bytes_max &&
                               (exponent.back() & 1) != 0 &&
                               exponent != std::string_view("\x01", 1);
        if (!plausible || mbedtls_pk_setup(&key_, mbedtls_pk_info_from_type(MBEDTLS_PK_RSA)) != 0) {
            return false;
        }
        mbedtls_rsa_context* const rsa = mbedtls_pk_rsa(key_);
        return mbedtls_rsa_import_raw(rsa, bytes(modulus), modulus.size(), nullptr, 0, nullptr, 0,
                                      nullptr, 0, bytes(exponent), exponent.size()) == 0 &&
               mbedtls_rsa_complete(rsa) == 0 && mbedtls_rsa_check_pubkey(rsa) == 0 &&
               mbedtls_rsa_get_len(rsa) >= rsa_bytes_min;
    }
    bool verify(std::string_view text, std::string_view signature) override {
        const auto hash = sha256(text);
        return signature.size() == mbedtls_rsa_get_len(mbedtls_pk_rsa(key_)) &&
               mbedtls_pk_verify(&key_, MBEDTLS_MD_SHA256, hash.data(), hash.size(),
                                 bytes(signature), signature.size()) == 0;
    }

 private:
    mbedtls_pk_context key_;
};

class p256_key final : public public_key {
 public:
    p256_key() {
        mbedtls_ecp_group_init(&group_);
        mbedtls_ecp_point_init(&point_);
        mbedtls_mpi_init(&r_);
        mbedtls_mpi_init(&s_);
    }
    ~p256_key() override {
        mbedtls_mpi_free(&s_);
        mbedtls_mpi_free(&r_);
        mbedtls_ecp_point_free(&point_);
        mbedtls_ecp_group_free(&group_);
    }

    bool read(std::string_view x, std::string_view y) {
        if (x.size() != coordinate_bytes || y.size() != coordinate_bytes ||
            mbedtls_ecp_group_load(&group_, MBEDTLS_ECP_DP_SECP256R1) != 0) {
            return false;
        }
        // SEC 1 §2.3.4, uncompressed.
        std::string point("\x04");
        point.append(x).append(y);
        return mbedtls_ecp_point_read_binary(&group_, &point_, bytes(point), point.size()) == 0 &&
               mbedtls_ecp_check_pubkey(&group_, &point_) == 0;
    }
    bool verify(std::string_view text, std::string_view signature) override {
        if (signature.size() != 2 * coordinate_bytes ||
            mbedtls_mpi_read_binary(&r_, bytes(signature), coordinate_bytes) != 0 ||
            mbedtls_mpi_read_binary(&s_, bytes(signature) + coordinate_bytes, coordinate_bytes) !=
                0) {
            return false;
        }
        const auto hash = sha256(text);
        return mbedtls_ecdsa_verify(&group_, hash.data(), hash.size(), &point_, &r_, &s_) == 0;
    }

 private:
    mbedtls_ecp_group group_;
    mbedtls_ecp_point point_;
    mbedtls_mpi r_;
    mbedtls_mpi s_;
};

class hmac_key final : public public_key {
 public:
    explicit hmac_key(std::string_view secret) : secret_(secret) {}
    ~hmac_key() override { mbedtls_platform_zeroize(secret_.data(), secret_.size()); }

    bool verify(std::string_view text, std::string_view signature) override {
        std::array<unsigned char, 32> expected{};
        const bool made =
            mbedtls_md_hmac(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), bytes(secret_),
                            secret_.size(), bytes(text), text.size(), expected.data()) == 0;
        return made &&
               same_secret({reinterpret_cast<const char*>(expected.data()), expected.size()},
                           signature);
    }

 private:
    std::string secret_;
};

}  // namespace

std::unique_ptr<public_key> public_key::rsa(std::string_view modulus, std::string_view exponent) {
    auto made = std::make_unique<rsa_key>();
    return made->read(modulus, exponent) ? std::unique_ptr<public_key>(std::move(made)) : nullptr;
}

std::unique_ptr<public_key> public_key::p256(std::string_view x, std::string_view y) {
    auto made = std::make_unique<p256_key>();
    return made->read(x, y) ? std::unique_ptr<public_key>(std::move(made)) : nullptr;
}

std::unique_ptr<public_key> public_key::hmac(std::string_view secret) {
    return secret.size() >= hmac_secret_bytes_min ? std::make_unique<hmac_key>(secret) : nullptr;
}

bool same_secret(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size()) {
        return false;
    }
    unsigned char different = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        different = static_cast<unsigned char>(different | (a[i] ^ b[i]));
    }
    // The compiler must not see what the loop is for.
    asm volatile("" : "+r"(different));
    return different == 0;
}

}  // namespace pillion::crypto
