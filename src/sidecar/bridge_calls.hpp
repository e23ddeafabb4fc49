// bridge_calls: the handlers of what servers behind us offer: they hand the call on, pass on what
// the server says meanwhile, put its questions to the client, and bring back its answer. Between
// the eras:
//
//   server asks        client of a session        client of 2026-07-28
//   by a request       is asked by a request      is asked by a result; the call stays with the
//                                                 server until the client comes back
//   by a result        is asked by requests,      is asked by a result of ours; nothing is kept,
//   (2026-07-28)       then the call is repeated  the server's state travels in ours
//
// Thread: each on the shard of its request.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <pillion/context.hpp>
#include <pillion/json.hpp>
#include <pillion/task.hpp>

#include "sidecar/bridge_spec.hpp"

namespace pillion::sidecar {

class bridge;

// Whose questions may be mixed up with whose, and who has a server of its own: those of one
// session, or of one principal. Who has no name is nobody else; it is empty then.
std::string owner_of(context& ctx);

// What is called or got: `name` is what the server itself calls it.
struct bridged_name {
    std::string server;
    std::string name;
    bool per_client;  // each client has a server of its own

    bridged_name(const bridge_spec& spec, std::string inner)
        : server(spec.name), name(std::move(inner)), per_client(spec.per_client) {}
};
task<tool_result> call_tool(bridge& by, bridged_name what, context& ctx, json::view arguments);
task<prompt_result> get_prompt(bridge& by, bridged_name what, context& ctx, json::view arguments);
task<resource_result> read_resource(bridge& by, std::string server, context& ctx,
                                    std::string_view uri);
// `reference` is the member "ref" as JSON; `argument` the name of what is completed.
task<completion_result> complete(bridge& by, std::string server, std::string reference,
                                 std::string argument, context& ctx, std::string_view typed,
                                 json::view known);

}  // namespace pillion::sidecar
