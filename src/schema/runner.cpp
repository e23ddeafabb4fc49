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

std::uint32_t kind_bit(json::view value) noexcept {
    switch (value.type()) {
        case json::kind::null:
            return bit_null;
        case json::kind::boolean:
            return bit_boolean;
        case json::kind::object:
            return bit_object;
        case json::kind::array:
            return bit_array;
        case json::kind::number:
            return bit_number;
        case json::kind::string:
            return bit_string;
        case json::kind::missing:
            break;
    }
    return 0;
}

bool is_whole(json::view number) noexcept {
    return number.is_integer() || decimal::parse(number.number_text()).integral();
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
    : from_(from),
      memory_(memory),
      scratch_(memory),
      budget_(steps_max),
      reporter_(from, memory, errors, count) {
    if (!from.dynamics.empty()) {
        scopes_ = memory.array<std::uint32_t>(depth_max);
    }
}

bool runner::run(json::view instance) noexcept {
    const bool holds = block_holds(0, instance, nullptr);
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

bool runner::block_holds(std::uint32_t index, json::view value, const frame* at) noexcept {
    const block& here = from_.blocks[index];
    if (here.count == 0) {
        return true;
    }
    if (depth_ == depth_max) {
        too_deep_ = true;
        return false;
    }
    ++depth_;
    const bool enters =
        scopes_ != nullptr && (scope_count_ == 0 || scopes_[scope_count_ - 1] != here.resource);
    if (enters) {
        scopes_[scope_count_++] = here.resource;
    }
    bool holds = false;
    if (here.unevaluated && value.size() > 0) {
        // What this schema and those it applies look at, seen from nowhere else (core §11).
        marks* const outer = marks_;
        marks own;
        open(own, value);
        marks_ = &own;
        holds = steps_hold(here, value, at);
        marks_ = outer;
        if (holds && outer != nullptr) {
            outer->merge(own);
        }
        close(own);
    } else {
        holds = steps_hold(here, value, at);
    }
    scope_count_ -= enters ? 1 : 0;
    --depth_;
    return holds;
}

bool runner::steps_hold(const block& here, json::view value, const frame* at) noexcept {
    bool holds = true;
    for (std::uint32_t i = here.first; i < here.first + here.count; ++i) {
        const step& one = from_.steps[i];
        if (!budget_.spend(1)) {
            return false;
        }
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

bool runner::step_holds(const step& one, json::view value, const frame* at) noexcept {
    switch (one.code) {
        case op::required:
        case op::dependent_required:
            return required(one, value, at);
        case op::properties:
            return properties(one, value, at);
        case op::property_names:
            return property_names(one, value, at);
        case op::items:
            return items(one, value, at);
        case op::contains:
            return contains(one, value, at);
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
        case op::dependent_schema:
            return !member(value, from_.names[one.b]).exists() || block_holds(one.a, value, at);
        case op::unevaluated_properties:
        case op::unevaluated_items:
            return unevaluated(one, value, at);
        default:
            return value_holds(one, value) || fail(one, at);
    }
}

bool runner::value_holds(const step& one, json::view value) noexcept {
    switch (one.code) {
        case op::type: {
            const std::uint32_t bit = kind_bit(value);
            return (one.a & bit) != 0 ||
                   (bit == bit_number && (one.a & bit_integer) != 0 && is_whole(value));
        }
        case op::enumeration:
        case op::constant:
            return among(one, value);
        case op::minimum:
        case op::maximum:
        case op::exclusive_minimum:
        case op::exclusive_maximum:
            return !value.is_number() || bound_holds(one, value);
        case op::multiple_of:
            return !value.is_number() ||
                   is_multiple(decimal::parse(value.number_text()), from_.divisors[one.a].by);
        case op::unique_items:
            return !value.is_array() || unique(value);
        case op::pattern:
            return !value.is_string() || pattern_holds(one.a, value.str());
        case op::format:
            return !value.is_string() || !budget_.spend(value.str().size() / 16) ||
                   from_.formats[one.a].check(value.str());
        case op::never:
            return false;
        default:
            return count_holds(one, value);
    }
}

bool runner::among(const step& one, json::view value) noexcept {
    for (std::uint32_t i = one.a; i < one.a + one.b; ++i) {
        if (equal(from_.values[i], value, scratch_, budget_)) {
            return true;
        }
    }
    return false;
}

bool runner::bound_holds(const step& one, json::view value) const noexcept {
    const bound& limit = from_.bounds[one.a];
    int order = 0;
    const std::optional<std::int64_t> whole = limit.whole ? value.i64() : std::nullopt;
    if (whole) {
        order = *whole < *limit.whole ? -1 : (*whole > *limit.whole ? 1 : 0);
    } else {
        order = compare(decimal::parse(value.number_text()), limit.exact);
    }
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

bool runner::count_holds(const step& one, json::view value) noexcept {
    const std::uint64_t limit = from_.counts[one.a];
    switch (one.code) {
        case op::min_length:
        case op::max_length: {
            const std::string_view text = value.str();
            if (!value.is_string() || !budget_.spend(text.size() / text_bytes_per_step)) {
                return true;
            }
            const std::uint64_t length = code_points(text);
            return one.code == op::min_length ? length >= limit : length <= limit;
        }
        case op::min_items:
            return !value.is_array() || value.size() >= limit;
        case op::max_items:
            return !value.is_array() || value.size() <= limit;
        case op::min_properties:
            return !value.is_object() || value.size() >= limit;
        case op::max_properties:
            return !value.is_object() || value.size() <= limit;
        default:
            return false;
    }
}

bool runner::pattern_holds(std::uint32_t index, std::string_view text) noexcept {
    const regex& expression = *from_.patterns[index].expression;
    return budget_.spend(expression.cost(text.size())) && expression.matches(text);
}

json::view runner::member(json::view object, std::string_view name) noexcept {
    return object.is_object() && budget_.spend(1 + object.size() / 8) ? object[name] : json::view();
}

bool runner::required(const step& one, json::view value, const frame* at) noexcept {
    if (!value.is_object() ||
        (one.code == op::dependent_required && !member(value, from_.names[one.c]).exists())) {
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
const property* runner::find(const object_rule& rule, std::string_view name,
                             std::uint32_t hint) const noexcept {
    const property* const first = from_.properties.data() + rule.first;
    const property* const last = first + rule.count;
    if (hint < rule.count && first[hint].name == name) {
        return first + hint;
    }
    const property* found = last;
    if (rule.count <= linear_names_max) {
        found = std::find_if(first, last, [name](const property& p) { return p.name == name; });
    } else {
        found = std::lower_bound(first, last, name, [](const property& p, std::string_view text) {
            return p.name < text;
        });
    }
    return found != last && found->name == name ? found : nullptr;
}

// The block of a part of the value. The schema false speaks with the voice of its keyword.
bool runner::child(const step& one, std::uint32_t index, json::view value,
                   const frame& at) noexcept {
    return from_.blocks[index].never ? fail(one, &at) : block_holds(index, value, &at);
}

bool runner::member_holds(const step& one, const json::member& m, std::uint32_t index,
                          bool declared, const frame* at) noexcept {
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

// The members that "required" names beside "properties".
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
    return (rule.needed & ~seen) == 0;
}

bool runner::properties(const step& one, json::view value, const frame* at) noexcept {
    if (!value.is_object()) {
        return true;
    }
    const object_rule& rule = from_.objects[one.a];
    const hidden_marks hidden(marks_);
    std::uint64_t seen = 0;
    std::uint32_t hint = rule.start;
    std::size_t i = 0;
    bool holds = true;
    for (const json::member m : value.members()) {
        if (!budget_.spend(1)) {
            return false;
        }
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
        ++i;
        holds = holds && good;
        if (!good && ends()) {
            return false;
        }
    }
    return all_there(rule, seen, at) && holds;
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
