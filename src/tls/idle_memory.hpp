// idle_memory: gives the memory of a connection that rests back to the system. The library keeps
// two buffers of 16.7 KB for each connection from its first byte to its end, whatever is in them:
// most of what an idle connection costs.
//
// Thread: the connection's loop.
#pragma once

#include <cstddef>

#include "crypto/mbedtls_compat.hpp"

namespace pillion::tls {

// Drops the whole pages of the buffers; the next record finds them again, as zeros. Returns the
// bytes that were dropped; 0 where a part of a record is in one of them. REQUIRES: the handshake is
// over.
std::size_t drop_idle_memory(mbedtls_ssl_context& of) noexcept;

}  // namespace pillion::tls
