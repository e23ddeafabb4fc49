// claims: members of what authorization servers say, in tokens (RFC 7519 §4) and in answers about
// tokens (RFC 7662 §2.2).
//
// Thread-safety: plain functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <pillion/json.hpp>

namespace pillion::auth {

// A name that comes twice could be read one way by us and another way by others.
bool has_no_twins(json::view object);

// NumericDate (RFC 7519 §2); nullopt when it is none, or beyond any time there is.
std::optional<double> seconds_of(json::view claim);

// Whether one of `ours` is in `aud`, a text or a list.
bool is_for(json::view audience, const std::vector<std::string>& ours);

// `scope` with blanks between (RFC 8693 §4.2), or a list in `scp`, as some issuers have it. False
// when it is neither, or too long.
bool read_scopes(json::view claims, std::vector<std::string>& to);

}  // namespace pillion::auth
