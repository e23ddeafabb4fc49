#include "schema/runner.hpp"

#include <algorithm>

#include "base/number.hpp"
#include "json/node.hpp"
#include "schema/texts.hpp"

namespace pillion::schema_check {

namespace {

// Runs of names up to this length are searched one by one.
constexpr std::uint32_t linear_names_max = 8;

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

// Equal values have equal hashes: numbers by the nearest double, containers by their kind only.
std::uint64_t hash_of(json::view value) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325U ^ static_cast<std::uint64_t>(value.type());
    const auto mix = [&hash](std::uint64_t bits) { hash = (hash ^ bits) * 0x100000001b3U; };
    if (value.is_string()) {
        for (const char c : value.str()) {
            mix(static_cast<unsigned char>(c));
        }
    } else if (value.is_number()) {
        char text[base::double_text_max];
        const double number = value.num();
        const char* const end = base::format(text, number == 0 ? 0.0 : number);
        std::for_each(static_cast<const char*>(text), end,
                      [&mix](char c) { mix(static_cast<unsigned char>(c)); });
    } else if (value.is_bool()) {
        mix(value.boolean() ? 1 : 0);
    } else if (value.is_array()) {
        mix(value.size());
    }
    return hash;
}

}  // namespace

bool runner::spend(std::size_t steps) noexcept {
    if (steps > steps_left_) {
        exhausted_ = true;
        return false;
    }
    steps_left_ -= steps;
    return true;
}

bool runner::run(json::view instance) noexcept {
    const bool holds = block_holds(0, instance, nullptr);
    if (exhausted_) {
        first_.path = {};
        first_.declared_path = {};
        first_.keyword = {};
        first_.reason = "limit";
        first_.message = "too large or too deep to be checked";
        return false;
    }
    return holds;
}

bool runner::block_holds(std::uint32_t index, json::view value, const frame* at) noexcept {
    if (depth_ == depth_max || !spend(1)) {
        exhausted_ = true;
        return false;
    }
    ++depth_;
    const block& here = from_.blocks[index];
    bool holds = true;
    for (std::uint32_t i = here.first; holds && i < here.first + here.count; ++i) {
        holds = spend(1) && step_holds(from_.steps[i], value, at);
    }
    --depth_;
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
        case op::any_of:
        case op::one_of:
            return combine(one, value, at);
        case op::condition:
            return condition(one, value, at);
        case op::reference:
            return block_holds(one.a, value, at);
        case op::negation:
            return !probe(one.a, value, at) || fail(one.code, at);
        case op::dependent_schema:
            return !member(value, from_.names[one.b]).exists() || block_holds(one.a, value, at);
        default:
            return value_holds(one, value) || fail(one.code, at);
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
            for (std::uint32_t i = one.a; i < one.a + one.b; ++i) {
                if (!spend(1) || json::equal(from_.values[i], value)) {
                    return true;
                }
            }
            return false;
        case op::minimum:
        case op::maximum:
        case op::exclusive_minimum:
        case op::exclusive_maximum:
            return !value.is_number() || bound_holds(one, value);
        case op::multiple_of:
            return !value.is_number() ||
                   is_multiple(decimal::parse(value.number_text()), from_.divisors[one.a]);
        case op::unique_items:
            return !value.is_array() || unique(value);
        case op::never:
            return false;
        default:
            return count_holds(one, value);
    }
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
            if (!value.is_string() || !spend(text.size() / 64)) {
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

json::view runner::member(json::view object, std::string_view name) noexcept {
    return spend(1 + object.size() / 8) ? object[name] : json::view();
}

bool runner::required(const step& one, json::view value, const frame* at) noexcept {
    if (!value.is_object() ||
        (one.code == op::dependent_required && !member(value, from_.names[one.c]).exists())) {
        return true;
    }
    for (std::uint32_t i = one.a; i < one.a + one.b; ++i) {
        if (!member(value, from_.names[i]).exists()) {
            frame missing;
            missing.parent = at;
            missing.key = from_.names[i];
            missing.in_object = true;
            return fail(one.code, &missing);
        }
    }
    return true;
}

const property* runner::find(const step& one, std::string_view name) const noexcept {
    const property* const first = from_.properties.data() + one.a;
    const property* const last = first + one.b;
    const property* found = last;
    if (one.b <= linear_names_max) {
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
    return from_.blocks[index].never ? fail(one.code, &at) : block_holds(index, value, &at);
}

bool runner::properties(const step& one, json::view value, const frame* at) noexcept {
    for (const json::member m : value.members()) {
        if (!spend(1)) {
            return false;
        }
        const property* const declared = find(one, m.key);
        const std::uint32_t index = declared != nullptr ? declared->block : one.c;
        if (index == no_block) {
            continue;
        }
        frame below;
        below.parent = at;
        below.key = m.key;
        below.in_object = true;
        below.declared = declared != nullptr;
        if (!child(one, index, m.value, below)) {
            return false;
        }
    }
    return true;
}

bool runner::property_names(const step& one, json::view value, const frame* at) noexcept {
    for (const json::member m : value.members()) {
        frame below;
        below.parent = at;
        below.key = m.key;
        below.in_object = true;
        below.declared = false;
        // The node of a name lies in front of its value (json/node.hpp).
        if (!probe(one.a, json::view(m.value.raw() - 1), at)) {
            return fail(one.code, &below);
        }
    }
    return true;
}

bool runner::items(const step& one, json::view value, const frame* at) noexcept {
    std::size_t i = 0;
    for (const json::view element : value.elements()) {
        const std::uint32_t index = i < one.b ? from_.children[one.a + i] : one.c;
        if (index == no_block) {
            break;
        }
        frame below;
        below.parent = at;
        below.index = i++;
        if (!child(one, index, element, below)) {
            return false;
        }
    }
    return true;
}

bool runner::contains(const step& one, json::view value, const frame* at) noexcept {
    if (!value.is_array()) {
        return true;
    }
    std::uint64_t found = 0;
    for (const json::view element : value.elements()) {
        found += probe(one.a, element, at) ? 1 : 0;
        if (exhausted_) {
            return false;
        }
    }
    const bool fits = found >= from_.counts[one.b] && found <= from_.counts[one.b + 1];
    return fits || fail(one.code, at);
}

// Sorted by hash, equal elements are neighbours.
bool runner::unique(json::view value) noexcept {
    struct hashed {
        std::uint64_t hash;
        json::view value;
    };
    const std::size_t count = value.size();
    if (count < 2 || !spend(2 * count)) {
        return true;
    }
    auto* const all = memory_.array<hashed>(count);
    std::size_t filled = 0;
    for (const json::view element : value.elements()) {
        all[filled++] = hashed{hash_of(element), element};
    }
    std::sort(all, all + count, [](const hashed& a, const hashed& b) { return a.hash < b.hash; });
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t j = i + 1; j < count && all[j].hash == all[i].hash; ++j) {
            if (!spend(1 + all[i].value.size())) {
                return true;
            }
            if (json::equal(all[i].value, all[j].value)) {
                return false;
            }
        }
    }
    return true;
}

