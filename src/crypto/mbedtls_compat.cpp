#include "crypto/mbedtls_compat.hpp"

#if MBEDTLS_VERSION_NUMBER < 0x03000000
#include <mbedtls/ssl_internal.h>
#endif

namespace pillion::crypto::compat {

#if MBEDTLS_VERSION_NUMBER >= 0x03000000

int handshake(mbedtls_ssl_context& of) noexcept { return mbedtls_ssl_handshake(&of); }

int handshake_random(void* none, unsigned char* to, std::size_t bytes) noexcept {
    return random(none, to, bytes);
}

#else

namespace {

// P-256 with the table of its generator, which the first multiplication leaves behind.
class p256_table {
 public:
    p256_table() noexcept {
        mbedtls_ecp_group_init(&group_);
        mbedtls_mpi one;
        mbedtls_mpi_init(&one);
        mbedtls_ecp_point ignored;
        mbedtls_ecp_point_init(&ignored);
        // Where memory runs out there is no table, and each exchange computes its own.
        if (mbedtls_ecp_group_load(&group_, MBEDTLS_ECP_DP_SECP256R1) == 0 &&
            mbedtls_mpi_lset(&one, 1) == 0) {
            static_cast<void>(
                mbedtls_ecp_mul(&group_, &ignored, &one, &group_.G, &random, nullptr));
        }
        mbedtls_ecp_point_free(&ignored);
        mbedtls_mpi_free(&one);
    }
    p256_table(const p256_table&) = delete;
    p256_table& operator=(const p256_table&) = delete;
    ~p256_table() { mbedtls_ecp_group_free(&group_); }

    void lend(mbedtls_ecp_group& to) const noexcept {
        to.T = group_.T;
        to.T_size = group_.T_size;
    }
    // Before that group is freed, and its table with it.
    void take_back(mbedtls_ecp_group& from) const noexcept {
        if (from.T == group_.T) {
            from.T = nullptr;
            from.T_size = 0;
        }
    }

 private:
    mbedtls_ecp_group group_;
};

const p256_table& table_of_this_thread() noexcept {
    thread_local const p256_table table;
    return table;
}

mbedtls_ecp_group& group_of(mbedtls_ssl_handshake_params& of) noexcept {
#if defined(MBEDTLS_ECDH_LEGACY_CONTEXT)
    return of.ecdh_ctx.grp;
#else
    return of.ecdh_ctx.ctx.mbed_ecdh.grp;
#endif
}

bool exchanges_keys(const mbedtls_ssl_context& now) noexcept {
    return now.handshake != nullptr && (now.state == MBEDTLS_SSL_SERVER_KEY_EXCHANGE ||
                                        now.state == MBEDTLS_SSL_CLIENT_KEY_EXCHANGE);
}

// The handshake whose step this thread is in.
thread_local mbedtls_ssl_context* at_work = nullptr;

}  // namespace

// A step of the key exchange asks for a random number, the secret key, and multiplies its curve's
// generator with it; no such step frees the curve, so that a table which is taken back after each
// step is never freed with it.
int handshake(mbedtls_ssl_context& of) noexcept {
    int code = 0;
    while (code == 0 && of.state != MBEDTLS_SSL_HANDSHAKE_OVER) {
        at_work = &of;
        code = mbedtls_ssl_handshake_step(&of);
        at_work = nullptr;
        if (of.handshake != nullptr) {
            table_of_this_thread().take_back(group_of(*of.handshake));
        }
    }
    return code;
}

int handshake_random(void* none, unsigned char* to, std::size_t bytes) noexcept {
    if (at_work != nullptr && exchanges_keys(*at_work)) {
        mbedtls_ecp_group& group = group_of(*at_work->handshake);
        if (group.id == MBEDTLS_ECP_DP_SECP256R1 && group.T == nullptr) {
            table_of_this_thread().lend(group);
        }
    }
    return random(none, to, bytes);
}

#endif

}  // namespace pillion::crypto::compat
