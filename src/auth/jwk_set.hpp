// jwk_set: the keys of one issuer, from its JSON Web Key Set (RFC 7517).
//
// Keys that we cannot use (other curves, encryption) are left out, as sets hold such; a set without
// any that we can is refused. Made once for each loop, since keys remember tables. Thread: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/public_key.hpp"

namespace pillion::json {
class view;
}

namespace pillion::auth {

// How a token may be signed (RFC 7518 §3.1). `hs256` is for development: whoever can check such a
// token can also make one.
enum class algorithm : std::uint8_t { rs256, es256, hs256 };

class jwk_set {
 public:
    static constexpr std::size_t text_bytes_max = 256 * 1024;
    static constexpr std::size_t keys_max = 64;

    // Null with a fault, which repeats nothing of the text. `with_secrets`: keys for HS256 count.
    static std::unique_ptr<jwk_set> parse(std::string_view text, bool with_secrets,
                                          std::string& fault);

    // Whether there is a key of that id, for any algorithm.
    bool knows(std::string_view id) const noexcept;
    // Whether a key verifies the signature: the one of that id, or, for a token that names none
    // (nullptr), the only one for the algorithm. A key is never used for another algorithm than its
    // own.
    bool verify(const std::string_view* id, algorithm by, std::string_view text,
                std::string_view signature);

    std::size_t size() const noexcept { return keys_.size(); }

 private:
    struct entry {
        std::string id;
        algorithm by;
        std::unique_ptr<crypto::public_key> key;
    };
    jwk_set() = default;
    void add(const json::view& one, bool with_secrets);

    std::vector<entry> keys_;
};

}  // namespace pillion::auth
