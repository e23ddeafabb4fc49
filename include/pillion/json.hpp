// json: reading JSON values (view) and composing JSON text (builder).
//
// A view points into the document of a request: the arguments of a tool, the reply of an upstream.
// It is one pointer, copied freely, and valid until the handler it was given to returns (also
// across co_await in it); copy out with std::string what must live longer. Everything about a
// value that is not there is harmless: v["a"]["b"][3].str() is empty when any step is missing.
//
// Thread-safety: a document is immutable, so any thread may read it while it lives. A builder is
// an ordinary object for one thread at a time.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace pillion::json {

enum class kind : std::uint8_t { missing, null, boolean, number, string, array, object };

struct node;  // one value of a parsed document; opaque
class element_range;
class member_range;

class view {
 public:
    // A missing value.
    constexpr view() noexcept = default;
    // For the library: the value at `n`, missing when null.
    constexpr explicit view(const node* n) noexcept : node_(n) {}

    kind type() const noexcept;
    bool exists() const noexcept { return node_ != nullptr; }
    explicit operator bool() const noexcept { return exists(); }
    bool is_null() const noexcept { return type() == kind::null; }
    bool is_bool() const noexcept { return type() == kind::boolean; }
    bool is_number() const noexcept { return type() == kind::number; }
    bool is_string() const noexcept { return type() == kind::string; }
    bool is_array() const noexcept { return type() == kind::array; }
    bool is_object() const noexcept { return type() == kind::object; }
    // A number written without fraction and exponent, of any size ("42", not "42.0").
    bool is_integer() const noexcept;

    // The decoded text of a string (valid UTF-8, may contain NUL); `fallback` for anything else.
    std::string_view str(std::string_view fallback = {}) const noexcept;
    // The value of a boolean; `fallback` for anything else.
    bool boolean(bool fallback = false) const noexcept;

    // The exact value of an integer (see is_integer) that fits; nullopt for anything else.
    std::optional<std::int64_t> i64() const noexcept;
    std::optional<std::uint64_t> u64() const noexcept;
    // As i64(), and also numbers such as 42.0 and 4.2e1 whose value is an integer.
    std::optional<std::int64_t> integral() const noexcept;
    // The double nearest to a number; nullopt for anything else and beyond the range of double.
    std::optional<double> f64() const noexcept;
    // f64() with a fallback.
    double num(double fallback = 0) const noexcept;
    // A number as it stood in the input, byte for byte; empty for anything else.
    std::string_view number_text() const noexcept;

    // The member `key` of an object, the last one when it occurs twice; missing when there is
    // none or this is no object. Takes time linear in the number of members.
    view operator[](std::string_view key) const noexcept;
    // The element `index` of an array, counted from 0; missing when there is none or this is no
    // array. Takes time linear in `index`: iterate elements() to visit all.
    view operator[](std::size_t index) const noexcept;
    // Members of an object (duplicates counted) or elements of an array; 0 for anything else.
    std::size_t size() const noexcept;

    // The elements of an array or the members of an object in input order (duplicate keys
    // included), for range-for; empty for anything else.
    element_range elements() const noexcept;
    member_range members() const noexcept;

    // For the library: the node behind the view, nullptr when missing.
    const node* raw() const noexcept { return node_; }

 private:
    const node* node_ = nullptr;
};

// A name and its value in an object. `key` lives as long as the value.
struct member {
    std::string_view key;
    view value;
};

class element_iterator {
 public:
    using iterator_concept = std::forward_iterator_tag;
    using iterator_category = std::input_iterator_tag;
    using value_type = view;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = view;

    constexpr element_iterator() noexcept = default;
    constexpr explicit element_iterator(const node* at) noexcept : at_(at) {}
    view operator*() const noexcept { return view(at_); }
    element_iterator& operator++() noexcept;
    element_iterator operator++(int) noexcept {
        element_iterator before = *this;
        ++*this;
        return before;
    }
    friend bool operator==(element_iterator, element_iterator) noexcept = default;

 private:
    const node* at_ = nullptr;
};

class member_iterator {
 public:
    using iterator_concept = std::forward_iterator_tag;
    using iterator_category = std::input_iterator_tag;
    using value_type = member;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = member;

