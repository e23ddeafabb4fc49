#include "auth/identity.hpp"

#include "crypto/key_ring.hpp"

namespace pillion::auth {

identity::~identity() { crypto::wipe(token.data(), token.size()); }

bool identity::still_is(std::string_view other, std::int64_t now_s,
                        credential shown_as) const noexcept {
    return kind == shown_as && now_s < good_until_s && crypto::same_secret(token, other);
}

}  // namespace pillion::auth
