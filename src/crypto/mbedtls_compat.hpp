// mbedtls_compat: what differs between Mbed TLS 2.28 and 3.6, here and nowhere else.
//
// Thread-safety: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <mbedtls/ecdsa.h>
#include <mbedtls/error.h>
#include <mbedtls/pk.h>
#include <mbedtls/pkcs5.h>
#include <mbedtls/ssl.h>
#include <mbedtls/version.h>
#include <mbedtls/x509_crt.h>
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
#include <psa/crypto.h>
#endif

#include "base/random.hpp"

namespace pillion::crypto::compat {

#if MBEDTLS_VERSION_NUMBER >= 0x03000000
inline constexpr bool version3 = true;
#else
inline constexpr bool version3 = false;
#endif

// The library's source of randomness: the system's. It has no state that threads would share.
inline int random(void*, unsigned char* to, std::size_t bytes) noexcept {
    base::os_random(to, bytes);
    return 0;
}

// Before anything else of the library; costs nothing when it was called before.
inline bool start_library() noexcept {
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
    return psa_crypto_init() == PSA_SUCCESS;
#else
    return true;
#endif
}

// A private key from PEM (`bytes` counts the closing NUL) or DER, without password.
inline int parse_key(mbedtls_pk_context& to, const unsigned char* text,
                     std::size_t bytes) noexcept {
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
    return mbedtls_pk_parse_key(&to, text, bytes, nullptr, 0, &random, nullptr);
#else
    return mbedtls_pk_parse_key(&to, text, bytes, nullptr, 0);
#endif
}

// 2.28 copies a key of the general kind for each signature, and with it computes the table of its
// curve anew, which is a third of the work; a key that is for signatures only keeps its table.
// (3.6 has these tables as constants.) Returns an error of the library, or 0.
inline int prepare_signatures(mbedtls_pk_context& key) noexcept {
#if MBEDTLS_VERSION_NUMBER < 0x03000000
    if (mbedtls_pk_get_type(&key) == MBEDTLS_PK_ECKEY) {
        mbedtls_pk_context signing;
        mbedtls_pk_init(&signing);
        int failed = mbedtls_pk_setup(&signing, mbedtls_pk_info_from_type(MBEDTLS_PK_ECDSA));
        if (failed == 0) {
            failed = mbedtls_ecdsa_from_keypair(mbedtls_pk_ec(signing), mbedtls_pk_ec(key));
        }
        mbedtls_pk_free(failed == 0 ? &key : &signing);
        if (failed == 0) {
            key = signing;
        }
        return failed;
    }
#endif
    static_cast<void>(key);
    return 0;
}

// Whether it is a key of P-256; of no other curve of its size.
inline bool is_p256(const mbedtls_pk_context& key) noexcept {
    if (mbedtls_pk_can_do(&key, MBEDTLS_PK_ECDSA) == 0) {
        return false;
    }
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
    return mbedtls_ecp_keypair_get_group_id(mbedtls_pk_ec(key)) == MBEDTLS_ECP_DP_SECP256R1;
#else
    return mbedtls_pk_ec(key)->grp.id == MBEDTLS_ECP_DP_SECP256R1;
#endif
}

// A signature of a SHA-256 digest; the library's error, or 0.
inline int sign_digest(mbedtls_pk_context& by, const unsigned char* digest, unsigned char* to,
                       std::size_t room, std::size_t& bytes) noexcept {
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
    return mbedtls_pk_sign(&by, MBEDTLS_MD_SHA256, digest, 32, to, room, &bytes, &random, nullptr);
#else
    static_cast<void>(room);
    return mbedtls_pk_sign(&by, MBEDTLS_MD_SHA256, digest, 32, to, &bytes, &random, nullptr);
#endif
}

// PBKDF2 with HMAC-SHA-256; the library's error, or 0.
inline int pbkdf2_sha256(std::string_view password, std::string_view salt, unsigned iterations,
                         unsigned char* to, std::size_t bytes) noexcept {
    const auto* const secret = reinterpret_cast<const unsigned char*>(password.data());
    const auto* const grains = reinterpret_cast<const unsigned char*>(salt.data());
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
    return mbedtls_pkcs5_pbkdf2_hmac_ext(MBEDTLS_MD_SHA256, secret, password.size(), grains,
                                         salt.size(), iterations, static_cast<std::uint32_t>(bytes),
                                         to);
#else
    mbedtls_md_context_t hmac;
    mbedtls_md_init(&hmac);
    int failed = mbedtls_md_setup(&hmac, mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), 1);
    if (failed == 0) {
        failed = mbedtls_pkcs5_pbkdf2_hmac(&hmac, secret, password.size(), grains, salt.size(),
                                           iterations, static_cast<std::uint32_t>(bytes), to);
    }
    mbedtls_md_free(&hmac);
    return failed;
#endif
}

