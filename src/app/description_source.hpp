// description_source: where the text of an OpenAPI description comes from: a file, or a URL that is
// asked each time the settings are made.
//
// Thread: the one that makes the settings; it waits for the answer.
#pragma once

#include <cstddef>
#include <string>

#include "sidecar/http_spec.hpp"

namespace pillion::app {

// The largest description.
inline constexpr std::size_t description_bytes_max = 64 * 1024 * 1024;

// Asks `url` (http or https) for it. Where `through` is there and of the same origin, it is asked
// as that upstream is: at its socket, with its headers, believing its authorities. False with a
// fault, which repeats nothing of the answer.
bool fetch_description(const std::string& url, const sidecar::upstream_spec* through,
                       std::string& text, std::string& fault);

// The server that a description from `url` means: its own word, which may be a path there (OpenAPI
// §4.8.5), or where it came from when it says nothing. Empty: it came in the clear from another
// machine, and whoever was in between may have named it.
std::string server_of_description(const std::string& url, const std::string& said);

}  // namespace pillion::app
