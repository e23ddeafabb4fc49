#include "schema/equality.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

#include "base/number.hpp"
#include "json/node.hpp"

namespace pillion::schema_check {

namespace {

// Objects up to this size are compared by lookup, which needs no memory.
constexpr std::size_t lookup_members_max = 16;
constexpr std::size_t block_bytes_min = 64;

std::size_t size_class(std::size_t bytes) noexcept {
    return static_cast<std::size_t>(std::bit_width(std::max(bytes, block_bytes_min) - 1));
}

class hasher {
 public:
    explicit hasher(std::uint64_t seed) noexcept : bits_(0xcbf29ce484222325U ^ seed) {}
    void mix(std::uint64_t bits) noexcept {
        bits_ = (bits_ ^ bits) * 0x9E3779B97F4A7C15U;
        bits_ ^= bits_ >> 32;
    }
    void mix(std::string_view text) noexcept {
        for (const char c : text) {
            bits_ = (bits_ ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
        }
        mix(text.size());
    }
    std::uint64_t bits() const noexcept { return bits_; }

 private:
    std::uint64_t bits_;
};

// The last of equal names only.
bool visible(json::view object, const json::member& m) noexcept {
    return object[m.key].raw() == m.value.raw();
}

bool equal_small(json::view a, json::view b, scratch& memory, step_budget& budget) noexcept {
    std::size_t in_a = 0;
    std::size_t in_b = 0;
    for (const json::member m : b.members()) {
        in_b += visible(b, m) ? 1 : 0;
    }
    for (const json::member m : a.members()) {
        if (visible(a, m)) {
            ++in_a;
            if (!equal(m.value, b[m.key], memory, budget) || in_a > in_b) {
                return false;
            }
        }
    }
    return in_a == in_b;
}

// The members of `object` ordered by name, the last of equal names only. Returns how many.
std::size_t sort_members(json::view object, json::member* all) noexcept {
    std::size_t count = 0;
    for (const json::member m : object.members()) {
        all[count++] = m;
    }
    // Equal names in input order, which is the order of their nodes.
    std::sort(all, all + count, [](const json::member& x, const json::member& y) {
        const int order = x.key.compare(y.key);
        return order != 0 ? order < 0 : x.value.raw() < y.value.raw();
    });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (i + 1 == count || all[i].key != all[i + 1].key) {
            all[kept++] = all[i];
        }
    }
    return kept;
}

// False when that is more than `budget` has. Sorting n names takes n * log2(n) comparisons, and
// names with one long beginning are read in each.
bool pay_for_sorting(json::view object, step_budget& budget) noexcept {
    std::size_t bytes = 0;
    for (const json::member m : object.members()) {
        bytes += m.key.size();
    }
    const auto rounds = static_cast<std::size_t>(std::bit_width(object.size()));
    return budget.spend(object.size() * (8 + 3 * rounds) + bytes * rounds / 32);
}

bool equal_large(json::view a, json::view b, scratch& memory, step_budget& budget) noexcept {
    const std::size_t bytes = (a.size() + b.size()) * sizeof(json::member);
    if (!pay_for_sorting(a, budget) || !pay_for_sorting(b, budget)) {
        return false;
    }
    auto* const x = static_cast<json::member*>(memory.take(bytes));
    json::member* const y = x + a.size();
    const std::size_t count = sort_members(a, x);
    bool same = count == sort_members(b, y);
    for (std::size_t i = 0; same && i < count; ++i) {
        same = x[i].key == y[i].key && equal(x[i].value, y[i].value, memory, budget);
    }
    memory.give(x, bytes);
    return same;
}

std::uint64_t hash_of_member(const json::member& m, scratch& memory, step_budget& budget) noexcept {
    hasher out(1);
    budget.spend(1 + m.key.size() / 16);
    out.mix(m.key);
    out.mix(hash_of(m.value, memory, budget));
    return out.bits();
}

// A sum, which no order changes, of what equal() compares: the last of equal names only.
std::uint64_t hash_of_members(json::view object, scratch& memory, step_budget& budget) noexcept {
    std::uint64_t sum = 0;
    if (object.size() <= lookup_members_max) {
        for (const json::member m : object.members()) {
            sum += visible(object, m) ? hash_of_member(m, memory, budget) : 0;
        }
        return sum;
    }
    if (!pay_for_sorting(object, budget)) {
        return 0;
    }
    const std::size_t bytes = object.size() * sizeof(json::member);
    auto* const all = static_cast<json::member*>(memory.take(bytes));
    const std::size_t count = sort_members(object, all);
    for (std::size_t i = 0; i < count && !budget.exhausted(); ++i) {
        sum += hash_of_member(all[i], memory, budget);
    }
    memory.give(all, bytes);
    return sum;
}

bool equal_arrays(json::view a, json::view b, scratch& memory, step_budget& budget) noexcept {
    if (a.size() != b.size()) {
        return false;
    }
    auto other = b.elements().begin();
    for (const json::view one : a.elements()) {
        if (!equal(one, *other, memory, budget)) {
            return false;
        }
        ++other;
    }
    return true;
}

}  // namespace

void* scratch::take(std::size_t bytes) noexcept {
    const std::size_t kind = size_class(bytes);
    if (!used_) {
        used_ = true;
        free_.fill(nullptr);
    }
    free_block* const found = free_[kind];
    if (found != nullptr) {
        free_[kind] = found->next;
        return found;
    }
    return memory_.allocate(std::size_t{1} << kind);
}

void scratch::give(void* block, std::size_t bytes) noexcept {
    const std::size_t kind = size_class(bytes);
    free_[kind] = ::new (block) free_block{free_[kind]};
}

// Recursion is bounded by the depth limit of the parser.
bool equal(json::view a, json::view b, scratch& memory, step_budget& budget) noexcept {
    if (a.type() != b.type() || !budget.spend(1)) {
        return false;
    }
    switch (a.type()) {
        case json::kind::missing:
        case json::kind::null:
            return true;
        case json::kind::boolean:
            return a.boolean() == b.boolean();
        case json::kind::number:
            return base::same_number(a.number_text(), b.number_text());
        case json::kind::string:
            return a.str() == b.str();
        case json::kind::array:
            return equal_arrays(a, b, memory, budget);
        case json::kind::object:
            return std::max(a.size(), b.size()) > lookup_members_max
                       ? equal_large(a, b, memory, budget)
                       : equal_small(a, b, memory, budget);
    }
    return false;
}

// Numbers by the nearest double.
std::uint64_t hash_of(json::view value, scratch& memory, step_budget& budget) noexcept {
    hasher out(static_cast<std::uint64_t>(value.type()));
    if (!budget.spend(1)) {
        return 0;
    }
    if (value.is_string()) {
        budget.spend(value.str().size() / 16);
        out.mix(value.str());
    } else if (value.is_number()) {
        char text[base::double_text_max];
        const double number = value.num();
        const char* const end = base::format(text, number == 0 ? 0.0 : number);
        out.mix(std::string_view(text, static_cast<std::size_t>(end - text)));
    } else if (value.is_bool()) {
        out.mix(std::uint64_t{value.boolean() ? 1U : 0U});
    } else if (value.is_array()) {
        for (const json::view one : value.elements()) {
            out.mix(hash_of(one, memory, budget));
        }
    } else if (value.is_object()) {
        out.mix(hash_of_members(value, memory, budget));
    }
    return out.bits();
}

}  // namespace pillion::schema_check
