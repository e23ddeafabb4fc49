// identity: who has shown a credential, and what was found out about that.
//
// Thread-safety: immutable once it is shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace pillion::auth {

// How a credential was shown. The same text is another one when it is shown otherwise.
enum class credential : std::uint8_t { bearer, api_key };

// Who has authenticated.
struct identity {
    // "ISSUER|SUBJECT", "token:NAME" or "key:NAME". An issuer's name holds no |.
    std::string principal;
    std::string scopes;             // with blanks between them
    std::int64_t good_until_s = 0;  // seconds since 1970: then it is judged anew
    std::size_t issuer = SIZE_MAX;  // whose keys say so; SIZE_MAX: nobody's
    // When the token itself is over, clocks that differ included; INT64_MAX: never.
    std::int64_t ends_s = INT64_MAX;
    std::string token;  // wiped when it goes
    credential kind = credential::bearer;
    bool listed = false;  // a list of ours says so, until it is changed

    identity() = default;
    identity(const identity&) = delete;
    identity& operator=(const identity&) = delete;
    ~identity();

    // Whether this is what the same bytes would be found to be again.
    bool still_is(std::string_view other, std::int64_t now_s,
                  credential shown_as = credential::bearer) const noexcept;
};
using identity_ref = std::shared_ptr<const identity>;

}  // namespace pillion::auth
