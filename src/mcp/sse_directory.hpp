// sse_directory: which streams of the legacy HTTP+SSE transport are open, on any shard.
//
// Locked, since it is asked once per message of a transport that is kept for old clients only.
// Thread-safety: any thread.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace pillion::mcp {

class sse_directory {
 public:
    // `principal`: whose it is; empty: somebody unknown's.
    void add(std::string_view id, std::string_view principal);
    void remove(std::string_view id);
    // The shard that has the stream of this id, if there is one of that principal's.
    std::optional<std::size_t> shard_of(std::string_view id, std::string_view principal) const;

 private:
    mutable std::mutex mutex_;
    std::unordered_map<std::string, std::string> principals_;  // by id
};

}  // namespace pillion::mcp
