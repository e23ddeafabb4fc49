#include "tls/context.hpp"

#include <algorithm>
#include <utility>

#include <mbedtls/ssl_ciphersuites.h>

#include "base/ascii.hpp"
#include "crypto/key_ring.hpp"
#include "tls/tls_error.hpp"

namespace pillion::tls {

namespace {

// TLS 1.3's, then those of TLS 1.2 with forward secrecy and an AEAD (RFC 9325 §4.2). The server's
// order counts: ChaCha20-Poly1305 first, which this library does in four fifths of the time of its
// AES-GCM, with AES instructions.
constexpr int suites[] = {
#if defined(MBEDTLS_SSL_PROTO_TLS1_3)
    MBEDTLS_TLS1_3_CHACHA20_POLY1305_SHA256,
    MBEDTLS_TLS1_3_AES_128_GCM_SHA256,
    MBEDTLS_TLS1_3_AES_256_GCM_SHA384,
#endif
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    0,
};

// ALPN (RFC 7301); the library keeps the pointer.
const char* protocols[] = {"http/1.1", nullptr};

}  // namespace

bool context::set_up(int endpoint, std::string& fault) {
    if (!compat::start_library()) {
        fault = "the cryptographic library does not start";
        return false;
    }
    int failed = mbedtls_ssl_config_defaults(&config_, endpoint, MBEDTLS_SSL_TRANSPORT_STREAM,
                                             MBEDTLS_SSL_PRESET_DEFAULT);
    if (failed == 0) {
        failed = mbedtls_ssl_conf_alpn_protocols(&config_, protocols);
    }
    if (failed != 0) {
        fault = describe(failed);
        return false;
    }
    mbedtls_ssl_conf_rng(&config_, &compat::handshake_random, nullptr);
    mbedtls_ssl_conf_ciphersuites(&config_, suites);
    compat::set_versions_and_groups(config_);
    return true;
}

std::shared_ptr<server_context> server_context::make(const server_files& files,
                                                     std::shared_ptr<ticket_keys> tickets,
                                                     std::string& fault, int& index) {
    std::shared_ptr<server_context> made(new server_context(std::move(tickets)));
    index = 0;
    if (!made->set_up(MBEDTLS_SSL_IS_SERVER, fault) ||
        !made->add_certificates(files, fault, index)) {
        return nullptr;
    }
    index = -1;
    if (!files.client_authorities.empty() &&
        !made->set_authorities(files.client_authorities, fault)) {
        return nullptr;
    }
    // A session of TLS 1.3 does not remember whose it was.
    if (made->tickets_ != nullptr && !(made->wants_identity_ && compat::version3)) {
        mbedtls_ssl_conf_session_tickets_cb(&made->config_, &server_context::write_ticket,
                                            &server_context::read_ticket, made.get());
    }
    return made;
}

bool server_context::add_certificates(const server_files& files, std::string& fault, int& index) {
    for (const certificate_text& text : files.certificates) {
        auto one = certificate::make(text, fault);
        if (one == nullptr) {
            return false;
        }
        // The library takes the first of them that fits the client's suites.
        const int failed = mbedtls_ssl_conf_own_cert(&config_, one->chain(), one->key());
        if (failed != 0) {
            fault = describe(failed);
            return false;
        }
        certificates_.push_back(std::move(one));
        ++index;
    }
    if (certificates_.size() > 1) {
        mbedtls_ssl_conf_sni(&config_, &server_context::on_server_name, this);
    }
    return true;
}

bool server_context::set_authorities(const std::string& text, std::string& fault) {
    if (!authorities_.add(text, false, fault)) {
        return false;
    }
    authorities_digest_ = crypto::sha256(text);
    wants_identity_ = true;
    mbedtls_ssl_conf_ca_chain(&config_, authorities_.get(), nullptr);
    mbedtls_ssl_conf_authmode(&config_, MBEDTLS_SSL_VERIFY_REQUIRED);
    return true;
}

std::int64_t server_context::not_after_s() const noexcept {
    std::int64_t first = INT64_MAX;
    for (const auto& one : certificates_) {
        first = std::min(first, one->not_after_s());
    }
    return first;
}

// RFC 6066 §3. A name that no certificate has gets what a client without a name gets.
int server_context::on_server_name(void* self, mbedtls_ssl_context* of, const unsigned char* name,
                                   std::size_t bytes) noexcept {
    const std::string_view host(reinterpret_cast<const char*>(name), bytes);
    for (const auto& one : static_cast<server_context*>(self)->certificates_) {
        if (one->names(host)) {
            const int failed = mbedtls_ssl_set_hs_own_cert(of, one->chain(), one->key());
            if (failed != 0) {
                return failed;
            }
        }
    }
    return 0;
}

int server_context::write_ticket(void* self, const mbedtls_ssl_session* of, unsigned char* begin,
                                 const unsigned char* end, std::size_t* bytes,
                                 std::uint32_t* lifetime_s) {
    auto& me = *static_cast<server_context*>(self);
    return me.tickets_->seal(*of,
                             {reinterpret_cast<const char*>(me.authorities_digest_.data()),
                              me.authorities_digest_.size()},
                             begin, end, *bytes, *lifetime_s);
}

int server_context::read_ticket(void* self, mbedtls_ssl_session* to, unsigned char* ticket,
                                std::size_t bytes) {
    auto& me = *static_cast<server_context*>(self);
    const int failed =
        me.tickets_->open(*to,
                          {reinterpret_cast<const char*>(me.authorities_digest_.data()),
                           me.authorities_digest_.size()},
                          ticket, bytes);
    me.noted_ = failed == 0;
    return failed;
}

std::shared_ptr<client_context> client_context::make(const client_options& options,
                                                     std::string& fault) {
    std::shared_ptr<client_context> made(new client_context);
    if (!made->set_up(MBEDTLS_SSL_IS_CLIENT, fault)) {
        return nullptr;
    }
    made->server_name_ = options.server_name;
    made->by_address_ = is_address(options.server_name);
    made->resume_ = options.resume;
    if (options.verify && !made->authorities_.add(options.authorities, true, fault)) {
        fault = "the file of trusted authorities " + fault;
        return nullptr;
    }
    if (options.identity != nullptr) {
        made->identity_ = certificate::make(*options.identity, fault);
        if (made->identity_ == nullptr) {
            return nullptr;
        }
        const int failed = mbedtls_ssl_conf_own_cert(&made->config_, made->identity_->chain(),
                                                     made->identity_->key());
        if (failed != 0) {
            fault = describe(failed);
            return nullptr;
        }
    }
    if (options.verify) {
        mbedtls_ssl_conf_ca_chain(&made->config_, made->authorities_.get(), nullptr);
    }
    // OPTIONAL and not NONE: on_verify() is how a full handshake is known.
    mbedtls_ssl_conf_authmode(
        &made->config_, options.verify ? MBEDTLS_SSL_VERIFY_REQUIRED : MBEDTLS_SSL_VERIFY_OPTIONAL);
    mbedtls_ssl_conf_verify(&made->config_, &client_context::on_verify, made.get());
    mbedtls_ssl_conf_session_tickets(&made->config_, options.resume
                                                         ? MBEDTLS_SSL_SESSION_TICKETS_ENABLED
                                                         : MBEDTLS_SSL_SESSION_TICKETS_DISABLED);
    if (options.resume) {
        compat::announce_tickets(made->config_);
    }
    return made;
}

client_context::~client_context() { mbedtls_ssl_session_free(&session_); }

int client_context::begin(mbedtls_ssl_context& of) noexcept {
    // RFC 6066 §3: no address is sent as a name. on_verify() looks for it in the certificate.
    const int failed = mbedtls_ssl_set_hostname(&of, by_address_ ? nullptr : server_name_.c_str());
    return failed != 0 || !has_session_ ? failed : mbedtls_ssl_set_session(&of, &session_);
}

void client_context::keep_session(mbedtls_ssl_context& of) noexcept {
    if (!resume_) {
        return;
    }
    mbedtls_ssl_session fresh;
    mbedtls_ssl_session_init(&fresh);
    if (mbedtls_ssl_get_session(&of, &fresh) == 0) {
        mbedtls_ssl_session_free(&session_);
        session_ = fresh;  // ownership of what it points to passes
        has_session_ = true;
    } else {
        mbedtls_ssl_session_free(&fresh);
    }
}

int client_context::on_verify(void* self, mbedtls_x509_crt* of, int depth, std::uint32_t* flags) {
    auto& me = *static_cast<client_context*>(self);
    me.noted_ = true;
    if (depth == 0 && me.by_address_ && !names_address(*of, me.server_name_)) {
        *flags |= MBEDTLS_X509_BADCERT_CN_MISMATCH;
    }
    return 0;
}

}  // namespace pillion::tls
