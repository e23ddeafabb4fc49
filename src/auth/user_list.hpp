// user_list: people and programs with passwords: names, and what is kept of the passwords.
//
// Thread-safety: immutable once read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/password.hpp"

namespace pillion::auth {

class user_list {
 public:
    static constexpr std::size_t users_max = 1000;
    static constexpr std::size_t name_bytes_max = 128;

    // Whether it can stand before a password: visible ASCII without a colon, no # first (RFC 7617
    // §2).
    static bool is_name(std::string_view text) noexcept;
    // Reads lines "NAME pbkdf2-sha256$…"; empty lines and those that begin with # are skipped.
    // nullopt with a fault that names the line and nothing of it.
    static std::optional<user_list> parse(std::string_view text, std::string& fault);

    // Whether that is the user's password. Takes as long for a name that nobody has, and too long
    // for a loop.
    bool knows(std::string_view name, std::string_view password) const;

    std::size_t size() const noexcept { return all_.size(); }

 private:
    struct user {
        std::string name;
        crypto::password_hash password;
    };
    std::vector<user> all_;
};

}  // namespace pillion::auth
