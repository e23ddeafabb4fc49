#include "mcp/sse_directory.hpp"

#include "mcp/session.hpp"

namespace pillion::mcp {

void sse_directory::add(std::string_view id) {
    const std::lock_guard lock(mutex_);
    ids_.emplace(id);
}

void sse_directory::remove(std::string_view id) {
    const std::lock_guard lock(mutex_);
    ids_.erase(std::string(id));
}

std::optional<std::size_t> sse_directory::shard_of(std::string_view id) const {
    {
        const std::lock_guard lock(mutex_);
        if (!ids_.contains(std::string(id))) {
            return std::nullopt;
        }
    }
    return session_table::owner_of(id);
}

}  // namespace pillion::mcp
