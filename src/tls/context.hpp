// context: what the streams of one side have in common: versions, suites, certificates, whom they
// trust. A server's holds its certificates and tickets, a client's the name of its server and the
// session to resume.
//
// Immutable but for a client's session. Streams share it: after a reload the old one lives until
// its last connection has gone. Thread: one loop's, like its streams.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crypto/mbedtls_compat.hpp"
#include "tls/certificate.hpp"
#include "tls/ticket_keys.hpp"

namespace pillion::tls {

class context {
 public:
    context(const context&) = delete;
    context& operator=(const context&) = delete;
    virtual ~context() { mbedtls_ssl_config_free(&config_); }

    const mbedtls_ssl_config& config() const noexcept { return config_; }
    virtual bool is_server() const noexcept = 0;
    // Clients must show a certificate.
    virtual bool wants_identity() const noexcept { return false; }
    // Before a handshake: what is the connection's own. An error of the library, or 0.
    virtual int begin(mbedtls_ssl_context&) noexcept { return 0; }
    // The peer has a new session to offer: after a handshake, or by a ticket that came later.
    virtual void keep_session(mbedtls_ssl_context&) noexcept {}
    // What came up since it was last asked, that is in the last step of a handshake: to a server a
    // ticket that opened, to a client a certificate that had to be looked at.
    bool take_note() noexcept { return std::exchange(noted_, false); }

 protected:
    context() noexcept { mbedtls_ssl_config_init(&config_); }
    // What both sides have in common. False with a fault.
    bool set_up(int endpoint, std::string& fault);

    mbedtls_ssl_config config_;
    bool noted_ = false;
};

// Text of the files that a server is made from.
struct server_files {
    std::vector<certificate_text> certificates;  // the first one for clients that name no host
    std::string client_authorities;              // PEM; empty: clients need no certificate
};

class server_context final : public context {
 public:
    // Null with a fault, whose `index` is that of the certificate, or -1: the authorities.
    static std::shared_ptr<server_context> make(const server_files& files,
                                                std::shared_ptr<ticket_keys> tickets,
                                                std::string& fault, int& index);

    bool is_server() const noexcept override { return true; }
    bool wants_identity() const noexcept override { return wants_identity_; }
    // The first of its certificates that runs out, in seconds since 1970.
    std::int64_t not_after_s() const noexcept;

 private:
    explicit server_context(std::shared_ptr<ticket_keys> tickets) noexcept
        : tickets_(std::move(tickets)) {}
    bool add_certificates(const server_files& files, std::string& fault, int& index);
    bool set_authorities(const std::string& text, std::string& fault);
    static int on_server_name(void* self, mbedtls_ssl_context* of, const unsigned char* name,
                              std::size_t bytes) noexcept;
    static int write_ticket(void* self, const mbedtls_ssl_session* of, unsigned char* begin,
                            const unsigned char* end, std::size_t* bytes,
                            std::uint32_t* lifetime_s);
    static int read_ticket(void* self, mbedtls_ssl_session* to, unsigned char* ticket,
                           std::size_t bytes);

    std::shared_ptr<ticket_keys> tickets_;
    std::vector<std::unique_ptr<certificate>> certificates_;
    certificate_list authorities_;
    // Tickets are bound to it: those of other authorities' clients do not open.
    std::array<unsigned char, 32> authorities_digest_{};
    bool wants_identity_ = false;
};

struct client_options {
    std::string server_name;  // whom the server's certificate must name; sent as SNI
    std::string authorities;  // PEM
    bool verify = true;       // false: any certificate will do
    bool resume = false;      // offer the last session
    const certificate_text* identity = nullptr;  // shown to servers that ask
};

class client_context final : public context {
 public:
    static std::shared_ptr<client_context> make(const client_options& options, std::string& fault);
    ~client_context() override;

    bool is_server() const noexcept override { return false; }
    int begin(mbedtls_ssl_context& of) noexcept override;
    void keep_session(mbedtls_ssl_context& of) noexcept override;
    // The next connection offers a session.
    bool can_resume() const noexcept { return has_session_; }

 private:
    client_context() noexcept { mbedtls_ssl_session_init(&session_); }
    static int on_verify(void* self, mbedtls_x509_crt* of, int depth, std::uint32_t* flags);

    std::string server_name_;
    certificate_list authorities_;
    std::unique_ptr<certificate> identity_;
    mbedtls_ssl_session session_;
    bool has_session_ = false;
    bool resume_ = false;
    bool by_address_ = false;  // its name is an IP address
};

}  // namespace pillion::tls
