// fields: C++ structs as arguments and results of tools. One declaration per struct gives the JSON
// Schema that clients see, the check, and the way between JSON and the struct.
//
//     enum class unit { celsius, fahrenheit };
//     constexpr auto enum_names(unit) { return pillion::names("celsius", "fahrenheit"); }
//
//     struct forecast_args {
//         std::string_view city;
//         int days = 3;
//         std::optional<unit> scale;
//         static constexpr auto fields = pillion::fields(
//             pillion::field("city", &forecast_args::city, "City name").min(1),
//             pillion::field("days", &forecast_args::days, "Days ahead").range(1, 14).defaulted(),
//             pillion::field("scale", &forecast_args::scale));
//     };
//     task<tool_result> forecast(context& ctx, const forecast_args& args);
//     s.tool("forecast").about("Tells the weather.").run(forecast);     // no input() needed
//
// A field is required unless it is a std::optional or marked defaulted(): then the value it has in
// a fresh struct is the default, and published. Members may be bool, integers, float, double,
// std::string, std::string_view (lives as long as the request), json::view (anything), enums with
// enum_names(), described structs, and std::optional, std::vector and std::map<std::string, …> of
// these. Objects with members that are not described are refused.
//
// Arguments are decoded straight from the parsed request; what the decoder proves is not checked a
// second time. A result that its schema does not allow is an error of the handler's, as one with a
// NaN is: JSON has none. Thread-safety: pure functions.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <pillion/json.hpp>
#include <pillion/schema.hpp>

namespace pillion {

// One member of a struct, as clients see it. Made by field(); each function returns a changed copy.
template <class Struct, class Member>
struct described_field {
    using member_type = Member;

    std::string_view name;
    Member Struct::* at;
    std::string_view description{};
    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
    std::string_view regex{};
    std::string_view format_name{};
    std::string_view header_suffix{};
    bool has_default = false;