    constexpr member_iterator() noexcept = default;
    constexpr explicit member_iterator(const node* at) noexcept : at_(at) {}
    member operator*() const noexcept;
    member_iterator& operator++() noexcept;
    member_iterator operator++(int) noexcept {
        member_iterator before = *this;
        ++*this;
        return before;
    }
    friend bool operator==(member_iterator, member_iterator) noexcept = default;

 private:
    const node* at_ = nullptr;
};

class element_range {
 public:
    constexpr element_range(const node* first, const node* last) noexcept
        : first_(first), last_(last) {}
    element_iterator begin() const noexcept { return element_iterator(first_); }
    element_iterator end() const noexcept { return element_iterator(last_); }
    bool empty() const noexcept { return first_ == last_; }

 private:
    const node* first_;
    const node* last_;
};

class member_range {
 public:
    constexpr member_range(const node* first, const node* last) noexcept
        : first_(first), last_(last) {}
    member_iterator begin() const noexcept { return member_iterator(first_); }
    member_iterator end() const noexcept { return member_iterator(last_); }
    bool empty() const noexcept { return first_ == last_; }

 private:
    const node* first_;
    const node* last_;
};

// Deep equality of JSON values: numbers by mathematical value (1 == 1.0), objects without regard
// to order and with the last of duplicate keys, arrays in order. Two missing views are equal.
bool equal(view a, view b);

// Whether `key` occurs more than once in `object`; false for anything that is no object.
bool has_duplicate_key(view object, std::string_view key) noexcept;

// Appends JSON text step by step; commas and quoting are its business. The result is one
// well-formed value on a single line (no raw newline, valid UTF-8), which `text()` returns.
//
//     json::builder b;
//     b.begin_object().member("city", "Oslo").key("days").begin_array().value(1).value(2.5);
//     b.end_array().end_object();
//
// A step that would make the text ill-formed (a key outside an object, a value without its key, a
// second top-level value, an end that closes nothing) is a bug of the caller and ends the process
// with a message. Memory: the heap; may throw std::bad_alloc.
class builder {
 public:
    builder() = default;

    builder& begin_object();
    builder& end_object();
    builder& begin_array();
    builder& end_array();

    // The name of the next value. REQUIRES: directly inside an object, no name pending. Invalid
    // UTF-8 is replaced by U+FFFD.
    builder& key(std::string_view name);

    // A string; invalid UTF-8 in it is replaced by U+FFFD. A null pointer is written as null.
    builder& value(std::string_view text);
    builder& value(const std::string& text) { return value(std::string_view(text)); }
    builder& value(const char* text);
    builder& value(std::nullptr_t);
    // A number, exactly; infinities and NaN, which JSON lacks, are written as null.
    builder& value(double number);
    template <class Bool>
        requires std::same_as<Bool, bool>
    builder& value(Bool truth) {
        return literal(truth ? "true" : "false");
    }
    template <std::integral Integer>
        requires(!std::same_as<Integer, bool> && !std::same_as<Integer, char> &&
                 sizeof(Integer) <= 8)
    builder& value(Integer number) {
        if constexpr (std::signed_integral<Integer>) {
            return signed_value(static_cast<std::int64_t>(number));
        } else {
            return unsigned_value(static_cast<std::uint64_t>(number));
        }
    }
    // A copy of a parsed value, numbers by their text; a missing one is written as null.
    builder& value(view copied);

    // A value that is JSON text already; newlines between its tokens become spaces.
    // REQUIRES: `json` is one well-formed value (asserted in debug builds).
    builder& raw(std::string_view json);

    // key() and value() in one.
    template <class Value>
    builder& member(std::string_view name, const Value& v) {
        return key(name).value(v);
    }

    // The text so far: a whole JSON value once complete(). Valid until the builder changes.
    std::string_view text() const noexcept { return text_; }
    // Whether one top-level value stands there and everything begun is ended.
    bool complete() const noexcept { return nesting_.empty() && !text_.empty(); }
    // Starts over, keeping the memory.
    void clear() noexcept;

 private:
    void begin_value();
    void end(char open, char close);
    builder& literal(std::string_view token);
    builder& signed_value(std::int64_t number);
    builder& unsigned_value(std::uint64_t number);
    void quote(std::string_view text);

    std::string text_;
    std::string nesting_;  // one of '{' '[' for every open container
    bool key_pending_ = false;
    bool comma_ = false;
};

}  // namespace pillion::json
