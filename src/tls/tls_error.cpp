#include "tls/tls_error.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "crypto/mbedtls_compat.hpp"

namespace pillion::tls {

std::string describe(int code) {
    char text[160];
    mbedtls_strerror(code, text, sizeof text);
    if (text[0] == '\0' || std::strstr(text, "UNKNOWN") != nullptr) {
        std::snprintf(text, sizeof text, "Mbed TLS error -0x%04x", static_cast<unsigned>(-code));
    }
    return text;
}

std::string describe_verification(std::uint32_t flags) {
    char text[512];
    const int written = mbedtls_x509_crt_verify_info(text, sizeof text, "", flags);
    if (written <= 0) {
        return "the certificate was not accepted";
    }
    std::string out(text, static_cast<std::size_t>(written));
    while (out.ends_with('\n')) {
        out.pop_back();
    }
    // One reason a line.
    for (std::size_t at = out.find('\n'); at != out.npos; at = out.find('\n', at)) {
        out.replace(at, 1, "; ");
    }
    return out;
}

}  // namespace pillion::tls