    // Bounds: of the length for strings (in characters), of the value for numbers, of the element
    // count for vectors. For an optional: of what it holds.
    constexpr described_field min(double bound) const { return range(bound, high); }
    constexpr described_field max(double bound) const { return range(low, bound); }
    constexpr described_field range(double lowest, double highest) const {
        described_field changed = *this;
        changed.low = lowest;
        changed.high = highest;
        return changed;
    }
    // A string's pattern (ECMA 262), and its format as an annotation.
    constexpr described_field pattern(std::string_view expression) const {
        described_field changed = *this;
        changed.regex = expression;
        return changed;
    }
    constexpr described_field format(std::string_view what) const {
        described_field changed = *this;
        changed.format_name = what;
        return changed;
    }
    // It may be missing; the struct's own initial value counts then.
    constexpr described_field defaulted() const {
        described_field changed = *this;
        changed.has_default = true;
        return changed;
    }
    // Mirrored in the request header "Mcp-Param-<suffix>" (2026-07-28).
    constexpr described_field header(std::string_view suffix) const {
        described_field changed = *this;
        changed.header_suffix = suffix;
        return changed;
    }
};

template <class Struct, class Member>
constexpr described_field<Struct, Member> field(std::string_view name, Member Struct::* at,
                                                std::string_view about = {}) {
    return {name, at, about};
}

// The fields of a struct, in the order clients see them: at most 64.
template <class... Fields>
constexpr std::tuple<Fields...> fields(Fields... all) {
    static_assert(sizeof...(Fields) <= 64, "at most 64 fields");
    return {all...};
}

// The names of an enum's values 0, 1, 2, … for enum_names().
template <class... Text>
constexpr std::array<std::string_view, sizeof...(Text)> names(Text... all) {
    return {std::string_view(all)...};
}

// A struct with a `fields` member, and an enum with enum_names().
template <class T>
concept described = requires { std::tuple_size<std::remove_cvref_t<decltype(T::fields)>>::value; };
template <class T>
concept named_enum = std::is_enum_v<T> && requires(T value) { enum_names(value).size(); };

// What a value that does not fit was called; empty for the struct itself. For the library.
struct decode_fault {
    std::string_view field;
};

namespace detail {

template <class T>
inline constexpr bool always_false = false;

template <class T>
struct element_of {
    static constexpr bool is_optional = false, is_vector = false, is_map = false;
};
template <class T>
struct element_of<std::optional<T>> {
    static constexpr bool is_optional = true, is_vector = false, is_map = false;
    using type = T;
};
template <class T>
struct element_of<std::vector<T>> {
    static constexpr bool is_optional = false, is_vector = true, is_map = false;
    using type = T;
};
template <class T>
struct element_of<std::map<std::string, T>> {
    static constexpr bool is_optional = false, is_vector = false, is_map = true;
    using type = T;
};

// Characters of valid UTF-8.
constexpr std::size_t characters(std::string_view text) noexcept {
    std::size_t count = 0;
    for (const char c : text) {
        count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
    }
    return count;
}

// ---- JSON to C++ ----

template <class T>
bool decode(json::view from, T& to, decode_fault& fault);

template <class T, class Field>
bool decode_member(json::view from, T& to, const Field& f, decode_fault& fault) {
    auto& member = to.*(f.at);
    if (!decode(from, member, fault)) {
        return false;
    }
    const auto within = [&f](long double size) { return size >= f.low && size <= f.high; };
    // Wide enough for every integer and for the bounds.
    const auto fits = [&within](const auto& value) {
        using value_type = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_arithmetic_v<value_type> && !std::same_as<value_type, bool>) {
            return within(static_cast<long double>(value));
        } else if constexpr (std::convertible_to<const value_type&, std::string_view>) {
            return within(static_cast<long double>(characters(value)));
        } else if constexpr (element_of<value_type>::is_vector) {
            return within(static_cast<long double>(value.size()));
        } else {
            return true;
        }
    };
    using member_type = std::remove_cvref_t<decltype(member)>;
    if constexpr (element_of<member_type>::is_optional) {
        return !member || fits(*member);
    } else {
        return fits(member);
    }
}

template <described T>
bool decode_struct(json::view from, T& to, decode_fault& fault) {
    constexpr std::size_t count = std::tuple_size_v<std::remove_cvref_t<decltype(T::fields)>>;
    if (!from.is_object()) {
        return false;
    }
    std::uint64_t seen = 0;
    for (const json::member m : from.members()) {
        bool known = false;
        bool good = true;
        const auto take = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
            const auto& f = std::get<I>(T::fields);
            if (!known && m.key == f.name) {
                known = true;
                seen |= std::uint64_t{1} << I;
                good = decode_member(m.value, to, f, fault);
            }
        };
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (take(std::integral_constant<std::size_t, I>{}), ...);
        }(std::make_index_sequence<count>{});
        if (!known || !good) {
            fault.field = fault.field.empty() ? m.key : fault.field;
            return false;
        }
    }
    bool complete = true;
    const auto require = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
        const auto& f = std::get<I>(T::fields);
        using member = typename std::remove_cvref_t<decltype(f)>::member_type;
        if (!element_of<member>::is_optional && !f.has_default && (seen >> I & 1U) == 0) {
            complete = false;
            fault.field = f.name;
        }
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (require(std::integral_constant<std::size_t, I>{}), ...);
    }(std::make_index_sequence<count>{});
    return complete;
}

template <class T>
bool decode_integer(json::view from, T& to) {
    if constexpr (std::unsigned_integral<T> && sizeof(T) == 8) {
        if (const auto exact = from.u64()) {
            to = *exact;
            return true;
        }
    }
    const auto value = from.integral();
    if (!value || !std::in_range<T>(*value)) {
        return false;
    }
    to = static_cast<T>(*value);
    return true;
}

template <class T>
bool decode_elements(json::view from, std::vector<T>& to, decode_fault& fault) {
    to.clear();
    to.reserve(from.size());
    for (const json::view element : from.elements()) {
        T one{};
        if (!decode(element, one, fault)) {
            return false;
        }
        to.push_back(std::move(one));
    }
    return from.is_array();
}

