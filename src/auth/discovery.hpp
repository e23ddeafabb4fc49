// discovery: where an issuer says that its keys are (OpenID Connect Discovery 1.0 §4; RFC 8414).
//
// Thread-safety: plain functions.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pillion::auth {

constexpr std::size_t discovery_bytes_max = 64 * 1024;

// The URLs at which an issuer may have its metadata, in the order to ask them.
std::array<std::string, 2> discovery_urls(std::string_view issuer);

// jwks_uri of such a document; nullopt unless it is the issuer's own, which it must name exactly
// (RFC 8414 §3.3).
std::optional<std::string> read_discovery(std::string_view text, std::string_view issuer);

}  // namespace pillion::auth
