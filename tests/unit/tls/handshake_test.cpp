// compat::handshake: both ends in memory, on every group; whose table of the curve is used.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "crypto/mbedtls_compat.hpp"
#include "test_authority.hpp"
#include "tls/context.hpp"
#if MBEDTLS_VERSION_NUMBER < 0x03000000
#include <mbedtls/ssl_internal.h>
#endif

namespace pillion::tls {
namespace {

using testing::authority;
using testing::leaf_options;

// One end, which reads what the other one has written.
struct memory_end {
    mbedtls_ssl_context ssl;
    std::string written;
    memory_end* peer = nullptr;

    memory_end(const context& with, memory_end* other) : peer(other) {
        mbedtls_ssl_init(&ssl);
        EXPECT_EQ(mbedtls_ssl_setup(&ssl, &with.config()), 0);
        mbedtls_ssl_set_bio(&ssl, this, &memory_end::send, &memory_end::receive, nullptr);
    }
    memory_end(const memory_end&) = delete;
    memory_end& operator=(const memory_end&) = delete;
    ~memory_end() { mbedtls_ssl_free(&ssl); }

    static int send(void* self, const unsigned char* from, std::size_t bytes) {
        static_cast<memory_end*>(self)->written.append(reinterpret_cast<const char*>(from), bytes);
        return static_cast<int>(bytes);
    }
    static int receive(void* self, unsigned char* to, std::size_t bytes) {
        std::string& from = static_cast<memory_end*>(self)->peer->written;
        if (from.empty()) {
            return MBEDTLS_ERR_SSL_WANT_READ;
        }
        const std::size_t some = std::min(bytes, from.size());
        std::copy_n(from.begin(), some, to);
        from.erase(0, some);
        return static_cast<int>(some);
    }
};

// A server with a certificate, and a client of it.
struct two_sides {
    two_sides() {
        leaf_options options;
        options.dns = {"localhost"};
        server_files files;
        files.certificates.push_back(authority().issue(options));
        std::string fault;
        int index = 0;
        serving = server_context::make(files, nullptr, fault, index);
        EXPECT_NE(serving, nullptr) << fault;
        client_options calls;
        calls.server_name = "localhost";
        calls.authorities = authority().pem();
        calling = client_context::make(calls, fault);
        EXPECT_NE(calling, nullptr) << fault;
    }
    std::shared_ptr<server_context> serving;
    std::shared_ptr<client_context> calling;
};

TEST(handshake, comes_to_its_end_again_and_again) {
    two_sides both;
    for (int round = 0; round < 3; ++round) {
        memory_end server(*both.serving, nullptr);
        memory_end client(*both.calling, &server);
        server.peer = &client;
        ASSERT_EQ(both.calling->begin(client.ssl), 0);
        int at_client = MBEDTLS_ERR_SSL_WANT_READ;
        int at_server = MBEDTLS_ERR_SSL_WANT_READ;
        for (int turn = 0; turn < 20 && (at_client != 0 || at_server != 0); ++turn) {
            at_client = compat::handshake(client.ssl);
            at_server = compat::handshake(server.ssl);
        }
        EXPECT_EQ(at_client, 0);
        EXPECT_EQ(at_server, 0);
    }
}

#if MBEDTLS_VERSION_NUMBER < 0x03000000

// Behind the server's part of a key exchange. The library leaves the table that it has computed
// with the curve; ours was taken back.
bool has_computed_a_table(bool ours, const mbedtls_ecp_group_id* only = nullptr) {
    two_sides both;
    memory_end server(*both.serving, nullptr);
    memory_end client(*both.calling, &server);
    server.peer = &client;
    EXPECT_EQ(both.calling->begin(client.ssl), 0);
    if (only != nullptr) {
        // The configuration is the test's alone.
        mbedtls_ssl_conf_curves(const_cast<mbedtls_ssl_config*>(&both.serving->config()), only);
    }
    EXPECT_EQ(compat::handshake(client.ssl), MBEDTLS_ERR_SSL_WANT_READ);
    EXPECT_EQ(ours ? compat::handshake(server.ssl) : mbedtls_ssl_handshake(&server.ssl),
              MBEDTLS_ERR_SSL_WANT_READ);
    const mbedtls_ecp_group& group = server.ssl.handshake->ecdh_ctx.grp;
    EXPECT_EQ(group.id, only != nullptr ? only[0] : MBEDTLS_ECP_DP_SECP256R1);
    return group.T != nullptr;
}

TEST(handshake, the_table_of_p256_is_computed_once) {
    EXPECT_TRUE(has_computed_a_table(false));
    EXPECT_FALSE(has_computed_a_table(true));
}

TEST(handshake, other_groups_are_left_alone) {
    const mbedtls_ecp_group_id p384[] = {MBEDTLS_ECP_DP_SECP384R1, MBEDTLS_ECP_DP_NONE};
    EXPECT_TRUE(has_computed_a_table(true, p384));
    const mbedtls_ecp_group_id x25519[] = {MBEDTLS_ECP_DP_CURVE25519, MBEDTLS_ECP_DP_NONE};
    EXPECT_FALSE(has_computed_a_table(true, x25519));  // it needs none
}

#endif

}  // namespace
}  // namespace pillion::tls