template <class T>
bool decode(json::view from, T& to, decode_fault& fault) {
    if constexpr (std::same_as<T, json::view>) {
        to = from;
        return true;
    } else if constexpr (std::same_as<T, bool>) {
        to = from.boolean();
        return from.is_bool();
    } else if constexpr (std::integral<T>) {
        return decode_integer(from, to);
    } else if constexpr (std::floating_point<T>) {
        const auto value = from.f64();
        to = static_cast<T>(value.value_or(0));
        return value.has_value();
    } else if constexpr (std::same_as<T, std::string> || std::same_as<T, std::string_view>) {
        to = T(from.str());
        return from.is_string();
    } else if constexpr (named_enum<T>) {
        constexpr auto all = enum_names(T{});
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (from.is_string() && from.str() == all[i]) {
                to = static_cast<T>(i);
                return true;
            }
        }
        return false;
    } else if constexpr (described<T>) {
        return decode_struct(from, to, fault);
    } else if constexpr (element_of<T>::is_optional) {
        return decode(from, to.emplace(), fault);
    } else if constexpr (element_of<T>::is_vector) {
        return decode_elements(from, to, fault);
    } else if constexpr (element_of<T>::is_map) {
        to.clear();
        for (const json::member m : from.members()) {
            if (!decode(m.value, to[std::string(m.key)], fault)) {
                return false;
            }
        }
        return from.is_object();
    } else {
        static_assert(always_false<T>, "this type cannot come from JSON; see fields.hpp");
    }
}

// ---- C++ to JSON ----

// Appends a value. False: the schema of a T allows none like it: a number that is not finite, an
// enum's value without a name, an element of a vector or a map that is not there.
template <class T>
bool encode(json::builder& to, const T& value) {
    bool fits = true;
    if constexpr (std::is_arithmetic_v<T> || std::same_as<T, json::view> ||
                  std::same_as<T, std::string> || std::same_as<T, std::string_view>) {
        to.value(value);
        if constexpr (std::floating_point<T>) {
            fits = std::isfinite(value);
        }
    } else if constexpr (named_enum<T>) {
        constexpr auto all = enum_names(T{});
        const auto index = static_cast<std::size_t>(value);
        fits = index < all.size();
        to.value(fits ? all[index] : std::string_view());
    } else if constexpr (described<T>) {
        to.begin_object();
        const auto put = [&](const auto& f) {
            const auto& member = value.*(f.at);
            if constexpr (element_of<std::remove_cvref_t<decltype(member)>>::is_optional) {
                if (member) {
                    fits = encode(to.key(f.name), *member) && fits;
                }
            } else {
                fits = encode(to.key(f.name), member) && fits;
            }
        };
        std::apply([&](const auto&... all) { (put(all), ...); }, T::fields);
        to.end_object();
    } else if constexpr (element_of<T>::is_optional) {
        if (value) {
            fits = encode(to, *value);
        } else {
            to.value(nullptr);
            fits = false;
        }
    } else if constexpr (element_of<T>::is_vector) {
        to.begin_array();
        for (const auto& element : value) {
            fits = encode(to, element) && fits;
        }
        to.end_array();
    } else if constexpr (element_of<T>::is_map) {
        to.begin_object();
        for (const auto& [key, element] : value) {
            fits = encode(to.key(key), element) && fits;
        }
        to.end_object();
    } else {
        static_assert(always_false<T>, "this type cannot become JSON; see fields.hpp");
    }
    return fits;
}

// ---- the schema ----

// `Within`: the structs around it. One that contains itself is published as "anything" inside; it
// is decoded as strictly all the same.
template <class T, class... Within>
schema make_schema();

