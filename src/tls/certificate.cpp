#include "tls/certificate.hpp"

#include <arpa/inet.h>
#include <algorithm>
#include <cstring>
#include <ctime>
#include <utility>

#include <mbedtls/oid.h>
#include <mbedtls/platform_util.h>

#include "base/ascii.hpp"
#include "tls/tls_error.hpp"

namespace pillion::tls {

namespace {

// Kinds of alternative names (RFC 5280 §4.2.1.6).
enum class name_kind : int { mail = 1, dns = 2, uri = 6, address = 7 };
constexpr std::size_t principal_bytes_max = 256;

std::string_view view(const mbedtls_x509_buf& of) noexcept {
    return {reinterpret_cast<const char*>(of.p), of.len};
}

// The library reads PEM as a C string and DER by its size.
std::size_t parsed_size(const std::string& text) noexcept {
    return text.find("-----BEGIN") == text.npos ? text.size() : text.size() + 1;
}

const unsigned char* bytes(const std::string& text) noexcept {
    return reinterpret_cast<const unsigned char*>(text.c_str());
}

template <class Visit>
void for_each_name(const mbedtls_x509_crt& of, name_kind kind, Visit visit) {
    for (const mbedtls_x509_sequence* at = &of.subject_alt_names; at != nullptr; at = at->next) {
        if (at->buf.p != nullptr &&
            (at->buf.tag & MBEDTLS_ASN1_TAG_VALUE_MASK) == static_cast<int>(kind)) {
            visit(view(at->buf));
        }
    }
}

std::string_view first_name(const mbedtls_x509_crt& of, name_kind kind) {
    std::string_view found;
    for_each_name(of, kind, [&](std::string_view name) {
        if (found.empty()) {
            found = name;
        }
    });
    return found;
}

std::string_view common_name(const mbedtls_x509_crt& of) noexcept {
    for (const mbedtls_x509_name* at = &of.subject; at != nullptr; at = at->next) {
        if (MBEDTLS_OID_CMP(MBEDTLS_OID_AT_CN, &at->oid) == 0) {
            return view(at->val);
        }
    }
    return {};
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), base::to_lower);
    return out;
}

bool matches(std::string_view pattern, std::string_view host) noexcept {
    if (!pattern.starts_with("*.")) {
        return base::equals_ignore_case(pattern, host);
    }
    const std::size_t dot = host.find('.');
    return dot != host.npos && dot > 0 &&
           base::equals_ignore_case(pattern.substr(1), host.substr(dot));
}

// The bytes of an address as certificates hold them; their number, 0 for anything else.
std::size_t address_bytes(const std::string& host, unsigned char (&to)[16]) noexcept {
    return ::inet_pton(AF_INET, host.c_str(), to) == 1    ? 4
           : ::inet_pton(AF_INET6, host.c_str(), to) == 1 ? 16
                                                          : 0;
}

bool is_visible(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace

certificate_text::~certificate_text() { mbedtls_platform_zeroize(key.data(), key.size()); }

bool certificate_list::add(const std::string& text, bool lenient, std::string& fault) {
    const int unread = mbedtls_x509_crt_parse(&all_, bytes(text), parsed_size(text));
    if (unread < 0) {
        fault = "holds no certificate: " + describe(unread);
        return false;
    }
    if (unread > 0 && !lenient) {
        fault = "holds certificates that cannot be read: " + std::to_string(unread);
        return false;
    }
    return true;
}

std::unique_ptr<certificate> certificate::make(const certificate_text& from, std::string& fault) {
    std::unique_ptr<certificate> made(new certificate);
    if (!made->chain_.add(from.chain, false, fault)) {
        fault = "the certificate file " + fault;
        return nullptr;
    }
    const int failed = compat::parse_key(made->key_, bytes(from.key), parsed_size(from.key));
    if (failed == MBEDTLS_ERR_PK_PASSWORD_REQUIRED) {
        fault = "the key is encrypted; the server reads keys without password only";
        return nullptr;
    }
    if (failed != 0) {
        fault = "the key file holds no private key: " + describe(failed);
        return nullptr;
    }
    if (!compat::is_pair(*made->chain_.get(), made->key_)) {
        fault = "the key does not belong to the certificate";
        return nullptr;
    }
    const int unprepared = compat::prepare_signatures(made->key_);
    if (unprepared != 0) {
        fault = describe(unprepared);
        return nullptr;
    }
    for_each_name(*made->chain(), name_kind::dns,
                  [&](std::string_view name) { made->names_.push_back(lower(name)); });
    if (made->names_.empty() && !common_name(*made->chain()).empty()) {
        made->names_.push_back(lower(common_name(*made->chain())));
    }
    return made;
}

bool certificate::names(std::string_view host) const noexcept {
    return std::any_of(names_.begin(), names_.end(),
                       [host](const std::string& name) { return matches(name, host); });
}

std::int64_t certificate::not_after_s() const noexcept {
    const mbedtls_x509_time& to =
        const_cast<certificate_list&>(chain_).get()->valid_to;  // reading only
    std::tm time{};
    time.tm_year = to.year - 1900;
    time.tm_mon = to.mon - 1;
    time.tm_mday = to.day;
    time.tm_hour = to.hour;
    time.tm_min = to.min;
    time.tm_sec = to.sec;
    return ::timegm(&time);
}

std::string identity_of(const mbedtls_x509_crt& client) {
    const std::pair<const char*, std::string_view> candidates[] = {
        {"cert:uri:", first_name(client, name_kind::uri)},
        {"cert:dns:", first_name(client, name_kind::dns)},
        {"cert:mail:", first_name(client, name_kind::mail)},
        {"cert:cn:", common_name(client)},
    };
    for (const auto& [kind, name] : candidates) {
        if (!name.empty()) {
            const bool good = name.size() <= principal_bytes_max && is_visible(name);
            return good ? kind + std::string(name) : std::string();
        }
    }
    return {};
}

bool is_address(const std::string& host) noexcept {
    unsigned char bytes[16];
    return address_bytes(host, bytes) != 0;
}

bool names_address(const mbedtls_x509_crt& of, const std::string& address) noexcept {
    unsigned char wanted[16];
    const std::string_view text(reinterpret_cast<const char*>(wanted),
                                address_bytes(address, wanted));
    bool found = false;
    for_each_name(of, name_kind::address,
                  [&](std::string_view one) { found = found || (!text.empty() && one == text); });
    return found;
}

bool is_current(const mbedtls_x509_crt& one) noexcept {
    return mbedtls_x509_time_is_past(&one.valid_to) == 0 &&
           mbedtls_x509_time_is_future(&one.valid_from) == 0;
}

}  // namespace pillion::tls
