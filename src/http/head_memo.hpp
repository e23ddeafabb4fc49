// head_memo: heads that clients send again with every request, found by their bytes instead of
// parsed anew.
//
// What may differ from the head that was parsed: the letter case of field names, the digits of
// Content-Length and the values of X-Request-Id and traceparent, as long as they have the same
// length. All that a parser says follows from the rest. Whoever sends different heads each time
// pays a look at the ones kept, and is soon no longer kept at all.
//
// Comparing takes the same time wherever the difference is: heads carry credentials.
// What a head leaves behind when another one takes its place is wiped, and all at the end. Its
// memory is fixed. Thread: its owner's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/limits.hpp"
#include "http/head.hpp"

namespace pillion::http {

class head_memo {
 public:
    head_memo() noexcept = default;
    head_memo(const head_memo&) = delete;
    head_memo& operator=(const head_memo&) = delete;
    ~head_memo() { clear(); }

    // The head at the begin of data[0..size), if it is one of those that are kept; nullptr
    // otherwise, which says nothing about it. Its views point into the memo and are valid until the
    // next add() or find(). Reads up to limits::padding bytes past `size`, which must be readable.
    request_head* find(const char* data, std::size_t size) noexcept;

    // Keeps a head that was parsed and that find() did not know, and gives the copy; nullptr if it
    // is none to keep.
    request_head* add(const request_head& parsed) noexcept;

    // The limits of the parser have changed. Forgets all there is.
    void clear() noexcept;

 private:
    static constexpr std::size_t entries = 8;
    static constexpr std::size_t bytes_max = 1024;
    static constexpr std::size_t step_bytes = 32;
    // Of clients whose heads never come again: after so many in a row, only one of so many is kept.
    static constexpr std::uint32_t strangers_max = 64;
    static constexpr std::uint32_t strangers_kept_every = 64;

    struct entry {
        std::uint32_t bytes = 0;  // 0: free
        text_range length{};      // the digits of Content-Length
        // Other values that may differ. Unused ones are empty.
        text_range values[2]{};
        request_head head;
        char text[bytes_max + limits::padding];
        // Bits that must be equal; beyond the head none.
        char matters[bytes_max + limits::padding];
    };

    static bool same(const entry& kept, const char* data) noexcept;
    static request_head* recall(entry& kept, const char* data) noexcept;
    static text_range let_differ(entry& kept, header_id id) noexcept;

    entry entries_[entries];
    std::size_t recent_ = entries;  // found last; entries: none
    std::size_t next_ = 0;          // replaced next
    std::uint32_t strangers_ = 0;
};

}  // namespace pillion::http
