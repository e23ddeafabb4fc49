// shared_pages: the first pages of the lists as one shard has sent them, so that an answer names
// the text and does not copy it.
//
// Ownership: an edition's, as long as its registry is served from; answers that are still to be
// sent hold their share of a page longer. What is small is not worth it: one send of one piece
// costs less than of two. Thread: its shard.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/chunk.hpp"
#include "mcp/revision.hpp"

namespace pillion::mcp {

class shared_pages {
 public:
    // Lists that are one text for everybody.
    enum class list : unsigned char { tools, prompts, templates };
    static constexpr std::size_t lists = 3;
    // From so many bytes on.
    static constexpr std::size_t bytes_min = 4096;

    shared_pages() = default;
    shared_pages(const shared_pages&) = delete;
    shared_pages& operator=(const shared_pages&) = delete;
    ~shared_pages() {
        for (base::chunk* const page : pages_) {
            base::chunk_pool::give(page);
        }
    }

    // A share of the page, which the caller gives back; null when there is none to be had.
    base::chunk* take(list of, revision rev) const noexcept {
        base::chunk* const page = pages_[at(of, rev)];
        return page != nullptr && base::chunk_pool::share(*page) ? page : nullptr;
    }

    // Remembers the text of a page, if it is worth it. Once for each.
    void keep(list of, revision rev, std::string_view text, base::chunk_pool& pool) noexcept {
        base::chunk*& page = pages_[at(of, rev)];
        if (page != nullptr || text.size() < bytes_min) {
            return;
        }
        page = pool.try_take(text.size());
        if (page == nullptr) {
            return;
        }
        // At the end of the memory: there is no room behind it that an owner might take for its
        // own.
        page->end = page->capacity;
        page->begin = page->end - static_cast<std::uint32_t>(text.size());
        std::memcpy(page->data() + page->begin, text.data(), text.size());
    }

 private:
    static std::size_t at(list of, revision rev) noexcept {
        return static_cast<std::size_t>(of) * revisions + static_cast<std::size_t>(rev);
    }

    std::array<base::chunk*, lists * revisions> pages_{};
};

}  // namespace pillion::mcp
