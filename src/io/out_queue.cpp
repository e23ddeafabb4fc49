#include "io/out_queue.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "base/assert.hpp"

namespace pillion::io {

void out_queue::push(base::chunk* bytes) noexcept {
    if (bytes == nullptr || bytes->size() == 0) {
        base::chunk_pool::give(bytes);
        return;
    }
    if (count_ == gathered_ || !merge(*bytes)) {
        return append({bytes->data() + bytes->begin, bytes->size(), bytes});
    }
    base::chunk_pool::give(bytes);
}

// Behind others that wait, a small chunk is copied into the room of the last one: what a slow peer
// has not read should not take several times its size.
bool out_queue::merge(const base::chunk& bytes) noexcept {
    entry& last = at(count_ - 1);
    if (last.owned == nullptr || bytes.size() > copy_bytes_max ||
        last.owned->room() < bytes.size()) {
        return false;
    }
    std::memcpy(last.owned->data() + last.owned->end, bytes.data() + bytes.begin, bytes.size());
    last.owned->end += static_cast<std::uint32_t>(bytes.size());
    last.bytes += bytes.size();
    bytes_ += bytes.size();
    return true;
}

void out_queue::push_static(std::string_view bytes) noexcept {
    if (!bytes.empty()) {
        append({bytes.data(), bytes.size(), nullptr});
    }
}

void out_queue::append(entry e) noexcept {
    if (count_ == capacity_) {
        grow();
    }
    at(count_) = e;
    ++count_;
    bytes_ += e.bytes;
}

std::size_t out_queue::largest() const noexcept {
    std::size_t most = 0;
    for (std::size_t i = 0; i < count_; ++i) {
        most = std::max(most, ring_[(head_ + i) & (capacity_ - 1)].bytes);
    }
    return most;
}

void out_queue::grow() noexcept {
    base::chunk* bigger = pool_->take(capacity_ * 2 * sizeof(entry));
    const auto capacity =
        static_cast<std::uint32_t>(std::bit_floor(bigger->capacity / sizeof(entry)));
    auto* entries = reinterpret_cast<entry*>(bigger->data());
    for (std::size_t i = 0; i < count_; ++i) {
        ::new (static_cast<void*>(entries + i)) entry(at(i));
    }
    base::chunk_pool::give(ring_chunk());
    ring_ = entries;
    capacity_ = capacity;
    head_ = 0;
}

base::chunk* out_queue::ring_chunk() noexcept {
    // It has a chunk to itself, from its first byte on.
    return ring_ == inline_ ? nullptr : reinterpret_cast<base::chunk*>(ring_) - 1;
}

void out_queue::shrink() noexcept {
    base::chunk_pool::give(ring_chunk());
    ring_ = inline_;
    capacity_ = inline_entries;
    head_ = 0;
}

std::size_t out_queue::gather(iovec* parts) noexcept {
    if (count_ > 1 && bytes_ <= copy_bytes_max) {
        coalesce();
    }
    const std::size_t count = count_ < gather_max ? count_ : gather_max;
    for (std::size_t i = 0; i < count; ++i) {
        parts[i] = {const_cast<char*>(at(i).text), at(i).bytes};
    }
    gathered_ = static_cast<std::uint32_t>(count);
    return count;
}

// Several small pieces become one: a plain send of few bytes is cheaper than a gathering one.
void out_queue::coalesce() noexcept {
    entry& first = at(0);
    const std::size_t total = bytes_;
    // The first chunk often has room for the rest.
    const bool fits = first.owned != nullptr && first.owned->room() >= total - first.bytes;
    base::chunk* to = fits ? first.owned : pool_->take(total);
    const std::size_t from = fits ? 1 : 0;
    for (std::size_t i = from; i < count_; ++i) {
        std::memcpy(to->data() + to->end, at(i).text, at(i).bytes);
        to->end += static_cast<std::uint32_t>(at(i).bytes);
        base::chunk_pool::give(at(i).owned);
    }
    const char* text = fits ? first.text : to->data() + to->begin;
    first = {text, total, to};
    count_ = 1;
}

void out_queue::sent(std::size_t bytes) noexcept {
    PILLION_ASSERT(bytes <= bytes_);
    bytes_ -= bytes;
    gathered_ = 0;
    while (count_ > 0) {
        entry& first = at(0);
        if (bytes < first.bytes) {
            first.text += bytes;
            first.bytes -= bytes;
            return;
        }
        bytes -= first.bytes;
        base::chunk_pool::give(first.owned);
        head_ = (head_ + 1) & (capacity_ - 1);
        --count_;
    }
    shrink();
}

void out_queue::clear() noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
        base::chunk_pool::give(at(i).owned);
    }
    count_ = 0;
    bytes_ = 0;
    gathered_ = 0;
    shrink();
}

}  // namespace pillion::io
