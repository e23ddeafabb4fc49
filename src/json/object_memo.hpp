// object_memo: members that clients send again with every message, such as `_meta`, found by their
// bytes instead of parsed anew.
//
// All that a parser makes of an object follows from its bytes, so that one which was parsed is
// copied, nodes and all. Whoever sends a different one each time pays a look at those that are
// kept, and is soon no longer kept at all. What would be rewritten in place (escapes) is not kept.
//
// Comparing takes the same time wherever the difference is: they are of different clients. What
// leaves is wiped, and all at the end. Its memory is fixed. Thread: its owner's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "json/node.hpp"

namespace pillion::json {

class object_memo {
 public:
    // Of members of that name, a constant, at any depth.
    explicit object_memo(std::string_view name) noexcept : name_(name) {}
    object_memo(const object_memo&) = delete;
    object_memo& operator=(const object_memo&) = delete;
    ~object_memo();

    bool is_for(std::string_view name) const noexcept { return name == name_; }

    static constexpr std::size_t bytes_min = 32;  // less is parsed as soon as compared
    static constexpr std::size_t bytes_max = 512;
    static constexpr std::size_t nodes_max = 32;

    struct entry {
        std::uint16_t bytes = 0;  // 0: free
        std::uint16_t nodes = 0;
        std::uint16_t containers = 0;  // no fewer than are nested
        char text[bytes_max];
        node made[nodes_max];              // texts as distances from the first byte
        std::uint64_t is_text[nodes_max];  // all bits or none

        // Makes its nodes at `out`, of the same object at `at`; gives the end of them.
        node* put(const char* at, node* out) const noexcept;
    };

    // The one that begins at `at`; nullptr if it is none of those that are kept, which says nothing
    // about it. Valid until the next add(). Reads nothing from `end` on.
    const entry* find(const char* at, const char* end) noexcept;

    // Keeps an object that was parsed into [first, last) and that find() did not know, unless it is
    // none to keep. `text` are its bytes as they came.
    void add(std::string_view text, const node* first, const node* last) noexcept;

 private:
    static constexpr std::size_t entries = 8;
    // Of clients whose objects never come again: after so many in a row, only one of so many is
    // kept, and one entry looked at instead of all.
    static constexpr std::uint32_t strangers_max = 64;

    static bool same(const entry& kept, const char* at) noexcept;

    std::string_view name_;
    std::size_t recent_ = 0;  // found last
    std::size_t next_ = 0;    // replaced next
    std::uint32_t strangers_ = 0;
    entry entries_[entries];
};

}  // namespace pillion::json
