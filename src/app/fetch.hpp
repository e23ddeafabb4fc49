// fetch: one request and its answer, for who has no loop: commands, and settings in the making.
//
// Thread: any that may wait, never a loop's.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "client/agent.hpp"

namespace pillion::app {

// Waits for the answer, `what.timeout_ms` at most. `authorities` (PEM) are whom https believes;
// null: nobody. Nothing with a fault when it could not be asked; answers have faults of their own.
std::optional<client::answer> fetch(client::question what,
                                    std::shared_ptr<const std::string> authorities,
                                    std::string& fault);

}  // namespace pillion::app
