// Media types of requests: Content-Type and Accept (RFC 9110 §8.3, §12.5.1), as far as a server of
// JSON and event streams needs them.
//
// Pure functions; any thread.
#pragma once

#include <string_view>

#include "http/head.hpp"

namespace pillion::http {

// True for application/json, ignoring case. Of the parameters only charset matters, which must be
// utf-8 if given (RFC 8259 §8.1 knows no other encoding); they have to be well-formed. A refusal is
// 415.
inline constexpr std::string_view json_media_type = "application/json";
bool is_json_content_type(std::string_view value) noexcept;

// Which of our two reply types a client takes.
struct accepts {
    bool json = false;
    bool sse = false;
};

// Reads the value of an Accept field. An empty value takes both. The most specific range that
// matches a type decides (RFC 9110 §12.5.1): "application/json;q=0, */*" takes streams only.
// Malformed elements are skipped.
accepts parse_accept(std::string_view value) noexcept;

// The same over all Accept fields of a head; both when there is none.
accepts parse_accept(const head_fields& fields) noexcept;

}  // namespace pillion::http
