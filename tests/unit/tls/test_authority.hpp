// A certificate authority for tests: makes keys and certificates as text, in memory.
#pragma once

#include <string>
#include <vector>

#include "tls/certificate.hpp"

namespace pillion::tls::testing {

struct leaf_options {
    std::string common_name = "localhost";
    std::vector<std::string> dns;
    std::vector<std::string> uris;
    std::vector<std::string> mails;
    std::vector<std::string> addresses;  // raw bytes
    std::string not_before = "20200101000000";
    std::string not_after = "20991231235959";
};

class test_authority {
 public:
    explicit test_authority(const std::string& name = "Test Authority");
    test_authority(const test_authority&) = delete;
    test_authority& operator=(const test_authority&) = delete;
    ~test_authority();

    const std::string& pem() const noexcept { return pem_; }
    // A P-256 key and a certificate of it.
    certificate_text issue(const leaf_options& options = {});

 private:
    std::string name_;  // as a distinguished name
    mbedtls_pk_context key_;
    std::string pem_;
    int serial_ = 1;
};

// The one of tests that need no other.
inline test_authority& authority() {
    static test_authority one;
    return one;
}

}  // namespace pillion::tls::testing
