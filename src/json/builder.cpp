// The public composer of JSON text. Unlike json::writer it is used by handlers, so it checks every
// step and keeps its bytes on the heap.
#include <cmath>

#include <pillion/json.hpp>

#include "base/assert.hpp"
#include "base/number.hpp"
#include "base/utf8.hpp"
#include "json/document.hpp"
#include "json/escape.hpp"
#include "json/node.hpp"

namespace pillion::json {

builder& builder::begin_object() {
    begin_value();
    text_ += '{';
    nesting_ += '{';
    comma_ = false;
    return *this;
}

builder& builder::end_object() {
    end('{', '}');
    return *this;
}

builder& builder::begin_array() {
    begin_value();
    text_ += '[';
    nesting_ += '[';
    comma_ = false;
    return *this;
}

builder& builder::end_array() {
    end('[', ']');
    return *this;
}

void builder::end(char open, char close) {
    PILLION_ASSERT(!nesting_.empty() && nesting_.back() == open && !key_pending_);
    nesting_.pop_back();
    text_ += close;
    comma_ = true;
}

void builder::begin_value() {
    if (nesting_.empty()) {
        PILLION_ASSERT(text_.empty());
    } else if (nesting_.back() == '{') {
        PILLION_ASSERT(key_pending_);
        key_pending_ = false;
    } else if (comma_) {
        text_ += ',';
    }
    comma_ = true;
}

builder& builder::key(std::string_view name) {
    PILLION_ASSERT(!nesting_.empty() && nesting_.back() == '{' && !key_pending_);
    if (comma_) {
        text_ += ',';
    }
    quote(name);
    text_ += ':';
    key_pending_ = true;
    return *this;
}

void builder::quote(std::string_view text) {
    text_ += '"';
    base::utf8::split(
        text, [this](std::string_view run) { append_escaped(text_, run); },
        [this] { text_.append(base::utf8::replacement); });
    text_ += '"';
}

builder& builder::literal(std::string_view token) {
    begin_value();
    text_ += token;
    return *this;
}

builder& builder::value(std::string_view text) {
    begin_value();
    quote(text);
    return *this;
}

builder& builder::value(const char* text) {
    return text == nullptr ? literal("null") : value(std::string_view(text));
}

builder& builder::value(std::nullptr_t) { return literal("null"); }

builder& builder::signed_value(std::int64_t number) {
    char digits[base::integer_text_max];
    const char* const end = base::format(digits, number);
    return literal({digits, static_cast<std::size_t>(end - digits)});
}

builder& builder::unsigned_value(std::uint64_t number) {
    char digits[base::integer_text_max];
    const char* const end = base::format(digits, number);
    return literal({digits, static_cast<std::size_t>(end - digits)});
}

builder& builder::value(double number) {
    if (!std::isfinite(number)) {
        return literal("null");
    }
    char digits[base::double_text_max];
    const char* const end = base::format(digits, number);
    return literal({digits, static_cast<std::size_t>(end - digits)});
}

// Recursion is bounded by the depth limit of the parser.
builder& builder::value(view copied) {
    switch (copied.type()) {
        case kind::missing:
        case kind::null:
            return literal("null");
        case kind::boolean:
            return literal(copied.boolean() ? "true" : "false");
        case kind::number:
            return literal(copied.number_text());
        case kind::string:
            return value(copied.str());
        case kind::array:
            begin_array();
            for (const view element : copied.elements()) {
                value(element);
            }
            return end_array();
        case kind::object:
            begin_object();
            for (const auto& [name, inner] : copied.members()) {
                key(name).value(inner);
            }
            return end_object();
    }
    return *this;
}

builder& builder::raw(std::string_view json) {
    PILLION_DEBUG_ASSERT(document::parse(json).ok());
    begin_value();
    const std::size_t from = text_.size();
    text_ += json;
    // In well-formed JSON a newline can only be white space.
    for (std::size_t at = from; (at = text_.find_first_of("\r\n", at)) != std::string::npos; ++at) {
        text_[at] = ' ';
    }
    return *this;
}

void builder::clear() noexcept {
    text_.clear();
    nesting_.clear();
    key_pending_ = false;
    comma_ = false;
}

}  // namespace pillion::json
