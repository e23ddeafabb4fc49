// bridge_offer: what a server behind us offers, registered under the names that the operator wants.
// A tool whose schema we cannot check is offered all the same: the server checks it. One that can
// be called as a task alone is not: calls are handed on as calls.
//
// Thread: whoever registers (include/pillion/server.hpp).
#pragma once

#include <string>
#include <vector>

#include <pillion/server.hpp>

#include "sidecar/bridge_spec.hpp"
#include "sidecar/upstream_server.hpp"

namespace pillion::sidecar {

class bridge;

// The names under which it was registered, and the URIs of the pages that its tools have.
struct offered_names {
    std::vector<std::string> tools;
    std::vector<std::string> prompts;
    std::vector<std::string> templates;
    std::vector<std::string> pages;
};

// Registers all that it offers; what has a name already is left out, with a line in the log.
offered_names offer(catalog& to, bridge& by, const bridge_spec& spec, const offered_lists& lists);
void withdraw(catalog& from, const offered_names& names);

// The name under which a tool or prompt is offered; empty: it is not.
std::string outer_name(const bridge_spec& spec, std::string_view name);

// Whether one of them may have a tool or prompt that is offered under that name.
bool may_offer(const std::vector<bridge_spec>& all, std::string_view name);

}  // namespace pillion::sidecar
