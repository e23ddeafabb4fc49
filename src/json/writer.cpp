#include "json/writer.hpp"

#include <algorithm>
#include <cstring>

#include "json/node.hpp"
#include "json/simd.hpp"

namespace pillion::json {

void writer::escaped_rest(const char* at, const char* end) noexcept {
    while (at != end) {
        const char* const stop = at + std::min<std::ptrdiff_t>(end - at, escape_block);
        char* const to = out_.reserve(escaped_size_max(escape_block) + 1);
        out_.commit(static_cast<std::size_t>(write_escaped(at, stop, to) - to));
        at = stop;
    }
    out_.append('"');
    comma_ = true;
}

void writer::string_lossy(std::string_view text) noexcept {
    char* const begin = out_.reserve(text.size() + 3);
    char* at = begin;
    *at = ',';
    at += comma_ ? 1 : 0;
    *at++ = '"';
    const char* const end = text.data() + text.size();
    const char* const stop = copy_plain_ascii(text.data(), end, at);
    at += stop - text.data();
    if (stop == end) [[likely]] {
        *at++ = '"';
    }
    out_.commit(static_cast<std::size_t>(at - begin));
    comma_ = true;
    if (stop != end) {
        lossy_rest({stop, static_cast<std::size_t>(end - stop)});
    }
}

void writer::lossy_rest(std::string_view text) noexcept {
    base::utf8::split(
        text, [this](std::string_view run) { escaped(run); },
        [this] { out_.append(base::utf8::replacement); });
    out_.append('"');
}

// Mostly copied; a block with something to escape goes through a table.
void writer::escaped(std::string_view text) noexcept {
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end) {
        const char* const stop =
            copy_plain(at, end, out_.reserve(static_cast<std::size_t>(end - at)));
        out_.commit(static_cast<std::size_t>(stop - at));
        const char* const block = stop + std::min<std::ptrdiff_t>(end - stop, escape_block);
        char* const to = out_.reserve(escaped_size_max(escape_block));
        out_.commit(static_cast<std::size_t>(write_escaped(stop, block, to) - to));
        at = block;
    }
}

void writer::value(view v) noexcept {
    if (!v) {
        return null();
    }
    parsed(comma_ ? ',' : '\0', v.raw());
    comma_ = true;
}

namespace {

// Texts of a document may be read a block further than they reach.
constexpr std::size_t block = 16;

#if defined(__x86_64__)
// Copies a block; whether its first `size` bytes are plain.
bool copy_block(const char* text, std::uint32_t size, char* out) noexcept {
    const __m128i v = simd::load_16(text);
    simd::store_16(out, v);
    return (simd::mask_of(simd::special_16(v)) & ((1U << size) - 1)) == 0;
}
#else
bool copy_block(const char* text, std::uint32_t size, char* out) noexcept {
    return copy_plain(text, text + size, out) == text + size;
}
#endif

// Nothing for '\0'.
char* put_separator(char* at, char separator) noexcept {
    *at = separator;
    return at + (separator != '\0' ? 1 : 0);
}

}  // namespace

void writer::parsed(char separator, const node* n) noexcept {
    switch (n->type) {
        case kind::number:
            return parsed_number(separator, n);
        case kind::string:
            return parsed_string(separator, n);
        case kind::array:
        case kind::object:
            return parsed_container(separator, n);
        default: {
            const std::string_view token =
                n->type != kind::boolean ? "null" : (n->flag ? "true" : "false");
            char* const begin = out_.reserve(token.size() + 1);
            char* const at = put_separator(begin, separator);
            std::memcpy(at, token.data(), token.size());
            out_.commit(static_cast<std::size_t>(at + token.size() - begin));
        }
    }
}

void writer::parsed_number(char separator, const node* n) noexcept {
    char* const begin = out_.reserve(n->size + 1 + block);
    char* const at = put_separator(begin, separator);
    if (n->size <= block) {
        copy_block(n->text, n->size, at);
    } else {
        std::memcpy(at, n->text, n->size);
    }
    out_.commit(static_cast<std::size_t>(at + n->size - begin));
}

void writer::parsed_string(char separator, const node* n) noexcept {
    char* const begin = out_.reserve(n->size + 3 + block);
    char* at = put_separator(begin, separator);
    *at++ = '"';
    const char* const end = n->text + n->size;
    const char* stop = end;
    if (n->size > block) {
        stop = copy_plain(n->text, end, at);
    } else if (!copy_block(n->text, n->size, at)) {
        stop = n->text;
    }
    at += stop - n->text;
    if (stop == end) [[likely]] {
        *at++ = '"';
    }
    out_.commit(static_cast<std::size_t>(at - begin));
    if (stop != end) {
        escaped_rest(stop, end);
    }
}

// Recursion is bounded by the depth limit of the parser.
void writer::parsed_container(char separator, const node* n) noexcept {
    const bool object = n->type == kind::object;
    char bracket = object ? '{' : '[';
    if (separator != '\0') {
        out_.append(separator);
    }
    if (n->size == 0) {
        out_.append(bracket);
    }
    const node* const end = next(n);
    for (const node* at = n + 1; at != end; at = next(at)) {
        if (object) {
            parsed_string(bracket, at);
            parsed(':', ++at);
        } else {
            parsed(bracket, at);
        }
        bracket = ',';
    }
    out_.append(object ? '}' : ']');
}

}  // namespace pillion::json
