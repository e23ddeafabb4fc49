#include "test_authority.hpp"

#include <utility>

#include <mbedtls/ecp.h>
#include <mbedtls/oid.h>

#include "base/assert.hpp"

namespace pillion::tls::testing {

namespace {

void must(bool good) { PILLION_ASSERT(good); }

void new_key(mbedtls_pk_context& key) {
    mbedtls_pk_init(&key);
    must(compat::start_library());
    must(mbedtls_pk_setup(&key, mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY)) == 0);
    must(mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, mbedtls_pk_ec(key), &compat::random,
                             nullptr) == 0);
}

std::string pem_of(mbedtls_pk_context& key) {
    unsigned char text[1024];
    must(mbedtls_pk_write_key_pem(&key, text, sizeof text) == 0);
    return reinterpret_cast<const char*>(text);
}

// DER of a subjectAltName (RFC 5280 §4.2.1.6).
std::string names_of(const leaf_options& options) {
    std::string names;
    const auto add = [&](int kind, const std::string& name) {
        names += static_cast<char>(0x80 | kind);
        names += static_cast<char>(name.size());
        names += name;
    };
    for (const auto& [kind, list] : {std::pair{1, &options.mails},
                                     {2, &options.dns},
                                     {6, &options.uris},
                                     {7, &options.addresses}}) {
        for (const std::string& name : *list) {
            add(kind, name);
        }
    }
    return names.empty() ? names : "\x30" + std::string(1, static_cast<char>(names.size())) + names;
}

struct request {
    std::string subject;
    std::string issuer;
    mbedtls_pk_context* subject_key;
    mbedtls_pk_context* issuer_key;
    int serial;
    bool authority;
};

std::string certificate_of(const request& r, const leaf_options& options) {
    mbedtls_x509write_cert crt;
    mbedtls_x509write_crt_init(&crt);
    mbedtls_x509write_crt_set_version(&crt, MBEDTLS_X509_CRT_VERSION_3);
    mbedtls_x509write_crt_set_md_alg(&crt, MBEDTLS_MD_SHA256);
    mbedtls_x509write_crt_set_subject_key(&crt, r.subject_key);
    mbedtls_x509write_crt_set_issuer_key(&crt, r.issuer_key);
    must(mbedtls_x509write_crt_set_subject_name(&crt, r.subject.c_str()) == 0);
    must(mbedtls_x509write_crt_set_issuer_name(&crt, r.issuer.c_str()) == 0);
    must(mbedtls_x509write_crt_set_validity(&crt, options.not_before.c_str(),
                                            options.not_after.c_str()) == 0);
    unsigned char serial = static_cast<unsigned char>(r.serial);
#if MBEDTLS_VERSION_NUMBER >= 0x03000000
    must(mbedtls_x509write_crt_set_serial_raw(&crt, &serial, 1) == 0);
#else
    mbedtls_mpi number;
    mbedtls_mpi_init(&number);
    must(mbedtls_mpi_read_binary(&number, &serial, 1) == 0);
    must(mbedtls_x509write_crt_set_serial(&crt, &number) == 0);
    mbedtls_mpi_free(&number);
#endif
    must(mbedtls_x509write_crt_set_basic_constraints(&crt, r.authority ? 1 : 0, -1) == 0);
    const std::string names = names_of(options);
    if (!names.empty()) {
        must(mbedtls_x509write_crt_set_extension(
                 &crt, MBEDTLS_OID_SUBJECT_ALT_NAME, MBEDTLS_OID_SIZE(MBEDTLS_OID_SUBJECT_ALT_NAME),
                 0, reinterpret_cast<const unsigned char*>(names.data()), names.size()) == 0);
    }
    unsigned char text[4096];
    must(mbedtls_x509write_crt_pem(&crt, text, sizeof text, &compat::random, nullptr) == 0);
    mbedtls_x509write_crt_free(&crt);
    return reinterpret_cast<const char*>(text);
}

}  // namespace

test_authority::test_authority(const std::string& name) : name_("CN=" + name) {
    new_key(key_);
    pem_ = certificate_of({name_, name_, &key_, &key_, serial_++, true}, {});
}

test_authority::~test_authority() { mbedtls_pk_free(&key_); }

certificate_text test_authority::issue(const leaf_options& options) {
    mbedtls_pk_context key;
    new_key(key);
    const std::string subject =
        options.common_name.empty() ? "O=Tests" : "CN=" + options.common_name;
    certificate_text made(certificate_of({subject, name_, &key, &key_, serial_++, false}, options),
                          pem_of(key));
    mbedtls_pk_free(&key);
    return made;
}

}  // namespace pillion::tls::testing
