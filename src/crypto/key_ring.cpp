#include "crypto/key_ring.hpp"

#include <cstring>

#include <mbedtls/gcm.h>
#include <mbedtls/md.h>
#include <mbedtls/platform_util.h>

#include "base/assert.hpp"
#include "base/base64.hpp"
#include "base/random.hpp"

namespace pillion::crypto {

namespace {

// Before base64url: version, id of the key, salt, ciphertext, tag.
constexpr unsigned char version = 1;
constexpr std::size_t id_bytes = 4;
constexpr std::size_t salt_bytes = 16;
constexpr std::size_t front = 1 + id_bytes + salt_bytes;
constexpr std::size_t tag_bytes = 16;
constexpr auto text_form = base::base64::form::url;

using digest = std::array<unsigned char, 32>;

const mbedtls_md_info_t* sha256_info() noexcept {
    return mbedtls_md_info_from_type(MBEDTLS_MD_SHA256);
}

digest hmac(const unsigned char* key, std::string_view text) noexcept {
    digest out;
    const int fault = mbedtls_md_hmac(sha256_info(), key, out.size(),
                                      reinterpret_cast<const unsigned char*>(text.data()),
                                      text.size(), out.data());
    PILLION_ASSERT(fault == 0);
    return out;
}

// What names a key without telling anything about it.
std::array<unsigned char, id_bytes> id_of(const unsigned char* key) noexcept {
    const digest full = hmac(key, "pillion key id");
    std::array<unsigned char, id_bytes> id;
    std::memcpy(id.data(), full.data(), id.size());
    return id;
}

// A cipher with the key of one text.
class cipher {
 public:
    cipher(const unsigned char* ring_key, const unsigned char* salt) {
        char label[6 + salt_bytes] = {'s', 'e', 'a', 'l', ' ', '1'};
        std::memcpy(label + 6, salt, salt_bytes);
        digest own = hmac(ring_key, {label, sizeof label});
        mbedtls_gcm_init(&gcm_);
        const int fault = mbedtls_gcm_setkey(&gcm_, MBEDTLS_CIPHER_ID_AES, own.data(), 256);
        mbedtls_platform_zeroize(own.data(), own.size());
        PILLION_ASSERT(fault == 0);
    }
    cipher(const cipher&) = delete;
    cipher& operator=(const cipher&) = delete;
    ~cipher() { mbedtls_gcm_free(&gcm_); }

    void encrypt(std::string_view plain, std::string_view bound, unsigned char* to,
                 unsigned char* tag) {
        const int fault =
            mbedtls_gcm_crypt_and_tag(&gcm_, MBEDTLS_GCM_ENCRYPT, plain.size(), nonce, sizeof nonce,
                                      bytes(bound), bound.size(), bytes(plain), to, tag_bytes, tag);
        PILLION_ASSERT(fault == 0);
    }
    bool decrypt(std::string_view sealed, std::string_view bound, const unsigned char* tag,
                 unsigned char* to) {
        return mbedtls_gcm_auth_decrypt(&gcm_, sealed.size(), nonce, sizeof nonce, bytes(bound),
                                        bound.size(), tag, tag_bytes, bytes(sealed), to) == 0;
    }

