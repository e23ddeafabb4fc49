// tls_error: what the library says of a failure, in words.
//
// Thread-safety: any thread.
#pragma once

#include <cstdint>
#include <string>

namespace pillion::tls {

// "SSL - The peer notified us …", or the code where the library has no words.
std::string describe(int code);

// Why a certificate was not accepted, from the flags of its verification.
std::string describe_verification(std::uint32_t flags);

}  // namespace pillion::tls
