#include "crypto/password.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/assert.hpp"
#include "base/random.hpp"
#include "crypto/base64url.hpp"
#include "crypto/mbedtls_compat.hpp"
#include "crypto/public_key.hpp"

namespace pillion::crypto {

namespace {

constexpr std::string_view scheme = "pbkdf2-sha256$";

template <std::size_t N>
std::string_view text_of(const std::array<unsigned char, N>& bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), N};
}

// What stands before the next $, which goes too.
std::string_view next_part(std::string_view& text) noexcept {
    const std::size_t end = std::min(text.find('$'), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return part;
}

template <std::size_t N>
bool read_bytes(std::string_view text, std::array<unsigned char, N>& to) {
    const auto bytes = from_base64url(text);
    if (!bytes || bytes->size() != N) {
        return false;
    }
    std::copy(bytes->begin(), bytes->end(), to.begin());
    return true;
}

}  // namespace

password_hash password_hash::of(std::string_view password) {
    password_hash made;
    base::os_random(made.salt.data(), made.salt.size());
    const bool good = compat::pbkdf2_sha256(password, text_of(made.salt), made.iterations,
                                            made.hash.data(), made.hash.size()) == 0;
    PILLION_ASSERT(good);
    return made;
}

std::optional<password_hash> password_hash::parse(std::string_view text) {
    password_hash made;
    std::uint64_t iterations = 0;
    if (!text.starts_with(scheme)) {
        return std::nullopt;
    }
    text.remove_prefix(scheme.size());
    const std::string_view number = next_part(text);
    const std::string_view salt = next_part(text);
    if (number.size() > 8 || !base::parse_decimal(number, iterations) ||
        iterations < iterations_min || iterations > iterations_max ||
        !read_bytes(salt, made.salt) || !read_bytes(text, made.hash)) {
        return std::nullopt;
    }
    made.iterations = static_cast<std::uint32_t>(iterations);
    return made;
}

std::string password_hash::text() const {
    return std::string(scheme) + std::to_string(iterations) + "$" + to_base64url(text_of(salt)) +
           "$" + to_base64url(text_of(hash));
}

bool password_hash::is_of(std::string_view password) const {
    std::array<unsigned char, 32> made{};
    return compat::pbkdf2_sha256(password, text_of(salt), iterations, made.data(), made.size()) ==
               0 &&
           same_secret(text_of(made), text_of(hash));
}

}  // namespace pillion::crypto
