// token_list: opaque tokens that are let in: names, and what SHA-256 makes of the tokens, so that
// who reads the list can let nobody in (STANDARD row 43).
//
// Thread-safety: immutable once read.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pillion::auth {

struct opaque_token {
    std::string name;                        // of whoever has it
    std::array<unsigned char, 32> digest{};  // SHA-256 of the token
    std::vector<std::string> scopes;

    bool operator==(const opaque_token&) const = default;
};

class token_list {
 public:
    static constexpr std::size_t tokens_max = 10'000;
    // What an honest token has at least: 16 random bytes as hexadecimal digits or base64.
    static constexpr std::size_t token_bytes_min = 20;

    // Reads lines "NAME DIGEST [SCOPE…]", the digest as 64 hexadecimal digits; empty lines and
    // those that begin with # are skipped. nullopt with a fault that names the line and nothing of
    // it.
    static std::optional<token_list> parse(std::string_view text, std::string& fault);

    // The entry of a token, or null. Takes a time that depends on the number of entries only.
    const opaque_token* find(std::string_view token) const noexcept;

    std::size_t size() const noexcept { return all_.size(); }
    bool operator==(const token_list&) const = default;

 private:
    std::vector<opaque_token> all_;
};

}  // namespace pillion::auth
