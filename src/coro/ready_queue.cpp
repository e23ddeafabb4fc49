#include "coro/ready_queue.hpp"

namespace pillion::detail {

void ready_push(ready_node& node) noexcept { coro::ready_queue::current().push(node); }

}  // namespace pillion::detail
