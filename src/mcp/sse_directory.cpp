#include "mcp/sse_directory.hpp"

#include "mcp/session.hpp"

namespace pillion::mcp {

void sse_directory::add(std::string_view id, std::string_view principal) {
    const std::lock_guard lock(mutex_);
    principals_.emplace(id, principal);
}

void sse_directory::remove(std::string_view id) {
    const std::lock_guard lock(mutex_);
    principals_.erase(std::string(id));
}

std::optional<std::size_t> sse_directory::shard_of(std::string_view id,
                                                   std::string_view principal) const {
    {
        const std::lock_guard lock(mutex_);
        const auto at = principals_.find(std::string(id));
        if (at == principals_.end() || at->second != principal) {
            return std::nullopt;
        }
    }
    return session_table::owner_of(id);
}

}  // namespace pillion::mcp
