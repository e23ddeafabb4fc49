// ticket_keys: the keys that session tickets are sealed with (RFC 5077), so that a client that
// comes back is spared the public-key half of a handshake, on whichever thread it arrives.
//
// Random, and never stored: a new one each period, the last one is kept for as long again, older
// ones are wiped, so that who reads memory later cannot decrypt what was recorded before.
// AES-256-GCM, a random nonce a ticket (NIST SP 800-38D §8.2.2 allows 2^32 of them).
//
// Thread-safety: any thread; a lock, taken once a handshake.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "crypto/mbedtls_compat.hpp"

namespace pillion::tls {

class ticket_keys {
 public:
    // How long a key seals, and how long a ticket is good, in seconds (RFC 8446 §4.6.1 allows
    // seven days).
    static constexpr std::int64_t period_s = 4 * 3600;

    using clock = std::int64_t (*)();
    // `now_ns`: a monotonic clock.
    explicit ticket_keys(clock now_ns);
    ticket_keys();
    ticket_keys(const ticket_keys&) = delete;
    ticket_keys& operator=(const ticket_keys&) = delete;
    ~ticket_keys();

    // Writes a ticket of `session` into `begin..end`; it opens with the same `bound` only. Returns
    // an error of the library, or 0.
    int seal(const mbedtls_ssl_session& session, std::string_view bound, unsigned char* begin,
             const unsigned char* end, std::size_t& bytes, std::uint32_t& lifetime_s);
    // Reads one that seal() wrote; `ticket` is overwritten.
    int open(mbedtls_ssl_session& to, std::string_view bound, unsigned char* ticket,
             std::size_t bytes);

 private:
    static constexpr std::size_t id_bytes = 8;
    struct key {
        std::array<unsigned char, id_bytes> id{};
        std::array<unsigned char, 32> secret{};
        std::int64_t since_s = 0;
        bool exists = false;
        void wipe() noexcept;
        void renew(std::int64_t now_s) noexcept;
    };

    std::int64_t now_s() const noexcept { return now_ns_() / 1'000'000'000; }
    key sealing_key(std::int64_t now);
    bool find(const unsigned char* id, std::int64_t now, key& to);

    clock now_ns_;
    std::mutex mutex_;  // guards the keys
    key current_;
    key previous_;
};

}  // namespace pillion::tls