// A block whose refusal is an answer, not a failure.
bool runner::probe(std::uint32_t index, json::view value, const frame* at) noexcept {
    ++probes_;
    const bool holds = block_holds(index, value, at);
    --probes_;
    return holds;
}

bool runner::combine(const step& one, json::view value, const frame* at) noexcept {
    std::uint32_t matches = 0;
    for (std::uint32_t i = one.a; i < one.a + one.b; ++i) {
        const std::uint32_t index = from_.children[i];
        if (one.code == op::all_of) {
            if (!block_holds(index, value, at)) {
                return false;
            }
            continue;
        }
        matches += probe(index, value, at) ? 1 : 0;
        if (exhausted_) {
            return false;
        }
        if (matches > 0 && one.code == op::any_of) {
            return true;
        }
    }
    return one.code == op::all_of || matches == 1 || fail(one.code, at);
}

bool runner::condition(const step& one, json::view value, const frame* at) noexcept {
    const bool holds = probe(one.a, value, at);
    const std::uint32_t branch = holds ? one.b : one.c;
    return !exhausted_ && (branch == no_block || block_holds(branch, value, at));
}

bool runner::fail(op code, const frame* at) noexcept {
    if (probes_ == 0 && !exhausted_) {
        const op_text& text = text_of(code);
        first_.keyword = text.keyword;
        first_.reason = text.reason;
        first_.message = text.message;
        render_path(at);
    }
    return false;
}

void runner::render_path(const frame* at) noexcept {
    // Written from the end to the front; escapes at most double a name.
    std::size_t size_max = 0;
    for (const frame* f = at; f != nullptr; f = f->parent) {
        size_max += 1 + (f->in_object ? 2 * f->key.size() : base::integer_text_max);
    }
    char* const start = static_cast<char*>(memory_.allocate(size_max, 1));
    char* const end = start + size_max;
    char* to = end;
    const char* declared_end = end;
    for (const frame* f = at; f != nullptr; f = f->parent) {
        if (f->in_object) {
            for (std::size_t i = f->key.size(); i > 0; --i) {
                const char c = f->key[i - 1];
                if (c == '~' || c == '/') {
                    *--to = c == '~' ? '0' : '1';
                    *--to = '~';
                } else {
                    *--to = c;
                }
            }
        } else {
            char digits[base::integer_text_max];
            const char* const last = base::format(digits, static_cast<std::uint64_t>(f->index));
            to -= last - digits;
            std::copy(static_cast<const char*>(digits), last, to);
        }
        *--to = '/';
        declared_end = f->declared ? declared_end : to;
    }
    first_.path = {to, static_cast<std::size_t>(end - to)};
    first_.declared_path = {to, static_cast<std::size_t>(declared_end - to)};
}

}  // namespace pillion::schema_check
