// change_board: the last change of each kind, and of each resource that somebody subscribes to, in
// the order of publication.
//
// "Changed" is a state, not a message: who was not looking reads the latest once, however often it
// happened, and nothing that he has not seen is ever lost. Each shard remembers how far it has read
// and does so once per turn, so a burst is told once; a listener that must wait catches up from
// here. What is kept is bounded by what is subscribed to. Numbers grow with every publication and
// are the same for all shards.
//
// Thread-safety: any thread; one lock, for a few pointers per publication.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.hpp"
#include "base/intrusive_list.hpp"
#include "mcp/hub.hpp"

namespace pillion::mcp {

class change_board {
 public:
    change_board() = default;
    change_board(const change_board&) = delete;
    change_board& operator=(const change_board&) = delete;
    ~change_board();

    // One more wants to hear of that resource, or one less. True when it was the first, or the
    // last.
    bool add(std::string_view uri);
    bool remove(std::string_view uri);
    // Resources that somebody wants to hear of: how many, which, and whether this is one of them.
    std::size_t uris() const;
    std::vector<std::string> followed() const;
    bool is_followed(std::string_view uri) const;

    // It has changed. False when that is a resource that nobody subscribes to.
    bool note(change what, std::string_view uri);
    // The number of the last change.
    std::uint64_t last() const noexcept { return last_.load(std::memory_order_acquire); }

    // What changed behind number `after`, oldest first.
    std::vector<kept_change> since(std::uint64_t after) const;

 private:
    struct record : base::list_hook<> {
        explicit record(change of) noexcept : what(of) {}
        change what;
        std::uint64_t number = 0;
        std::size_t wanted = 0;
        std::string_view uri;  // the key it is found by
    };

    mutable std::mutex mutex_;
    std::atomic<std::uint64_t> last_{0};
    record lists_[3] = {record(change::tools), record(change::prompts), record(change::resources)};
    std::unordered_map<std::string, record, base::bytes_hash, std::equal_to<>> resources_;
    mutable base::intrusive_list<record> changed_;  // latest first
};

}  // namespace pillion::mcp
