// What the tests of servers behind us share: calls of clients, and what has come of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/server_state.hpp"
#include "io/blocking_pool.hpp"
#include "mcp/service.hpp"
#include "sidecar/bridged_call.hpp"

namespace pillion::sidecar::testing {

// Makes calls of nobody in particular.
struct callers {
    std::shared_ptr<bridged_call> make(const char* method, const char* params) {
        bridged_call::request what;
        what.method = method;
        what.params = params;
        return std::make_shared<bridged_call>(shared, what);
    }
    server host{"test", "1.0.0"};
    io::blocking_pool helpers;
    std::string fault;
    std::vector<std::string> warnings;
    mcp::service shared{mcp::registry::freeze(host.state().defs, fault, warnings), host, helpers, 1,
                        mcp::service_options()};
};

// What a handler that came now would be told first.
inline std::optional<call_event> first_event(const std::shared_ptr<bridged_call>& of) {
    coro::event mine;
    of->attach(0, mine);
    std::optional<call_event> found = of->front(mine);
    of->detach(mine);
    return found;
}

}  // namespace pillion::sidecar::testing
