// The runner's core: blocks, values, objects. Arrays, combinations and what others left over are in
// runner_items.cpp.
#include "schema/runner.hpp"

#include <algorithm>
#include <bit>

#include "base/number.hpp"
#include "json/node.hpp"

namespace pillion::schema_check {

namespace {

// Runs of names up to this length are searched one by one.
constexpr std::uint32_t linear_names_max = 8;
// Bytes of text that a step pays for.
constexpr std::size_t text_bytes_per_step = 64;

// By json::kind.
constexpr std::uint32_t kind_bits[] = {0,          bit_null,  bit_boolean, bit_number,
                                       bit_string, bit_array, bit_object};
static_assert(kind_bits[static_cast<std::size_t>(json::kind::object)] == bit_object);

bool has_type(std::uint32_t types, const json::node& value) noexcept {
    const std::uint32_t bit = kind_bits[static_cast<std::size_t>(value.type)];
    return (types & bit) != 0 || (bit == bit_number && (types & bit_integer) != 0 &&
                                  (value.flag || decimal::parse(value.view_text()).integral()));
}

// Characters of valid UTF-8.
std::uint64_t code_points(std::string_view text) noexcept {
    return static_cast<std::uint64_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
}

}  // namespace

runner::runner(const program& from, base::arena& memory, std::span<failure> errors,
               std::size_t& count) noexcept
    : from_(from), scratch_(memory), budget_(steps_max), reporter_(from, memory, errors, count) {
    if (!from.dynamics.empty()) {
        scopes_ = memory.array<std::uint32_t>(depth_max);
    }
}

bool runner::run(json::view instance) noexcept {
    static constexpr json::node nothing{json::kind::missing, false, 0, {nullptr}};
    const bool holds = block_holds(0, instance.exists() ? instance : json::view(&nothing), nullptr);
    if (too_deep_) {
        reporter_.limit("is nested too deeply to be checked");
        return false;
    }
    if (budget_.exhausted()) {
        reporter_.limit("takes too long to be checked");
        return false;
    }
    return holds;
}

bool runner::fail(const step& one, const frame* at) noexcept {
    if (probes_ == 0 && !budget_.exhausted() && !too_deep_) {
        reporter_.add(one, at);
    }
    return false;
}

[[gnu::always_inline]] inline bool runner::steps_hold(std::span<const step> steps, json::view value,
                                                      const frame* at) noexcept {
    bool holds = true;
    for (const step& one : steps) {
        // What is left over means nothing behind a failure.
        if (!holds && one.code >= op::unevaluated_properties) {
            break;
        }
        if (!step_holds(one, value, at)) {
            holds = false;
            if (ends()) {
                break;
            }
        }
    }
    return holds;
}

bool runner::block_holds(std::uint32_t index, json::view value, const frame* at) noexcept {
    const block& here = from_.blocks[index];
    const step* first = from_.steps.data() + here.first;
    const step* const last = first + here.count;
    if (here.types != 0) {
        // A value of another kind is not looked at any further: that is enough to be told.
        if (!has_type(here.types, *value.raw())) {
            return fail(*first, at);
        }
        ++first;
    }
    if (first == last) {
        return true;
    }
    if (depth_ == depth_max || !budget_.spend(1 + here.count)) {
        too_deep_ = too_deep_ || depth_ == depth_max;
        return false;
    }
    ++depth_;
    const bool enters =
        scopes_ != nullptr && (scope_count_ == 0 || scopes_[scope_count_ - 1] != here.resource);
    if (enters) {
        scopes_[scope_count_++] = here.resource;
    }
    const bool holds = here.unevaluated ? tracked_steps_hold({first, last}, value, at)
                                        : steps_hold({first, last}, value, at);
    scope_count_ -= enters ? 1 : 0;
    --depth_;
    return holds;
}

// With marks of what this schema and those it applies look at, seen from nowhere else (core §11).
bool runner::tracked_steps_hold(std::span<const step> steps, json::view value,
                                const frame* at) noexcept {
    if (value.size() == 0) {
        return steps_hold(steps, value, at);
    }
    marks* const outer = marks_;
    marks own;
    open(own, value);
    marks_ = &own;
    const bool holds = steps_hold(steps, value, at);
    marks_ = outer;
    if (holds && outer != nullptr) {
        outer->merge(own);
    }
    close(own);
    return holds;
}

bool runner::step_holds(const step& one, json::view value, const frame* at) noexcept {
    switch (one.code) {
        case op::minimum:
        case op::maximum:
        case op::exclusive_minimum:
        case op::exclusive_maximum:
            return value.raw()->type != json::kind::number || bound_holds(one, value) ||
                   fail(one, at);
        case op::min_length:
        case op::max_length:
            return value.raw()->type != json::kind::string || length_holds(one, value) ||
                   fail(one, at);
        case op::properties:
            return value.raw()->type != json::kind::object || properties(one, value, at);
        case op::items:
            return value.raw()->type != json::kind::array || items(one, value, at);
        case op::all_of:
            return all_of(one, value, at);
        case op::any_of:
        case op::one_of:
            return some_of(one, value, at);
        case op::condition:
            return condition(one, value, at);
        case op::reference:
            return block_holds(one.a, value, at);
        case op::dynamic_reference:
            return dynamic_reference(one, value, at);
        case op::negation: {
            const hidden_marks hidden(marks_);
            return !probe(one.a, value, at) || fail(one, at);
        }
        case op::unevaluated_properties:
        case op::unevaluated_items:
            return unevaluated(one, value, at);
        default:
            return container_holds(one, value, at);
    }
}

bool runner::container_holds(const step& one, json::view value, const frame* at) noexcept {
    switch (one.code) {
        case op::dependent_required:
            return dependent_required(one, value, at);
        case op::property_names:
            return property_names(one, value, at);
        case op::contains:
            return contains(one, value, at);
        case op::dependent_schema:
            return !member(value, from_.names[one.b]).exists() || block_holds(one.a, value, at);
        default:
            return value_holds(one, value) || fail(one, at);
    }
}

bool runner::value_holds(const step& one, json::view value) noexcept {
    const json::node& node = *value.raw();
    switch (one.code) {
        case op::enumeration:
        case op::constant:
            return among(one, value);
        case op::multiple_of:
            return node.type != json::kind::number ||
                   is_multiple(decimal::parse(node.view_text()), from_.divisors[one.a].by);
        case op::unique_items:
            return node.type != json::kind::array || unique(value);
        case op::pattern:
            return node.type != json::kind::string || pattern_holds(one.a, node.view_text());
        case op::format:
            return node.type != json::kind::string || !budget_.spend(node.size / 16) ||
                   from_.formats[one.a].check(node.view_text());
        case op::min_items:
            return node.type != json::kind::array || node.size >= from_.counts[one.a];
        case op::max_items:
            return node.type != json::kind::array || node.size <= from_.counts[one.a];
        case op::min_properties:
            return node.type != json::kind::object || node.size >= from_.counts[one.a];
        case op::max_properties:
            return node.type != json::kind::object || node.size <= from_.counts[one.a];
        default:
            return false;
    }
}

bool runner::among(const step& one, json::view value) noexcept {
    const json::node& node = *value.raw();
    for (std::uint32_t i = one.a; i < one.a + one.b; ++i) {
        const json::node& allowed = *from_.values[i].raw();
        if (allowed.type != node.type) {
            continue;
        }
        if (node.type == json::kind::string) {
            if (allowed.view_text() == node.view_text()) {
                return true;
            }
        } else if (equal(from_.values[i], value, scratch_, budget_)) {
            return true;
        }
    }
    // Most are over with the first characters.
    budget_.spend(one.b / 4);
    return false;
}

bool runner::bound_holds(const step& one, json::view value) noexcept {
    const bound& limit = from_.bounds[one.a];
    const std::string_view text = value.raw()->view_text();
    if (number_ != value.raw()) {
        number_ = value.raw();
        brief_ = short_decimal::parse(text);
    }
    const int order = brief_.valid() && limit.brief.valid()
                          ? compare(brief_, limit.brief)
                          : compare(decimal::parse(text), limit.exact);
    switch (one.code) {
        case op::minimum:
            return order >= 0;
        case op::maximum:
            return order <= 0;
        case op::exclusive_minimum:
            return order > 0;
        default:
            return order < 0;
    }
}

// A character has one byte to four, so most texts need not be counted.
bool runner::length_holds(const step& one, json::view value) noexcept {
    const std::string_view text = value.raw()->view_text();
    const std::uint64_t limit = from_.counts[one.a];
    const bool least = one.code == op::min_length;
    if (least ? text.size() / 4 >= limit : text.size() <= limit) {
        return true;
    }
    if (!budget_.spend(text.size() / text_bytes_per_step)) {
        return false;
    }
    const std::uint64_t length = code_points(text);
    return least ? length >= limit : length <= limit;
}

bool runner::pattern_holds(std::uint32_t index, std::string_view text) noexcept {
    return from_.patterns[index].expression->matches(text, budget_);
}

json::view runner::member(json::view object, std::string_view name) noexcept {
    return object.is_object() && budget_.spend(1 + object.size() / 2) ? object[name] : json::view();
}

bool runner::dependent_required(const step& one, json::view value, const frame* at) noexcept {
    if (!member(value, from_.names[one.c]).exists()) {
        return true;
    }
    bool holds = true;
    for (std::uint32_t i = one.a; i < one.a + one.b && (holds || !ends()); ++i) {
        if (!member(value, from_.names[i]).exists()) {
            frame missing;
            missing.parent = at;
            missing.key = from_.names[i];
            missing.in_object = true;
            holds = fail(one, &missing);
        }
    }
    return holds;
}

// Values mostly have their members in the order of the schema: `hint` is the one expected next.
[[gnu::always_inline]] inline const property* runner::find(const object_rule& rule,
                                                           std::string_view name,
                                                           std::uint32_t hint) const noexcept {
    const property* const first = from_.properties.data() + rule.first;
    const property* const last = first + rule.count;
    const std::uint64_t head = head_of(name);
    const auto is = [name, head](const property& p) {
        return p.head == head && p.name.size() == name.size() &&
               (name.size() <= sizeof head || p.name == name);
    };
    if (hint < rule.count && is(first[hint])) {
        return first + hint;
    }
    if (rule.count <= linear_names_max) {
        const property* const found = std::find_if(first, last, is);
        return found == last ? nullptr : found;
    }
    const property* const found = std::lower_bound(
        first, last, name, [](const property& p, std::string_view text) { return p.name < text; });
    return found != last && found->name == name ? found : nullptr;
}

[[gnu::always_inline]] inline bool runner::member_holds(const step& one, const json::member& m,
                                                        std::uint32_t index, bool declared,
                                                        const frame* at) noexcept {
    frame below;
    below.parent = at;
    below.key = m.key;
    below.in_object = true;
    below.declared = declared;
    return child(one, index, m.value, below);
}

bool runner::by_pattern(const object_rule& rule, const step& one, const json::member& m,
                        bool declared, const frame* at, bool& looked) noexcept {
    bool holds = true;
    for (std::uint32_t i = 0; i < rule.pattern_count; ++i) {
        const pattern_property& p = from_.pattern_properties[rule.pattern_first + i];
        if (pattern_holds(p.pattern, m.key)) {
            looked = true;
            holds = member_holds(one, m, p.block, declared, at) && holds;
        }
        if (!holds && ends()) {
            break;
        }
    }
    return holds;
}

// Says which members are not there that "required" names.
bool runner::all_there(const object_rule& rule, std::uint64_t seen, const frame* at) noexcept {
    for (std::uint64_t left = rule.needed & ~seen; left != 0; left &= left - 1) {
        const auto bit = static_cast<std::uint8_t>(std::countr_zero(left) + 1);
        const property* const first = from_.properties.data() + rule.first;
        const property* const found = std::find_if(
            first, first + rule.count, [bit](const property& p) { return p.needed == bit; });
        step one;
        one.code = op::required;
        frame missing;
        missing.parent = at;
        missing.key = found->name;
        missing.in_object = true;
        fail(one, &missing);
        if (ends()) {
            break;
        }
    }
    return false;
}

bool runner::properties(const step& one, json::view value, const frame* at) noexcept {
    const object_rule& rule = from_.objects[one.a];
    const hidden_marks hidden(marks_);
    std::uint64_t seen = 0;
    std::uint32_t hint = rule.start;
    const std::size_t count = value.raw()->size;
    const json::node* key = value.raw() + 1;
    bool holds = budget_.spend(rule.count <= linear_names_max ? count : 2 * count);
    for (std::size_t i = 0; i < count && !budget_.exhausted(); ++i, key = json::next(key + 1)) {
        const json::member m{key->view_text(), json::view(key + 1)};
        const property* const known = find(rule, m.key, hint);
        bool looked = false;
        bool good = true;
        if (known != nullptr) {
            hint = known->next;
            seen |= known->needed > 0 ? std::uint64_t{1} << (known->needed - 1) : 0;
            looked = known->declared;
            good = !looked || member_holds(one, m, known->block, true, at);
        }
        if (rule.pattern_count > 0 && (good || !ends())) {
            good = by_pattern(rule, one, m, looked, at, looked) && good;
        }
        if (!looked && rule.rest != no_block) {
            looked = true;
            good = member_holds(one, m, rule.rest, false, at);
        }
        if (looked && hidden.get() != nullptr) {
            hidden.get()->set(i);
        }
        holds = holds && good;
        if (!good && ends()) {
            return false;
        }
    }
    const bool there = (rule.needed & ~seen) == 0 || all_there(rule, seen, at);
    return there && holds;
}

bool runner::property_names(const step& one, json::view value, const frame* at) noexcept {
    const hidden_marks hidden(marks_);
    bool holds = true;
    for (const json::member m : value.members()) {
        frame below;
        below.parent = at;
        below.key = m.key;
        below.in_object = true;
        below.declared = false;
        // The node of a name lies in front of its value (json/node.hpp).
        if (!probe(one.a, json::view(m.value.raw() - 1), at)) {
            holds = fail(one, &below);
        }
        if (!holds && ends()) {
            break;
        }
    }
    return holds;
}

}  // namespace pillion::schema_check