template <class T, class... Within, class Field>
void add_field(schema& to, const Field& f) {
    using member = typename Field::member_type;
    schema shape = make_schema<member, T, Within...>();
    if (!f.description.empty()) {
        shape.about(f.description);
    }
    if (f.low != -std::numeric_limits<double>::infinity()) {
        shape.min(f.low);
    }
    if (f.high != std::numeric_limits<double>::infinity()) {
        shape.max(f.high);
    }
    if (!f.regex.empty()) {
        shape.pattern(f.regex);
    }
    if (!f.format_name.empty()) {
        shape.format(f.format_name);
    }
    if (!f.header_suffix.empty()) {
        shape.header(f.header_suffix);
    }
    if (f.has_default && !element_of<member>::is_optional) {
        json::builder value;
        encode(value, T{}.*(f.at));
        shape.default_json(value.text());
    }
    if (f.has_default || element_of<member>::is_optional) {
        to.optional(f.name, shape);
    } else {
        to.required(f.name, shape);
    }
}

template <class T, class... Within>
schema make_schema() {
    if constexpr (std::same_as<T, json::view> || (std::same_as<T, Within> || ...)) {
        return anything();
    } else if constexpr (std::same_as<T, bool>) {
        return boolean();
    } else if constexpr (std::unsigned_integral<T>) {
        return integer().min(0);
    } else if constexpr (std::integral<T>) {
        return integer();
    } else if constexpr (std::floating_point<T>) {
        return number();
    } else if constexpr (std::same_as<T, std::string> || std::same_as<T, std::string_view>) {
        return string();
    } else if constexpr (named_enum<T>) {
        constexpr auto all = enum_names(T{});
        return string().one_of(all.data(), all.size());
    } else if constexpr (described<T>) {
        schema shape = object();
        std::apply([&](const auto&... all) { (add_field<T, Within...>(shape, all), ...); },
                   T::fields);
        return shape;
    } else if constexpr (element_of<T>::is_optional) {
        return make_schema<typename element_of<T>::type, Within...>();
    } else if constexpr (element_of<T>::is_vector) {
        return array(make_schema<typename element_of<T>::type, Within...>());
    } else if constexpr (element_of<T>::is_map) {
        const schema element = make_schema<typename element_of<T>::type, Within...>();
        return object().open().keyword("additionalProperties", element.json());
    } else {
        static_assert(always_false<T>, "this type has no JSON Schema; see fields.hpp");
    }
}

// Whether `holds(field)` is true of every field in a T, its parts included.
template <class T, class... Within, class Holds>
constexpr bool every_field(const Holds& holds) {
    if constexpr ((std::same_as<T, Within> || ...)) {
        return true;
    } else if constexpr (described<T>) {
        const auto one = [&holds](const auto& f) {
            using member = typename std::remove_cvref_t<decltype(f)>::member_type;
            return holds(f) && every_field<member, T, Within...>(holds);
        };
        return std::apply([&one](const auto&... all) { return (one(all) && ...); }, T::fields);
    } else if constexpr (element_of<T>::is_optional || element_of<T>::is_vector ||
                         element_of<T>::is_map) {
        return every_field<typename element_of<T>::type, Within...>(holds);
    } else {
        return true;
    }
}

// Decoding a T proves all that its schema asks for.
template <class T>
constexpr bool decoder_proves() {
    return every_field<T>([](const auto& f) { return f.regex.empty(); });
}

// What encode() finds to fit satisfies the schema of a T.
template <class T>
constexpr bool encoder_proves() {
    constexpr double endless = std::numeric_limits<double>::infinity();
    return every_field<T>(
        [](const auto& f) { return f.regex.empty() && f.low == -endless && f.high == endless; });
}

}  // namespace detail

// The JSON Schema of a described struct (or of any type a field may have).
template <class T>
schema schema_of() {
    return detail::make_schema<T>();
}

// Reads a value that satisfies schema_of<T>(); false with `fault` when it does not fit.
template <class T>
bool from_json(json::view from, T& to, decode_fault* fault = nullptr) {
    decode_fault unused;
    return detail::decode(from, to, fault == nullptr ? unused : *fault);
}

// Appends a value.
template <class T>
void to_json(json::builder& to, const T& value) {
    detail::encode(to, value);
}

}  // namespace pillion
