// The runner's arrays and combinations, and what no other keyword looked at.
#include <algorithm>
#include <cstring>

#include "json/node.hpp"
#include "schema/runner.hpp"

namespace pillion::schema_check {

void runner::marks::set_all() noexcept {
    if (count > 0) {
        std::memset(words, 0xFF, count * sizeof(std::uint64_t));
    }
}

void runner::marks::merge(const marks& other) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        words[i] |= other.words[i];
    }
}

// One bit for each member or element of `value`, which is not empty.
void runner::open(marks& made, json::view value) noexcept {
    made.count = (value.size() + 63) / 64;
    made.words = &made.local;
    if (made.count > 1) {
        made.words = static_cast<std::uint64_t*>(scratch_.take(made.count * sizeof(std::uint64_t)));
        std::memset(made.words, 0, made.count * sizeof(std::uint64_t));
        budget_.spend(made.count / 8);
    }
}

void runner::close(marks& made) noexcept {
    if (made.words != &made.local) {
        scratch_.give(made.words, made.count * sizeof(std::uint64_t));
    }
}

// A block whose refusal is an answer, not a failure.
bool runner::probe(std::uint32_t index, json::view value, const frame* at) noexcept {
    ++probes_;
    const bool holds = block_holds(index, value, at);
    --probes_;
    return holds;
}

// A probe of the value itself: what it looked at counts only if it holds.
bool runner::branch(std::uint32_t index, json::view value, const frame* at) noexcept {
    marks* const outer = marks_;
    if (outer == nullptr) {
        return probe(index, value, at);
    }
    marks own;
    open(own, value);
    marks_ = &own;
    const bool holds = probe(index, value, at);
    marks_ = outer;
    if (holds) {
        outer->merge(own);
    }
    close(own);
    return holds;
}

bool runner::items(const step& one, json::view value, const frame* at) noexcept {
    const hidden_marks hidden(marks_);
    const std::size_t size = value.raw()->size;
    const std::size_t count = one.c == no_block ? std::min<std::size_t>(one.b, size) : size;
    const json::node* element = value.raw() + 1;
    bool holds = budget_.spend(count);
    for (std::size_t i = 0; i < count && !budget_.exhausted(); ++i, element = json::next(element)) {
        if (hidden.get() != nullptr) {
            hidden.get()->set(i);
        }
        frame below;
        below.parent = at;
        below.index = i;
        if (!child(one, i < one.b ? from_.children[one.a + i] : one.c, json::view(element),
                   below)) {
            holds = false;
            if (ends()) {
                break;
            }
        }
    }
    return holds;
}

bool runner::contains(const step& one, json::view value, const frame* at) noexcept {
    if (!value.is_array()) {
        return true;
    }
    const hidden_marks hidden(marks_);
    const std::uint64_t least = from_.counts[one.b];
    const std::uint64_t most = from_.counts[one.b + 1];
    std::uint64_t found = 0;
    std::size_t i = 0;
    for (const json::view element : value.elements()) {
        if (budget_.spend(1) && probe(one.a, element, at)) {
            ++found;
            if (hidden.get() != nullptr) {
                hidden.get()->set(i);
            }
        }
        ++i;
        if (budget_.exhausted() || too_deep_) {
            return false;
        }
        // Nothing more can change the answer, and nobody wants to know which ones they are.
        if (hidden.get() == nullptr && (found > most || (found >= least && most == UINT64_MAX))) {
            break;
        }
    }
    return (found >= least && found <= most) || fail(one, at);
}

// Sorted by hash, equal elements are neighbours.
bool runner::unique(json::view value) noexcept {
    struct hashed {
        std::uint64_t hash;
        json::view value;
    };
    const std::size_t count = value.size();
    if (count < 2 || !budget_.spend(2 * count)) {
        return true;
    }
    const std::size_t bytes = count * sizeof(hashed);
    auto* const all = static_cast<hashed*>(scratch_.take(bytes));
    std::size_t filled = 0;
    for (const json::view element : value.elements()) {
        all[filled++] = hashed{hash_of(element, scratch_, budget_), element};
    }
    std::sort(all, all + count, [](const hashed& a, const hashed& b) { return a.hash < b.hash; });
    bool holds = true;
    for (std::size_t i = 0; holds && i < count; ++i) {
        for (std::size_t j = i + 1; holds && j < count && all[j].hash == all[i].hash; ++j) {
            holds = budget_.spend(1) && !equal(all[i].value, all[j].value, scratch_, budget_);
        }
    }
    scratch_.give(all, bytes);
    return holds;
}

