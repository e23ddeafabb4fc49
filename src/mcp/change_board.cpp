#include "mcp/change_board.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace pillion::mcp {

change_board::~change_board() {
    while (changed_.pop_front() != nullptr) {
    }
}

bool change_board::add(std::string_view uri) {
    const std::lock_guard lock(mutex_);
    const auto at = resources_.find(uri);
    if (at != resources_.end()) {
        ++at->second.wanted;
        return false;
    }
    const auto made = resources_.try_emplace(std::string(uri), change::resource_updated).first;
    made->second.uri = made->first;
    made->second.wanted = 1;
    return true;
}

bool change_board::remove(std::string_view uri) {
    const std::lock_guard lock(mutex_);
    const auto at = resources_.find(uri);
    PILLION_ASSERT(at != resources_.end());
    if (--at->second.wanted > 0) {
        return false;
    }
    if (at->second.linked()) {
        at->second.unlink();
    }
    resources_.erase(at);
    return true;
}

std::size_t change_board::uris() const {
    const std::lock_guard lock(mutex_);
    return resources_.size();
}

std::vector<std::string> change_board::followed() const {
    std::vector<std::string> all;
    const std::lock_guard lock(mutex_);
    all.reserve(resources_.size());
    for (const auto& one : resources_) {
        all.push_back(one.first);
    }
    return all;
}

bool change_board::is_followed(std::string_view uri) const {
    const std::lock_guard lock(mutex_);
    return resources_.find(uri) != resources_.end();
}

bool change_board::note(change what, std::string_view uri) {
    const std::lock_guard lock(mutex_);
    record* r = nullptr;
    if (what == change::resource_updated) {
        const auto at = resources_.find(uri);
        if (at == resources_.end()) {
            return false;
        }
        r = &at->second;
    } else {
        r = &lists_[static_cast<std::size_t>(what)];
    }
    if (r->linked()) {
        r->unlink();
    }
    r->number = last_.load(std::memory_order_relaxed) + 1;
    changed_.push_front(*r);
    last_.store(r->number, std::memory_order_release);
    return true;
}

std::vector<kept_change> change_board::since(std::uint64_t after) const {
    std::vector<kept_change> found;
    const std::lock_guard lock(mutex_);
    for (const record& r : changed_) {
        if (r.number <= after) {
            break;
        }
        found.push_back({r.what, std::string(r.uri), r.number});
    }
    std::reverse(found.begin(), found.end());
    return found;
}

}  // namespace pillion::mcp
