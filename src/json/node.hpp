// node: the 16 bytes behind a json::view.
//
// The nodes of a document lie one behind the other in input order: a container, then its children
// (an object's as key, value, key, value …), each followed by its own. `skip` leads from a
// container over all of them. Text is not copied: it points into the request's buffer, where
// strings were unescaped in place and numbers stand as they came.
//
// Ownership: the arena given to the parser. Immutable once parsed, so any thread may read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <pillion/json.hpp>

namespace pillion::json {

struct node {
    kind type;
    bool flag;           // the value of a boolean; of a number: it is an integer
    std::uint32_t size;  // bytes of text; members; elements
    union {
        const char* text;    // string, number
        std::uint64_t skip;  // array, object: nodes in it, itself included
    };

    std::string_view view_text() const noexcept { return {text, size}; }
};
static_assert(sizeof(node) == 16);

inline bool is_container(const node* n) noexcept { return n->type >= kind::array; }

// The node behind `n` and all that is in it.
inline const node* next(const node* n) noexcept { return n + (is_container(n) ? n->skip : 1); }

// Calls `visit` with the name and the value of each member, in input order: members() without a
// call for each step. Nothing for what is no object.
template <class Visit>
inline void for_each_member(view object, Visit&& visit) noexcept {
    if (!object.is_object()) {
        return;
    }
    const node* at = object.raw() + 1;
    for (std::uint32_t left = object.raw()->size; left > 0; --left) {
        visit(at->view_text(), view(at + 1));
        at = next(at + 1);
    }
}

}  // namespace pillion::json
