#include "tls/ticket_keys.hpp"

#include <cstring>

#include <mbedtls/gcm.h>
#include <mbedtls/platform_util.h>

#include "base/clock.hpp"
#include "base/random.hpp"

namespace pillion::tls {

namespace {

// A ticket: id of the key, nonce, ciphertext (time of making, session), tag.
constexpr std::size_t nonce_bytes = 12;
constexpr std::size_t time_bytes = 8;
constexpr std::size_t tag_bytes = 16;

class gcm {
 public:
    explicit gcm(const std::array<unsigned char, 32>& key) noexcept {
        mbedtls_gcm_init(&context_);
        good_ = mbedtls_gcm_setkey(&context_, MBEDTLS_CIPHER_ID_AES, key.data(), 256) == 0;
    }
    gcm(const gcm&) = delete;
    gcm& operator=(const gcm&) = delete;
    ~gcm() { mbedtls_gcm_free(&context_); }

    // Both in place.
    bool seal(const unsigned char* nonce, std::string_view bound, unsigned char* text,
              std::size_t bytes, unsigned char* tag) noexcept {
        return good_ && mbedtls_gcm_crypt_and_tag(&context_, MBEDTLS_GCM_ENCRYPT, bytes, nonce,
                                                  nonce_bytes, data(bound), bound.size(), text,
                                                  text, tag_bytes, tag) == 0;
    }
    bool open(const unsigned char* nonce, std::string_view bound, unsigned char* text,
              std::size_t bytes, const unsigned char* tag) noexcept {
        return good_ && mbedtls_gcm_auth_decrypt(&context_, bytes, nonce, nonce_bytes, data(bound),
                                                 bound.size(), tag, tag_bytes, text, text) == 0;
    }

 private:
    static const unsigned char* data(std::string_view text) noexcept {
        return reinterpret_cast<const unsigned char*>(text.data());
    }
    mbedtls_gcm_context context_;
    bool good_;
};

}  // namespace

void ticket_keys::key::wipe() noexcept {
    mbedtls_platform_zeroize(secret.data(), secret.size());
    exists = false;
}

void ticket_keys::key::renew(std::int64_t now_s) noexcept {
    base::os_random(id.data(), id.size());
    base::os_random(secret.data(), secret.size());
    since_s = now_s;
    exists = true;
}

ticket_keys::ticket_keys(clock now_ns) : now_ns_(now_ns) {}
ticket_keys::ticket_keys() : ticket_keys(&base::monotonic_now_ns) {}

ticket_keys::~ticket_keys() {
    current_.wipe();
    previous_.wipe();
}

ticket_keys::key ticket_keys::sealing_key(std::int64_t now) {
    const std::lock_guard lock(mutex_);
    if (!current_.exists || now - current_.since_s >= period_s) {
        previous_.wipe();
        // Tickets of a key that rested for long have all run out.
        if (current_.exists && now - current_.since_s < 2 * period_s) {
            previous_ = current_;
        }
        current_.renew(now);
    }
    return current_;
}

bool ticket_keys::find(const unsigned char* id, std::int64_t now, key& to) {
    const std::lock_guard lock(mutex_);
    for (const key* one : {&current_, &previous_}) {
        if (one->exists && std::memcmp(one->id.data(), id, id_bytes) == 0 &&
            now - one->since_s < 2 * period_s) {
            to = *one;
            return true;
        }
    }
    return false;
}

int ticket_keys::seal(const mbedtls_ssl_session& session, std::string_view bound,
                      unsigned char* begin, const unsigned char* end, std::size_t& bytes,
                      std::uint32_t& lifetime_s) {
    constexpr std::size_t front = id_bytes + nonce_bytes;
    const auto room = static_cast<std::size_t>(end - begin);
    if (room < front + time_bytes + tag_bytes) {
        return MBEDTLS_ERR_SSL_BUFFER_TOO_SMALL;
    }
    unsigned char* const text = begin + front;
    std::size_t session_bytes = 0;
    const int failed = mbedtls_ssl_session_save(
        &session, text + time_bytes, room - front - time_bytes - tag_bytes, &session_bytes);
    if (failed != 0) {
        return failed;
    }
    const std::int64_t now = now_s();
    std::memcpy(text, &now, time_bytes);
    key with = sealing_key(now);
    std::memcpy(begin, with.id.data(), id_bytes);
    base::os_random(begin + id_bytes, nonce_bytes);
    const std::size_t text_bytes = time_bytes + session_bytes;
    const bool sealed =
        gcm(with.secret).seal(begin + id_bytes, bound, text, text_bytes, text + text_bytes);
    with.wipe();
    bytes = front + text_bytes + tag_bytes;
    lifetime_s = static_cast<std::uint32_t>(period_s);
    return sealed ? 0 : MBEDTLS_ERR_SSL_INTERNAL_ERROR;
}

int ticket_keys::open(mbedtls_ssl_session& to, std::string_view bound, unsigned char* ticket,
                      std::size_t bytes) {
    constexpr std::size_t front = id_bytes + nonce_bytes;
    if (bytes < front + time_bytes + tag_bytes) {
        return MBEDTLS_ERR_SSL_INVALID_MAC;
    }
    const std::int64_t now = now_s();
    key with;
    if (!find(ticket, now, with)) {
        return MBEDTLS_ERR_SSL_SESSION_TICKET_EXPIRED;
    }
    unsigned char* const text = ticket + front;
    const std::size_t text_bytes = bytes - front - tag_bytes;
    const bool opened =
        gcm(with.secret).open(ticket + id_bytes, bound, text, text_bytes, text + text_bytes);
    with.wipe();
    if (!opened) {
        return MBEDTLS_ERR_SSL_INVALID_MAC;
    }
    std::int64_t made_s = 0;
    std::memcpy(&made_s, text, time_bytes);
    if (now - made_s >= period_s) {
        return MBEDTLS_ERR_SSL_SESSION_TICKET_EXPIRED;
    }
    const int failed = mbedtls_ssl_session_load(&to, text + time_bytes, text_bytes - time_bytes);
    mbedtls_platform_zeroize(text, text_bytes);
    return failed;
}

}  // namespace pillion::tls