 private:
    static const unsigned char* bytes(std::string_view text) noexcept {
        return reinterpret_cast<const unsigned char*>(text.data());
    }
    // The same for all: the key is used once.
    static constexpr unsigned char nonce[12] = {};
    mbedtls_gcm_context gcm_;
};

bool read_hex(std::string_view text, unsigned char* to) noexcept {
    const auto value = [](char c) {
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                      : -1;
    };
    for (std::size_t i = 0; i < text.size() / 2; ++i) {
        const int high = value(text[2 * i]);
        const int low = value(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        to[i] = static_cast<unsigned char>(high * 16 + low);
    }
    return true;
}

bool read_key(std::string_view line, unsigned char* to) {
    if (line.size() == 2 * key_ring::key_bytes) {
        return read_hex(line, to);
    }
    char decoded[64];
    for (const auto form : {base::base64::form::standard, base::base64::form::url}) {
        if (base::base64::decoded_size_max(line.size()) > sizeof decoded) {
            return false;
        }
        const auto size = base::base64::decode(line, decoded, form);
        if (size && *size == key_ring::key_bytes) {
            std::memcpy(to, decoded, key_ring::key_bytes);
            mbedtls_platform_zeroize(decoded, sizeof decoded);
            return true;
        }
    }
    return false;
}

}  // namespace

std::unique_ptr<key_ring> key_ring::random() {
    std::unique_ptr<key_ring> made(new key_ring);
    base::os_random(made->keys_.emplace_back().data(), key_bytes);
    return made;
}

std::unique_ptr<key_ring> key_ring::parse(std::string_view text, std::string& fault) {
    std::unique_ptr<key_ring> made(new key_ring);
    // Grown once: a vector that moves would leave copies of keys behind.
    constexpr std::size_t keys_max = 16;
    made->keys_.reserve(keys_max);
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end == text.npos ? text.size() : end + 1);
        while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) {
            line.remove_suffix(1);
        }
        if (line.empty() || line.front() == '#') {
            continue;
        }
        if (made->keys_.size() == keys_max) {
            fault = "more than 16 keys";
            return nullptr;
        }
        if (!read_key(line, made->keys_.emplace_back().data())) {
            fault = "line " + std::to_string(number) + " is no key of 32 bytes in base64 or hex";
            return nullptr;
        }
    }
    if (made->keys_.empty()) {
        fault = "there is no key in it";
        return nullptr;
    }
    return made;
}

key_ring::~key_ring() {
    for (key& one : keys_) {
        mbedtls_platform_zeroize(one.data(), one.size());
    }
}

std::string_view key_ring::seal(std::string_view plain, std::string_view bound,
                                base::arena& memory) const {
    const std::size_t size = front + plain.size() + tag_bytes;
    auto* const raw = static_cast<unsigned char*>(memory.allocate(size, 1));
    const key& with = keys_.front();
    raw[0] = version;
    const auto id = id_of(with.data());
    std::memcpy(raw + 1, id.data(), id.size());
    base::os_random(raw + 1 + id_bytes, salt_bytes);
    cipher own(with.data(), raw + 1 + id_bytes);
    own.encrypt(plain, bound, raw + front, raw + size - tag_bytes);
    const std::size_t text_size = base::base64::encoded_size(size, text_form);
    char* const text = static_cast<char*>(memory.allocate(text_size, 1));
    base::base64::encode({reinterpret_cast<char*>(raw), size}, text, text_form);
    return {text, text_size};
}

std::optional<std::string_view> key_ring::open(std::string_view text, std::string_view bound,
                                               base::arena& memory) const {
    char* const raw =
        static_cast<char*>(memory.allocate(base::base64::decoded_size_max(text.size()) + 1, 1));
    const auto size = base::base64::decode(text, raw, text_form);
    if (!size || *size < front + tag_bytes || raw[0] != version) {
        return std::nullopt;
    }
    const auto* const bytes = reinterpret_cast<const unsigned char*>(raw);
    for (const key& candidate : keys_) {
        if (std::memcmp(id_of(candidate.data()).data(), bytes + 1, id_bytes) != 0) {
            continue;
        }
        const std::size_t plain_size = *size - front - tag_bytes;
        auto* const plain = static_cast<unsigned char*>(memory.allocate(plain_size + 1, 1));
        cipher own(candidate.data(), bytes + 1 + id_bytes);
        if (own.decrypt({raw + front, plain_size}, bound, bytes + *size - tag_bytes, plain)) {
            return std::string_view(reinterpret_cast<char*>(plain), plain_size);
        }
    }
    return std::nullopt;
}

std::array<unsigned char, 32> sha256(std::string_view bytes) noexcept {
    digest out;
    const int fault =
        mbedtls_md(sha256_info(), reinterpret_cast<const unsigned char*>(bytes.data()),
                   bytes.size(), out.data());
    PILLION_ASSERT(fault == 0);
    return out;
}

}  // namespace pillion::crypto
