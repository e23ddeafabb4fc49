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

#include <pillion/context.hpp>
#include <pillion/json.hpp>
#include <pillion/task.hpp>

namespace pillion::sidecar {

class bridge;

// `name` is what the server itself calls it.
task<tool_result> call_tool(bridge& by, std::string server, std::string name, context& ctx,
                            json::view arguments);
task<prompt_result> get_prompt(bridge& by, std::string server, std::string name, context& ctx,
                               json::view arguments);
task<resource_result> read_resource(bridge& by, std::string server, context& ctx,
                                    std::string_view uri);
// `reference` is the member "ref" as JSON; `argument` the name of what is completed.
task<completion_result> complete(bridge& by, std::string server, std::string reference,
                                 std::string argument, context& ctx, std::string_view typed,
                                 json::view known);

}  // namespace pillion::sidecar
