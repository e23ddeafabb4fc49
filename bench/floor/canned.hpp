// canned: the answer that a floor server gives to everything, and how it knows that it was asked.
//
// Immutable once made.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pillion::floor {

// An HTTP response of exactly `bytes` bytes, head included; empty when no head fits in there.
std::string make_answer(std::size_t bytes);

// The size of the request that `text` begins with, by its Content-Length; 0 if its head is not
// whole. All requests on a connection have the size of its first one: nothing else is ever read.
std::size_t request_bytes(std::string_view text) noexcept;

}  // namespace pillion::floor
