// base64url: bytes as tokens and keys have them, without padding (RFC 7515 §2), as strings of their
// own. The request path uses base/base64.hpp.
//
// Thread-safety: any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pillion::crypto {

std::string to_base64url(std::string_view bytes);
// nullopt for anything that to_base64url() does not write.
std::optional<std::string> from_base64url(std::string_view text);

}  // namespace pillion::crypto