// Whether a certificate's public key belongs to a private one.
inline bool is_pair(mbedtls_x509_crt& of, mbedtls_pk_context& key) noexcept {
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
    return mbedtls_pk_check_pair(&of.pk, &key, &random, nullptr) == 0;
#else
    return mbedtls_pk_check_pair(&of.pk, &key) == 0;
#endif
}

// TLS 1.2 at least, and the groups of a key exchange, the cheapest of the usual ones first.
inline void set_versions_and_groups(mbedtls_ssl_config& to) noexcept {
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
    static constexpr std::uint16_t groups[] = {
        MBEDTLS_SSL_IANA_TLS_GROUP_SECP256R1, MBEDTLS_SSL_IANA_TLS_GROUP_X25519,
        MBEDTLS_SSL_IANA_TLS_GROUP_SECP384R1, MBEDTLS_SSL_IANA_TLS_GROUP_NONE};
    mbedtls_ssl_conf_min_tls_version(&to, MBEDTLS_SSL_VERSION_TLS1_2);
    mbedtls_ssl_conf_groups(&to, groups);
#else
    static constexpr mbedtls_ecp_group_id groups[] = {
        MBEDTLS_ECP_DP_SECP256R1, MBEDTLS_ECP_DP_CURVE25519, MBEDTLS_ECP_DP_SECP384R1,
        MBEDTLS_ECP_DP_NONE};
    mbedtls_ssl_conf_min_version(&to, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
    mbedtls_ssl_conf_curves(&to, groups);
#endif
}

// Goes on with a handshake as mbedtls_ssl_handshake() does, at either end. 2.28 loads the curve of
// a key exchange anew for each one and computes a table of it, a third of the work on P-256; here
// each thread computes that table once and lends it. (3.6 has it as a constant.) REQUIRES: the
// source of randomness of its configuration is handshake_random(), with no state.
int handshake(mbedtls_ssl_context& of) noexcept;
int handshake_random(void*, unsigned char* to, std::size_t bytes) noexcept;

// TLS 1.3 tells a client of a new ticket by an error of the next read; that must be asked for.
inline void announce_tickets(mbedtls_ssl_config& to) noexcept {
#if MBEDTLS_VERSION_NUMBER >= 0x03060100 && defined(MBEDTLS_SSL_PROTO_TLS1_3)
    mbedtls_ssl_conf_tls13_enable_signal_new_session_tickets(
        &to, MBEDTLS_SSL_TLS1_3_SIGNAL_NEW_SESSION_TICKETS_ENABLED);
#else
    static_cast<void>(to);
#endif
}

// Whether a handshake that is over has brought what it takes to resume its session. In TLS 1.3 that
// is a message of its own.
inline bool brought_session(const mbedtls_ssl_context& of) noexcept {
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
    return mbedtls_ssl_get_version_number(&of) == MBEDTLS_SSL_VERSION_TLS1_2;
#else
    static_cast<void>(of);
    return true;
#endif
}

// Reads plain text. A ticket of TLS 1.3 makes the library say that it wants to read while it has
// the whole message and wants to be called again.
inline int read(mbedtls_ssl_context& from, unsigned char* to, std::size_t bytes) noexcept {
    const int got = mbedtls_ssl_read(&from, to, bytes);
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
    if (got == MBEDTLS_ERR_SSL_WANT_READ && mbedtls_ssl_check_pending(&from) != 0) {
        return mbedtls_ssl_read(&from, to, bytes);
    }
#endif
    return got;
}

// Whether a handshake's or a read's error says just that.
inline bool is_new_ticket(int code) noexcept {
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
    return code == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET;
#else
    static_cast<void>(code);
    return false;
#endif
}

// The memory that a connection's records pass through.
struct record_buffers {
    unsigned char* in;
    unsigned char* out;
    bool used;  // one of them holds a part of a record, or of a message
};

inline record_buffers buffers_of(const mbedtls_ssl_context& of) noexcept {
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
    const bool used = of.MBEDTLS_PRIVATE(in_left) != 0 || of.MBEDTLS_PRIVATE(in_offt) != nullptr ||
                      of.MBEDTLS_PRIVATE(in_hslen) != 0 || of.MBEDTLS_PRIVATE(out_left) != 0;
    return {of.MBEDTLS_PRIVATE(in_buf), of.MBEDTLS_PRIVATE(out_buf), used};
#else
    const bool used =
        of.in_left != 0 || of.in_offt != nullptr || of.in_hslen != 0 || of.out_left != 0;
    return {of.in_buf, of.out_buf, used};
#endif
}

}  // namespace pillion::crypto::compat

namespace pillion::tls {
namespace compat = crypto::compat;
}
