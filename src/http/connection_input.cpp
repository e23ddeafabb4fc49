#include "http/connection_input.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "base/limits.hpp"

namespace pillion::http {

char connection_input::nothing_[limits::padding] = {};

void connection_input::consume(std::size_t bytes) noexcept {
    PILLION_ASSERT(bytes <= window_bytes_);
    window_ += bytes;
    window_bytes_ -= bytes;
    if (!lent_ && spill_ != nullptr) {
        spill_->begin += static_cast<std::uint32_t>(bytes);
    }
}

void connection_input::look_at_spill() noexcept {
    lent_ = false;
    if (spill_ != nullptr && spill_->size() == 0) {
        base::chunk_pool::give(spill_);
        spill_ = nullptr;
    }
    window_ = spill_ == nullptr ? nothing_ : spill_->data() + spill_->begin;
    window_bytes_ = spill_ == nullptr ? 0 : spill_->size();
}

void connection_input::lend(char* data, std::size_t bytes) noexcept {
    PILLION_ASSERT(!lent_);
    if (window_bytes_ > 0) {
        keep(data, bytes);
        return;
    }
    window_ = data;
    window_bytes_ = bytes;
    lent_ = true;
}

void connection_input::settle() noexcept {
    if (lent_ && window_bytes_ > 0) {
        append(window_, window_bytes_);
    }
    look_at_spill();
}

void connection_input::keep(const char* data, std::size_t bytes) noexcept {
    PILLION_ASSERT(!lent_);
    append(data, bytes);
    look_at_spill();
}

void connection_input::append(const char* data, std::size_t bytes) noexcept {
    const std::size_t unread = spill_ == nullptr ? 0 : spill_->size();
    const std::size_t want = unread + bytes + limits::padding;
    if (spill_ == nullptr || want > spill_->capacity) {
        // Growing to the next size class of the pool keeps the copies of a long head few.
        const std::size_t room =
            spill_ == nullptr ? want : std::max<std::size_t>(want, spill_->capacity + 64UL);
        base::chunk* bigger = pool_->take(room);
        if (unread > 0) {
            std::memcpy(bigger->data(), spill_->data() + spill_->begin, unread);
        }
        bigger->end = static_cast<std::uint32_t>(unread);
        base::chunk_pool::give(spill_);
        spill_ = bigger;
    } else if (spill_->room() < bytes + limits::padding) {
        std::memmove(spill_->data(), spill_->data() + spill_->begin, unread);
        spill_->begin = 0;
        spill_->end = static_cast<std::uint32_t>(unread);
    }
    std::memcpy(spill_->data() + spill_->end, data, bytes);
    spill_->end += static_cast<std::uint32_t>(bytes);
    // Scanners read into the padding; zeroes there make what they do a function of the input.
    std::memset(spill_->data() + spill_->end, 0, limits::padding);
}

const char* connection_input::retain_head(const char* head, std::size_t bytes) noexcept {
    PILLION_ASSERT(head_ == nullptr);
    if (!lent_ && window_bytes_ == 0 && head + bytes == window_) {
        // It was read from the spill, which holds nothing else any more.
        head_ = spill_;
        spill_ = nullptr;
        return head;
    }
    head_ = pool_->take(bytes + limits::padding);
    std::memcpy(head_->data(), head, bytes);
    return head_->data();
}

void connection_input::release_head() noexcept {
    base::chunk_pool::give(head_);
    head_ = nullptr;
}

void connection_input::clear() noexcept {
    base::chunk_pool::give(spill_);
    spill_ = nullptr;
    release_head();
    look_at_spill();
}

}  // namespace pillion::http
