#include "mcp/memory_pipe.hpp"

#include <utility>

#include "base/assert.hpp"

namespace pillion::mcp {

memory_pipe::memory_pipe(engine& e, base::unique_function<void(std::string_view)> receive)
    : message_pipe(e, "memory-", true, caller::at({}), false), receive_(std::move(receive)) {}

void memory_pipe::close() noexcept {
    closed_ = true;
    const std::size_t gone = engine_.disconnect_modern(*this);
    PILLION_ASSERT(gone <= under_way());
    forget(gone);
    if (const session_ref own = current_session()) {
        own->kill();
        engine_.session_ended(own.get());
    }
}

bool memory_pipe::send(base::byte_buffer message) noexcept {
    if (!closed_) {
        receive_(message.view());
    }
    return true;
}

}  // namespace pillion::mcp
