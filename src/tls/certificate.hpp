// certificate: a certificate chain with its private key, a list of authorities, and what
// certificates say about whom they were given to.
//
// Made from text of files, once for each loop: the library remembers things in keys and chains, so
// threads share none. Keys are wiped when they go.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/mbedtls_compat.hpp"

namespace pillion::tls {

// The text of two files.
struct certificate_text {
    std::string chain;  // PEM, the server's own first; or one in DER
    std::string key;    // PEM or DER, not encrypted

    certificate_text() = default;
    certificate_text(std::string chain_text, std::string key_text) noexcept
        : chain(std::move(chain_text)), key(std::move(key_text)) {}
    certificate_text(certificate_text&&) noexcept = default;
    certificate_text& operator=(certificate_text&&) noexcept = default;
    ~certificate_text();  // wipes the key
};

// Certificates of others: authorities, or what a peer sent.
class certificate_list {
 public:
    certificate_list() noexcept { mbedtls_x509_crt_init(&all_); }
    certificate_list(const certificate_list&) = delete;
    certificate_list& operator=(const certificate_list&) = delete;
    ~certificate_list() { mbedtls_x509_crt_free(&all_); }

    // Adds those of `text`. False with a fault when there is none, or, unless `lenient`, when one
    // cannot be read (bundles of systems hold some that 2.28 does not know).
    bool add(const std::string& text, bool lenient, std::string& fault);

    mbedtls_x509_crt* get() noexcept { return &all_; }

 private:
    mbedtls_x509_crt all_;
};

class certificate {
 public:
    // Null with a fault, which names what is wrong with the files and nothing of the key.
    static std::unique_ptr<certificate> make(const certificate_text& from, std::string& fault);

    certificate(const certificate&) = delete;
    certificate& operator=(const certificate&) = delete;
    ~certificate() { mbedtls_pk_free(&key_); }

    mbedtls_x509_crt* chain() noexcept { return chain_.get(); }
    mbedtls_pk_context* key() noexcept { return &key_; }
    // Whether it was given to `host` (RFC 6125 §6.4: DNS names, the subject's common name where
    // there are none, a wildcard for the whole first label).
    bool names(std::string_view host) const noexcept;
    // Seconds since 1970 from which it is not valid any more.
    std::int64_t not_after_s() const noexcept;

 private:
    certificate() noexcept { mbedtls_pk_init(&key_); }

    certificate_list chain_;
    mbedtls_pk_context key_;
    std::vector<std::string> names_;  // lower case
};

// Whom a client certificate names, as a principal: "cert:uri:…", "cert:dns:…" or "cert:mail:…" by
// its first alternative name of that kind, in this order, else "cert:cn:…". The kind is part of it,
// so that a name of one kind never passes for one of another. Empty when it names nobody, or in
// bytes that are not visible ASCII.
std::string identity_of(const mbedtls_x509_crt& client);

// Whether a name is an IP address, and whether a certificate was given to that (RFC 5280 §4.2.1.6;
// the library of 2.28 compares names only).
bool is_address(const std::string& host) noexcept;
bool names_address(const mbedtls_x509_crt& of, const std::string& address) noexcept;

// Whether the calendar allows it still.
bool is_current(const mbedtls_x509_crt& one) noexcept;

}  // namespace pillion::tls
