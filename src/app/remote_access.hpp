// remote_access: what the configuration may say of servers that are asked about tokens: which
// places are safe to believe.
//
// Thread-safety: plain functions.
#pragma once

#include <string>
#include <string_view>

#include "auth/authenticator.hpp"

namespace pillion::app {

// Whether `auth.jwks` names no file: a URL, or the word for what the issuer publishes.
bool is_remote_source(std::string_view text) noexcept;

// Whether keys of an issuer may come from there: by https, or from this machine. False with a fault
// that repeats nothing.
bool is_safe_source(std::string_view text, std::string_view issuer, std::string& fault);

// The same for a place that a document of the issuer's names: one of https must not send us to a
// port of this machine.
bool is_safe_discovery(std::string_view found, std::string_view issuer);

// Whether tokens may be sent there: by https, or within this machine. False with a fault.
bool is_safe_endpoint(std::string_view text, std::string& fault);

// Whether certificates have to be trusted for any of it.
bool needs_authorities(const auth::auth_options& of);

// Whether a text (PEM) holds certificates. False with a fault that goes on from "the file".
bool are_authorities(const std::string& text, std::string& fault);

}  // namespace pillion::app
