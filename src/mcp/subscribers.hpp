// subscribers: which resources of providers somebody wants to hear about, counted over all shards:
// the subscriptions of sessions and the open subscriptions/listen requests. The provider is told of
// the first and of the last (pillion/provider.hpp).
//
// Thread-safety: any thread. The provider is called under the lock, so that it hears of things in
// the order in which they happened.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <pillion/provider.hpp>

#include "base/hash.hpp"

namespace pillion::mcp {

class subscribers {
 public:
    // Providers stay the same while a server runs.
    explicit subscribers(std::vector<std::shared_ptr<resource_provider>> of) noexcept
        : providers_(std::move(of)) {}

    // One more, or one less. URIs that no provider owns are not counted.
    void add(std::string_view uri);
    void remove(std::string_view uri);

    // URIs that somebody wants to hear about.
    std::size_t size() const;

 private:
    resource_provider* owner_of(std::string_view uri) const noexcept;

    const std::vector<std::shared_ptr<resource_provider>> providers_;
    mutable std::mutex mutex_;
    std::unordered_map<std::string, std::size_t, base::bytes_hash, std::equal_to<>> counts_;
};

}  // namespace pillion::mcp
