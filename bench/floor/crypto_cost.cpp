// What Mbed TLS's arithmetic costs here, in µs as JSON: the floor under a server that uses it.
// Records of 16 KiB are sealed, a digest is signed on P-256, keys are exchanged (a new key, and the
// secret shared with another's), with the tables of curves kept, as the fastest server would.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <vector>

#include <mbedtls/cipher.h>
#include <mbedtls/ecdh.h>
#include <mbedtls/ecdsa.h>

#include "crypto/mbedtls_compat.hpp"

namespace {

using pillion::crypto::compat::random;
constexpr std::size_t record_bytes = 16 * 1024;

void must(int failed) {
    if (failed != 0) {
        std::fprintf(stderr, "crypto-cost: Mbed TLS says -0x%04x\n",
                     static_cast<unsigned>(-failed));
        std::exit(1);
    }
}

// Time of the processor, as that of servers is measured.
double used_us() {
    timespec used{};
    must(::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used));
    return static_cast<double>(used.tv_sec) * 1e6 + static_cast<double>(used.tv_nsec) / 1e3;
}

// The median of some runs of 20 ms.
double cost_us(const std::function<void()>& once) {
    std::vector<double> runs;
    for (int run = 0; run < 5; ++run) {
        const double begin_us = used_us();
        double us = 0;
        long count = 0;
        do {
            once();
            ++count;
            us = used_us() - begin_us;
        } while (us < 20'000);
        runs.push_back(us / static_cast<double>(count));
    }
    std::sort(runs.begin(), runs.end());
    return runs[runs.size() / 2];
}

double seal_us(mbedtls_cipher_type_t type, int key_bits) {
    mbedtls_cipher_context_t cipher;
    mbedtls_cipher_init(&cipher);
    must(mbedtls_cipher_setup(&cipher, mbedtls_cipher_info_from_type(type)));
    const unsigned char key[32] = {1};
    must(mbedtls_cipher_setkey(&cipher, key, key_bits, MBEDTLS_ENCRYPT));
    std::vector<unsigned char> plain(record_bytes);
    std::vector<unsigned char> sealed(record_bytes + 64);
    const unsigned char nonce[12] = {};
    const unsigned char bound[13] = {};
    const double us = cost_us([&] {
        std::size_t size = 0;
        must(mbedtls_cipher_auth_encrypt_ext(&cipher, nonce, sizeof nonce, bound, sizeof bound,
                                             plain.data(), plain.size(), sealed.data(),
                                             sealed.size(), &size, 16));
    });
    mbedtls_cipher_free(&cipher);
    return us;
}

struct exchange {
    mbedtls_ecp_group group;
    mbedtls_mpi secret;
    mbedtls_mpi shared;
    mbedtls_ecp_point point;
    explicit exchange(mbedtls_ecp_group_id id) {
        mbedtls_ecp_group_init(&group);
        mbedtls_mpi_init(&secret);
        mbedtls_mpi_init(&shared);
        mbedtls_ecp_point_init(&point);
        must(mbedtls_ecp_group_load(&group, id));
    }
    ~exchange() {
        mbedtls_ecp_point_free(&point);
        mbedtls_mpi_free(&shared);
        mbedtls_mpi_free(&secret);
        mbedtls_ecp_group_free(&group);
    }
    double us() {
        return cost_us([this] {
            must(mbedtls_ecdh_gen_public(&group, &secret, &point, &random, nullptr));
            must(mbedtls_ecdh_compute_shared(&group, &shared, &point, &secret, &random, nullptr));
        });
    }
};

double sign_us() {
    exchange key(MBEDTLS_ECP_DP_SECP256R1);
    must(mbedtls_ecp_gen_keypair(&key.group, &key.secret, &key.point, &random, nullptr));
    mbedtls_mpi r;
    mbedtls_mpi s;
    mbedtls_mpi_init(&r);
    mbedtls_mpi_init(&s);
    const unsigned char digest[32] = {7};
    const double us = cost_us([&] {
        must(mbedtls_ecdsa_sign(&key.group, &r, &s, &key.secret, digest, sizeof digest, &random,
                                nullptr));
    });
    mbedtls_mpi_free(&s);
    mbedtls_mpi_free(&r);
    return us;
}

}  // namespace

int main() {
    if (!pillion::crypto::compat::start_library()) {
        return 1;
    }
    std::printf(
        "{\"library\":\"%s\",\"record_bytes\":%zu,\"aes_128_gcm_us\":%.2f,"
        "\"chacha20_poly1305_us\":%.2f,\"sign_us\":%.1f,\"ecdhe_p256_us\":%.1f,"
        "\"ecdhe_x25519_us\":%.1f}\n",
        MBEDTLS_VERSION_STRING, record_bytes, seal_us(MBEDTLS_CIPHER_AES_128_GCM, 128),
        seal_us(MBEDTLS_CIPHER_CHACHA20_POLY1305, 256), sign_us(),
        exchange(MBEDTLS_ECP_DP_SECP256R1).us(), exchange(MBEDTLS_ECP_DP_CURVE25519).us());
    return 0;
}
