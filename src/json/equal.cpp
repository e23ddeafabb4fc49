// Deep equality of JSON values (json::equal).
#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include <pillion/json.hpp>

#include "base/hash.hpp"
#include "base/number.hpp"
#include "json/node.hpp"

namespace pillion::json {

namespace {

// Objects up to this size are compared by lookup, which needs no memory.
constexpr std::uint32_t lookup_members_max = 16;

bool equal_nodes(const node* a, const node* b);

bool equal_arrays(const node* a, const node* b) {
    if (a->size != b->size) {
        return false;
    }
    const node* x = a + 1;
    const node* y = b + 1;
    for (std::uint32_t left = a->size; left > 0; --left) {
        if (!equal_nodes(x, y)) {
            return false;
        }
        x = next(x);
        y = next(y);
    }
    return true;
}

// Whether the member is the last of its name. Hidden ones must not be compared: besides being
// wrong it would double the work at every level of nesting.
bool visible(view object, const member& m) noexcept { return object[m.key].raw() == m.value.raw(); }

bool equal_small(view a, view b) {
    std::size_t in_a = 0;
    std::size_t in_b = 0;
    for (const member m : b.members()) {
        in_b += visible(b, m) ? 1 : 0;
    }
    for (const member m : a.members()) {
        if (visible(a, m)) {
            ++in_a;
            if (!equal(m.value, b[m.key]) || in_a > in_b) {
                return false;
            }
        }
    }
    return in_a == in_b;
}

struct hashed_member {
    std::uint64_t hash;
    const node* name;  // the value is the next node
};

// The members of `object` in an order that depends on their names only, the last of equal names
// alone. By a keyed hash first: names with long common beginnings would be slow to compare, and a
// peer cannot make hashes collide.
std::vector<hashed_member> sorted(const node* object) {
    std::vector<hashed_member> all;
    all.reserve(object->size);
    const node* const end = next(object);
    for (const node* name = object + 1; name != end; name = next(name + 1)) {
        all.push_back({base::hash_bytes(name->view_text()), name});
    }
    // Equal names in input order, which is the order of their nodes.
    std::sort(all.begin(), all.end(), [](const hashed_member& x, const hashed_member& y) {
        if (x.hash != y.hash) {
            return x.hash < y.hash;
        }
        const int order = x.name->view_text().compare(y.name->view_text());
        return order != 0 ? order < 0 : std::less<const node*>()(x.name, y.name);
    });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (i + 1 == all.size() || all[i].hash != all[i + 1].hash ||
            all[i].name->view_text() != all[i + 1].name->view_text()) {
            all[kept++] = all[i];
        }
    }
    all.resize(kept);
    return all;
}

// Sorting keeps a hostile pair of large objects from costing quadratic time.
bool equal_large(const node* a, const node* b) {
    const std::vector<hashed_member> x = sorted(a);
    const std::vector<hashed_member> y = sorted(b);
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const hashed_member& m, const hashed_member& n) {
                          return m.hash == n.hash && m.name->view_text() == n.name->view_text() &&
                                 equal_nodes(m.name + 1, n.name + 1);
                      });
}

bool equal_objects(const node* a, const node* b) {
    if (std::max(a->size, b->size) > lookup_members_max) {
        return equal_large(a, b);
    }
    return equal_small(view(a), view(b));
}

bool equal_nodes(const node* a, const node* b) {
    if (a->type != b->type) {
        return false;
    }
    switch (a->type) {
        case kind::missing:
        case kind::null:
            return true;
        case kind::boolean:
            return a->flag == b->flag;
        case kind::number:
            return base::same_number(a->view_text(), b->view_text());
        case kind::string:
            return a->view_text() == b->view_text();
        case kind::array:
            return equal_arrays(a, b);
        case kind::object:
            return equal_objects(a, b);
    }
    return false;
}

}  // namespace

// Recursion is bounded by the depth limit of the parser.
bool equal(view a, view b) {
    if (!a || !b) {
        return a.exists() == b.exists();
    }
    return equal_nodes(a.raw(), b.raw());
}

}  // namespace pillion::json
