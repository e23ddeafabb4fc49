// meta_resources: resources that tell clients about the server itself (the agent texts, its way of
// authentication, the HTTP headers it knows, its version).
//
// Thread-safety: for start-up, before main().
#pragma once

#include <pillion/server.hpp>

namespace pillion::app {

// Registers pillion://agent/brief, pillion://agent/prompt, use://auth, use://http-headers,
// project://version and doc://readme.
void add_meta_resources(server& to);

}  // namespace pillion::app