bool runner::unevaluated(const step& one, json::view value, const frame* at) noexcept {
    const bool object = one.code == op::unevaluated_properties;
    if (marks_ == nullptr || (object ? !value.is_object() : !value.is_array())) {
        return true;
    }
    const hidden_marks hidden(marks_);
    bool holds = true;
    std::size_t i = 0;
    const auto check = [&](json::view part, frame& below) {
        if (!hidden.get()->has(i) && (!budget_.spend(1) || !child(one, one.a, part, below))) {
            holds = false;
        }
        ++i;
        return holds || !ends();
    };
    frame below;
    below.parent = at;
    below.in_object = object;
    below.declared = !object;
    for (const json::member m : value.members()) {
        below.key = m.key;
        if (!check(m.value, below)) {
            return false;
        }
    }
    for (const json::view element : value.elements()) {
        below.index = i;
        if (!check(element, below)) {
            return false;
        }
    }
    hidden.get()->set_all();
    return holds;
}

bool runner::all_of(const step& one, json::view value, const frame* at) noexcept {
    bool holds = true;
    for (std::uint32_t i = one.a; i < one.a + one.b && (holds || !ends()); ++i) {
        holds = block_holds(from_.children[i], value, at) && holds;
    }
    return holds;
}

bool runner::some_of(const step& one, json::view value, const frame* at) noexcept {
    std::uint32_t matches = 0;
    for (std::uint32_t i = one.a; i < one.a + one.b; ++i) {
        matches += branch(from_.children[i], value, at) ? 1 : 0;
        if (budget_.exhausted() || too_deep_) {
            return false;
        }
        if (one.code == op::any_of ? matches > 0 && marks_ == nullptr : matches > 1) {
            break;
        }
    }
    const bool holds = one.code == op::any_of ? matches > 0 : matches == 1;
    if (!holds) {
        fail(one, at);
        if (matches == 0 && !choosing_) {
            explain(one, value, at);
        }
    }
    return holds;
}

// Says also what is wrong with the one alternative whose kind the value is of, if that is clear.
void runner::explain(const step& one, json::view value, const frame* at) noexcept {
    const std::size_t before = reporter_.count();
    const hidden_marks hidden(marks_);
    std::uint32_t fitting = no_block;
    std::uint32_t count = 0;
    // Alternatives of alternatives are not explained yet, or each level would double the work.
    choosing_ = true;
    for (std::uint32_t i = one.a; i < one.a + one.b && count < 2 && !ends(); ++i) {
        block_holds(from_.children[i], value, at);
        if (!reporter_.of_another_kind(before, at)) {
            fitting = from_.children[i];
            ++count;
        }
        reporter_.forget(before);
    }
    choosing_ = false;
    if (count == 1 && !ends()) {
        block_holds(fitting, value, at);
    }
}

bool runner::condition(const step& one, json::view value, const frame* at) noexcept {
    const bool holds = branch(one.a, value, at);
    const std::uint32_t next = holds ? one.b : one.c;
    return !budget_.exhausted() && !too_deep_ && (next == no_block || block_holds(next, value, at));
}

// The outermost resource of the dynamic scope that has the anchor (core §8.2.3.2).
bool runner::dynamic_reference(const step& one, json::view value, const frame* at) noexcept {
    const dynamic_jump& jump = from_.dynamics[one.a];
    const dynamic_entry* const first = from_.dynamic_entries.data() + jump.first;
    const dynamic_entry* const last = first + jump.count;
    std::uint32_t target = jump.fallback;
    for (std::size_t i = 0; i < scope_count_; ++i) {
        if (!budget_.spend(1)) {
            return false;
        }
        const dynamic_entry* const found = std::lower_bound(
            first, last, scopes_[i],
            [](const dynamic_entry& e, std::uint32_t resource) { return e.resource < resource; });
        if (found != last && found->resource == scopes_[i]) {
            target = found->block;
            break;
        }
    }
    return block_holds(target, value, at);
}

}  // namespace pillion::schema_check
