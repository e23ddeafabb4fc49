#include "base/chunk.hpp"

#include <cstdlib>
#include <new>

#include "base/assert.hpp"

namespace pillion::base {

namespace {

constexpr std::size_t class_bytes[] = {512, 4096, 16384, 65536};
constexpr std::uint16_t heap_class = 4;

std::uint16_t class_of(std::size_t bytes) noexcept {
    const std::size_t total = bytes + sizeof(chunk);
    for (std::uint16_t i = 0; i < heap_class; ++i) {
        if (total <= class_bytes[i]) {
            return i;
        }
    }
    return heap_class;
}

}  // namespace

chunk_pool::~chunk_pool() {
    PILLION_ASSERT(live_ == 0);
    for (chunk*& head : free_) {
        while (head != nullptr) {
            chunk* next = head->next;
            std::free(head);
            head = next;
        }
    }
}

chunk* chunk_pool::take(std::size_t bytes) noexcept {
    chunk* const c = try_take(bytes);
    if (c == nullptr) {
        assert_fail("out of memory", __FILE__, __LINE__);
    }
    return c;
}

chunk* chunk_pool::try_take(std::size_t bytes) noexcept {
    if (bytes > UINT32_MAX - sizeof(chunk)) {
        return nullptr;
    }
    const std::uint16_t cls = class_of(bytes);
    if (cls < heap_class && free_[cls] != nullptr) {
        chunk* c = free_[cls];
        free_[cls] = c->next;
        --free_count_[cls];
        ++live_;
        c->next = nullptr;
        c->begin = c->end = 0;
        return c;
    }
    const std::size_t total = cls < heap_class ? class_bytes[cls] : bytes + sizeof(chunk);
    void* memory = std::malloc(total);
    if (memory == nullptr) {
        return nullptr;
    }
    bytes_ += total;
    ++live_;
    chunk* c = ::new (memory) chunk;
    c->pool = this;
    c->capacity = static_cast<std::uint32_t>(total - sizeof(chunk));
    c->size_class = cls;
    return c;
}

void chunk_pool::give(chunk* c) noexcept {
    if (c == nullptr) {
        return;
    }
    if (c->shares > 0) {
        --c->shares;
        return;
    }
    chunk_pool& pool = *c->pool;
    PILLION_ASSERT(pool.live_ > 0);
    --pool.live_;
    const std::uint16_t cls = c->size_class;
    if (cls < heap_class && pool.free_count_[cls] < free_max[cls]) {
        c->next = pool.free_[cls];
        pool.free_[cls] = c;
        ++pool.free_count_[cls];
        return;
    }
    pool.bytes_ -= c->capacity + sizeof(chunk);
    std::free(c);
}

bool chunk_pool::share(chunk& c) noexcept {
    PILLION_ASSERT(c.room() == 0);
    if (c.shares == UINT16_MAX) {
        return false;
    }
    ++c.shares;
    return true;
}

}  // namespace pillion::base
