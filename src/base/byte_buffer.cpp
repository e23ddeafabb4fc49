#include "base/byte_buffer.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace pillion::base {

byte_buffer& byte_buffer::operator=(byte_buffer&& other) noexcept {
    if (this != &other) {
        chunk_pool::give(chunk_);
        pool_ = other.pool_;
        chunk_ = other.chunk_;
        gap_ = other.gap_;
        other.chunk_ = nullptr;
    }
    return *this;
}

void byte_buffer::grow(std::size_t bytes) noexcept {
    const std::size_t used = size();
    const std::size_t gap = chunk_ == nullptr ? gap_ : chunk_->begin;
    // Doubling keeps a large reply's copies linear in its size.
    const std::size_t want = std::max(used + bytes, used * 2);
    move_to(pool_->take(gap + want));
}

bool byte_buffer::try_reserve(std::size_t bytes) noexcept {
    if (chunk_ != nullptr && chunk_->room() >= bytes) {
        return true;
    }
    const std::size_t gap = chunk_ == nullptr ? gap_ : chunk_->begin;
    chunk* const bigger = pool_->try_take(gap + size() + bytes);
    if (bigger != nullptr) {
        move_to(bigger);
    }
    return bigger != nullptr;
}

void byte_buffer::move_to(chunk* bigger) noexcept {
    const std::size_t used = size();
    const std::size_t gap = chunk_ == nullptr ? gap_ : chunk_->begin;
    bigger->begin = static_cast<std::uint32_t>(gap);
    bigger->end = static_cast<std::uint32_t>(gap + used);
    if (used > 0) {
        std::memcpy(bigger->data() + gap, chunk_->data() + chunk_->begin, used);
    }
    chunk_pool::give(chunk_);
    chunk_ = bigger;
}

void byte_buffer::prepend(std::string_view text) noexcept {
    if (chunk_ == nullptr) {
        grow(0);
    }
    PILLION_ASSERT(text.size() <= chunk_->begin);
    chunk_->begin -= static_cast<std::uint32_t>(text.size());
    std::memcpy(chunk_->data() + chunk_->begin, text.data(), text.size());
}

void byte_buffer::truncate(std::size_t bytes) noexcept {
    PILLION_ASSERT(bytes <= size());
    if (chunk_ != nullptr) {
        chunk_->end = chunk_->begin + static_cast<std::uint32_t>(bytes);
    }
}

void byte_buffer::clear() noexcept {
    if (chunk_ != nullptr) {
        chunk_->begin = chunk_->end = static_cast<std::uint32_t>(gap_);
    }
}

}  // namespace pillion::base
