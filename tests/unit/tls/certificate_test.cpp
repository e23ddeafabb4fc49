#include <gtest/gtest.h>

#include "test_authority.hpp"

namespace pillion::tls {
namespace {

using testing::leaf_options;
using testing::test_authority;

// The certificate of `options`, read as a peer's.
struct read_back {
    explicit read_back(const leaf_options& options) {
        test_authority authority;
        std::string fault;
        EXPECT_TRUE(list.add(authority.issue(options).chain, false, fault)) << fault;
    }
    certificate_list list;
};

std::string identity(const leaf_options& options) {
    read_back one(options);
    return identity_of(*one.list.get());
}

TEST(certificate, reads_pairs_and_says_what_is_wrong_with_others) {
    test_authority authority;
    certificate_text good = authority.issue();
    std::string fault;
    EXPECT_NE(certificate::make(good, fault), nullptr) << fault;
    const auto fault_of = [&](const std::string& chain, const std::string& key) {
        std::string why;
        EXPECT_EQ(certificate::make(certificate_text(chain, key), why), nullptr);
        EXPECT_EQ(why.find("PRIVATE"), why.npos);
        return why;
    };
    EXPECT_NE(fault_of("", good.key).find("holds no certificate"), std::string::npos);
    EXPECT_NE(fault_of("rubbish", good.key).find("holds no certificate"), std::string::npos);
    EXPECT_NE(fault_of(good.chain, "").find("holds no private key"), std::string::npos);
    EXPECT_NE(fault_of(good.chain, good.chain).find("holds no private key"), std::string::npos);
    EXPECT_EQ(fault_of(good.chain, authority.issue().key),
              "the key does not belong to the certificate");
    EXPECT_NE(
        fault_of(good.chain + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
                 good.key)
            .find("cannot be read: 1"),
        std::string::npos);
    for (std::size_t cut = 0; cut + 30 < good.key.size(); cut += 7) {
        EXPECT_NE(fault_of(good.chain, good.key.substr(0, cut)), "");
    }
}

TEST(certificate, encrypted_keys_are_refused_by_name) {
    test_authority authority;
    std::string fault;
    const std::string encrypted =
        "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"
        "DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\n"
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n-----END EC PRIVATE KEY-----\n";
    EXPECT_EQ(certificate::make(certificate_text(authority.issue().chain, encrypted), fault),
              nullptr);
    EXPECT_NE(fault.find("encrypted"), fault.npos) << fault;
}

TEST(certificate, names_hosts_by_their_names_and_wildcards) {
    test_authority authority;
    std::string fault;
    leaf_options options;
    options.dns = {"api.example.org", "*.Tools.example.org"};
    const auto one = certificate::make(authority.issue(options), fault);
    ASSERT_NE(one, nullptr) << fault;
    EXPECT_TRUE(one->names("api.example.org"));
    EXPECT_TRUE(one->names("API.Example.ORG"));
    EXPECT_TRUE(one->names("a.tools.example.org"));
    EXPECT_FALSE(one->names("tools.example.org"));
    EXPECT_FALSE(one->names("a.b.tools.example.org"));
    EXPECT_FALSE(one->names(".tools.example.org"));
    EXPECT_FALSE(one->names("localhost"));  // the common name counts without names only
    EXPECT_FALSE(one->names(""));
    const auto old = certificate::make(authority.issue(), fault);
    EXPECT_TRUE(old->names("localhost"));
}

TEST(certificate, identities_say_their_kind) {
    leaf_options options;
    options.common_name = "alice";
    EXPECT_EQ(identity(options), "cert:cn:alice");
    options.mails = {"alice@example.org"};
    EXPECT_EQ(identity(options), "cert:mail:alice@example.org");
    options.dns = {"one.example.org", "two.example.org"};
    EXPECT_EQ(identity(options), "cert:dns:one.example.org");
    options.uris = {"spiffe://example.org/service"};
    EXPECT_EQ(identity(options), "cert:uri:spiffe://example.org/service");
}

TEST(certificate, names_that_could_deceive_are_nobody) {
    for (const std::string& bad : {std::string("a b"), std::string("a\nb"), std::string("a\0b", 3),
                                   std::string("caf\xc3\xa9"), std::string("\x7f")}) {
        leaf_options options;
        options.uris = {bad};
        EXPECT_EQ(identity(options), "");
    }
    leaf_options none;
    none.common_name.clear();
    EXPECT_EQ(identity(none), "");
}

TEST(certificate, addresses_are_compared_as_bytes) {
    leaf_options options;
    options.addresses = {std::string("\x7f\x00\x00\x01", 4), std::string(15, '\0') + "\x01"};
    options.dns = {"10.0.0.1"};
    read_back one(options);
    EXPECT_TRUE(names_address(*one.list.get(), "127.0.0.1"));
    EXPECT_TRUE(names_address(*one.list.get(), "::1"));
    EXPECT_FALSE(names_address(*one.list.get(), "127.0.0.2"));
    EXPECT_FALSE(names_address(*one.list.get(), "10.0.0.1"));
    EXPECT_FALSE(names_address(*one.list.get(), "localhost"));
    EXPECT_TRUE(is_address("::1"));
    EXPECT_FALSE(is_address("localhost"));
}

TEST(certificate, knows_when_it_ends) {
    test_authority authority;
    std::string fault;
    leaf_options options;
    options.not_after = "20300102030405";
    const auto one = certificate::make(authority.issue(options), fault);
    EXPECT_EQ(one->not_after_s(), 1'893'553'445);
    EXPECT_TRUE(is_current(*one->chain()));
    options.not_after = "20210101000000";
    EXPECT_FALSE(is_current(*certificate::make(authority.issue(options), fault)->chain()));
    options.not_before = "20900101000000";
    options.not_after = "20910101000000";
    EXPECT_FALSE(is_current(*certificate::make(authority.issue(options), fault)->chain()));
}

}  // namespace
}  // namespace pillion::tls
