// made_tools: the tools that the configuration makes, as the server offers them: registered at the
// start, and exchanged when a reload says others. Requests go on with what they began with.
#pragma once

#include <pillion/server.hpp>

#include "app/reloader.hpp"
#include "app/settings.hpp"

namespace pillion::app {

// Registers them. Thread: the registering one, before prepare().
void add_made_tools(server& to, const settings& from);

// What puts those of other settings into force: only tools of which something else is said are made
// anew, so that clients hear of a change only where there is one. False with a fault, nothing is
// changed then. `of` must outlive it. Thread: any, one at a time.
reloader::offer offer_of(server& of);

}  // namespace pillion::app
