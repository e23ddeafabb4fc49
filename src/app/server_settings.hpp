// server_settings: MCP servers behind this one, from the section "servers" and from a file that
// clients keep theirs in ("mcpServers": {"NAME": {"command": …}}, or "url"), which is taken as it
// is.
//
// Thread: the one that makes the settings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/config_fault.hpp"
#include "app/key_reader.hpp"
#include "sidecar/bridge_spec.hpp"

namespace pillion::app {

void read_servers(key_reader& from, settings& to);

// The servers of such a file; names of keys that mean nothing here are appended to `ignored`.
// Comments are allowed. False with a fault in words.
bool parse_client_file(std::string_view text, std::vector<sidecar::bridge_spec>& to,
                       std::vector<std::string>& ignored, std::string& fault);

}  // namespace pillion::app
