#include "tls/ticket_keys.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pillion::tls {
namespace {

std::int64_t now_s = 0;
std::int64_t clock_ns() { return now_s * 1'000'000'000; }

struct session {
    mbedtls_ssl_session value;
    session() { mbedtls_ssl_session_init(&value); }
    ~session() { mbedtls_ssl_session_free(&value); }
};

class ticket_keys_test : public ::testing::Test {
 protected:
    void SetUp() override {
        now_s = 1000;
        ASSERT_TRUE(compat::start_library());
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
        one.value.MBEDTLS_PRIVATE(tls_version) = MBEDTLS_SSL_VERSION_TLS1_2;
#endif
    }
    std::vector<unsigned char> seal(const std::string& bound = "a") {
        std::vector<unsigned char> ticket(2000);
        std::size_t bytes = 0;
        std::uint32_t lifetime_s = 0;
        EXPECT_EQ(keys.seal(one.value, bound, ticket.data(), ticket.data() + ticket.size(), bytes,
                            lifetime_s),
                  0);
        EXPECT_EQ(lifetime_s, static_cast<std::uint32_t>(ticket_keys::period_s));
        ticket.resize(bytes);
        return ticket;
    }
    int open(std::vector<unsigned char> ticket, const std::string& bound = "a") {
        session to;
        return keys.open(to.value, bound, ticket.data(), ticket.size());
    }
    ticket_keys keys{&clock_ns};
    session one;
};

TEST_F(ticket_keys_test, opens_what_it_sealed_for_the_same) {
    const auto ticket = seal();
    EXPECT_EQ(open(ticket), 0);
    EXPECT_EQ(open(ticket), 0);
    EXPECT_EQ(open(ticket, "b"), MBEDTLS_ERR_SSL_INVALID_MAC);
    EXPECT_NE(ticket, seal());
}

TEST_F(ticket_keys_test, no_bit_and_no_byte_may_differ) {
    const auto ticket = seal();
    for (std::size_t i = 0; i < ticket.size(); ++i) {
        auto other = ticket;
        other[i] ^= static_cast<unsigned char>(1 << (i % 8));
        EXPECT_NE(open(other), 0) << i;
        EXPECT_NE(open({ticket.begin(), ticket.begin() + static_cast<std::ptrdiff_t>(i)}), 0) << i;
    }
}

TEST_F(ticket_keys_test, another_server_opens_nothing) {
    const auto ticket = seal();
    ticket_keys other(&clock_ns);
    session to;
    auto copy = ticket;
    EXPECT_NE(other.open(to.value, "a", copy.data(), copy.size()), 0);
}

TEST_F(ticket_keys_test, tickets_run_out_and_keys_change) {
    const auto first = seal();
    now_s += ticket_keys::period_s - 1;
    EXPECT_EQ(open(first), 0);
    const auto late = seal();  // by the same key
    now_s += 1;
    EXPECT_EQ(open(first), MBEDTLS_ERR_SSL_SESSION_TICKET_EXPIRED);
    EXPECT_EQ(open(late), 0);
    const auto second = seal();  // by the next one
    EXPECT_EQ(open(late), 0);
    EXPECT_EQ(open(second), 0);
    now_s += ticket_keys::period_s;
    static_cast<void>(seal());
    EXPECT_NE(open(late), 0);
    now_s += 10 * ticket_keys::period_s;
    EXPECT_NE(open(second), 0);
    EXPECT_EQ(open(seal()), 0);
}

TEST_F(ticket_keys_test, says_when_there_is_no_room) {
    unsigned char little[40];
    std::size_t bytes = 0;
    std::uint32_t lifetime_s = 0;
    for (std::size_t room = 0; room <= sizeof little; ++room) {
        EXPECT_NE(keys.seal(one.value, "a", little, little + room, bytes, lifetime_s), 0) << room;
    }
}

}  // namespace
}  // namespace pillion::tls
