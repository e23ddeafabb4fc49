// A client of TLS that is the library and nothing else: it may send what ours never would. Its
// bytes are carried by whoever holds it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.hpp"
#include "crypto/mbedtls_compat.hpp"
#include "tls/context.hpp"

namespace pillion::tls::testing {

class bare_client {
 public:
    explicit bare_client(std::shared_ptr<context> with) : with_(std::move(with)) {
        mbedtls_ssl_init(&ssl_);
        const int failed = mbedtls_ssl_setup(&ssl_, &with_->config());
        mbedtls_ssl_set_bio(&ssl_, this, &bare_client::send, &bare_client::receive, nullptr);
        PILLION_ASSERT(failed == 0 && with_->begin(ssl_) == 0);
    }
    bare_client(const bare_client&) = delete;
    bare_client& operator=(const bare_client&) = delete;
    ~bare_client() { mbedtls_ssl_free(&ssl_); }

    // As far as the handshake goes with what has come; whether it is over.
    bool shake() { return mbedtls_ssl_handshake(&ssl_) == 0; }
    // False when the library would not.
    bool write(std::string_view text) {
        const auto* const from = reinterpret_cast<const unsigned char*>(text.data());
        return mbedtls_ssl_write(&ssl_, from, text.size()) == static_cast<int>(text.size());
    }
    bool alert(unsigned char level, unsigned char of) {
        return mbedtls_ssl_send_alert_message(&ssl_, level, of) == 0;
    }
    // The text of what has come.
    std::string read() {
        std::string text;
        unsigned char some[4096];
        for (int got = 1; got > 0;) {
            got = mbedtls_ssl_read(&ssl_, some, sizeof some);
            text.append(reinterpret_cast<const char*>(some),
                        static_cast<std::size_t>(std::max(got, 0)));
        }
        return text;
    }

    std::string out;  // to the server
    std::string in;   // from it

 private:
    static int send(void* self, const unsigned char* from, std::size_t bytes) {
        static_cast<bare_client*>(self)->out.append(reinterpret_cast<const char*>(from), bytes);
        return static_cast<int>(bytes);
    }
    static int receive(void* self, unsigned char* to, std::size_t bytes) {
        std::string& in = static_cast<bare_client*>(self)->in;
        bytes = std::min(bytes, in.size());
        if (bytes == 0) {
            return MBEDTLS_ERR_SSL_WANT_READ;
        }
        std::memcpy(to, in.data(), bytes);
        in.erase(0, bytes);
        return static_cast<int>(bytes);
    }

    std::shared_ptr<context> with_;
    mbedtls_ssl_context ssl_;
};

}  // namespace pillion::tls::testing
