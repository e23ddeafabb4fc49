// http_link: messages to and from an MCP server behind a URL, as a client of Streamable HTTP sends
// them (2025-03-26 and later), or of HTTP+SSE (2024-11-05) where the server knows nothing else.
//
// A message is a POST; its answer is one message or a stream of them. A server with sessions may
// speak by itself on a stream that is opened for that (GET), and streams that break are taken up
// where they ended if their events had ids; 2026-07-28 has neither (REVISIONS §4, §5).
// Redirects are not followed, and nothing is sent to another origin than the configured one.
//
// Thread: its loop's.
#pragma once

#include <memory>

#include "io/blocking_pool.hpp"
#include "io/reactor.hpp"
#include "sidecar/bridge_spec.hpp"
#include "sidecar/server_link.hpp"

namespace pillion::sidecar {

// `helpers` must outlive it.
std::unique_ptr<server_link> link_to_url(io::reactor& loop, io::offload& helpers,
                                         const bridge_spec& what);

}  // namespace pillion::sidecar
