// subscribers: which resources somebody wants to hear about, counted over all shards (on the
// change_board): the subscriptions of sessions and the open subscriptions/listen requests. The
// provider that owns one is told of the first and of the last (pillion/provider.hpp).
//
// Thread-safety: any thread. The provider is called under a lock, so that it hears of things in the
// order in which they happened; it may publish changes from there.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include <pillion/provider.hpp>

#include "mcp/change_board.hpp"

namespace pillion::mcp {

class subscribers {
 public:
    // Providers stay the same while a server runs.
    subscribers(std::vector<std::shared_ptr<resource_provider>> of, change_board& board) noexcept
        : providers_(std::move(of)), board_(board) {}

    // One more, or one less.
    void add(std::string_view uri);
    void remove(std::string_view uri);

 private:
    void tell_owner(std::string_view uri, bool on);
    resource_provider* owner_of(std::string_view uri) const noexcept;

    const std::vector<std::shared_ptr<resource_provider>> providers_;
    change_board& board_;
    std::mutex mutex_;  // what providers hear, in order
};

}  // namespace pillion::mcp
