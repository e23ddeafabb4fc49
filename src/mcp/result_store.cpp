#include "mcp/result_store.hpp"

#include <utility>

#include "base/assert.hpp"
#include "base/base64.hpp"
#include "base/random.hpp"

namespace pillion::mcp {

std::size_t kept_result::bytes() const noexcept {
    std::size_t sum = 0;
    for (const kept_piece& one : pieces) {
        sum += one.bytes.size() + one.mime_type.size() + sizeof one;
    }
    return sum;
}

std::string result_store::keep(kept_result result, std::int64_t now_ms) {
    unsigned char random[20];
    base::os_random(random, sizeof random);
    result.id.resize(base::base64::encoded_size(sizeof random, base::base64::form::url));
    base::base64::encode({reinterpret_cast<const char*>(random), sizeof random}, result.id.data(),
                         base::base64::form::url);
    const auto kept = std::make_shared<const kept_result>(std::move(result));
    PILLION_ASSERT(takes(kept->bytes()));
    expire(now_ms);
    const std::lock_guard lock(mutex_);
    while (bytes_ + kept->bytes() > bytes_max_) {
        drop_oldest();
    }
    oldest_.push_back(kept);
    bytes_ += kept->bytes();
    return kept->id;
}

kept_ref result_store::find(std::string_view id, std::int64_t now_ms) const {
    const std::lock_guard lock(mutex_);
    for (const kept_ref& one : oldest_) {
        if (one->id == id) {
            return one->expires_ms > now_ms ? one : nullptr;
        }
    }
    return nullptr;
}

void result_store::expire(std::int64_t now_ms) {
    const std::lock_guard lock(mutex_);
    // All are kept equally long, but for a change of the settings: then some go a little later.
    while (!oldest_.empty() && oldest_.front()->expires_ms <= now_ms) {
        drop_oldest();
    }
}

std::size_t result_store::count() const {
    const std::lock_guard lock(mutex_);
    return oldest_.size();
}

std::size_t result_store::bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
}

void result_store::drop_oldest() {
    bytes_ -= oldest_.front()->bytes();
    oldest_.pop_front();
}

}  // namespace pillion::mcp
