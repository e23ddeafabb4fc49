#include "json/parser.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "base/number.hpp"
#include "base/utf8.hpp"
#include "json/node.hpp"
#include "json/string_scan.hpp"
#include "json/unescape.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#include <bit>
#endif

namespace pillion::json {

namespace {

using code = parse_error::code;

const char* text_of(code kind) noexcept {
    switch (kind) {
        case code::none:
            return "";
        case code::unexpected_end:
            return "unexpected end of JSON text";
        case code::unexpected_byte:
            return "unexpected byte in JSON text";
        case code::byte_order_mark:
            return "JSON text starts with a byte order mark";
        case code::bad_literal:
            return "malformed JSON literal";
        case code::bad_number:
            return "malformed JSON number";
        case code::bad_escape:
            return "malformed escape in JSON string";
        case code::lone_surrogate:
            return "lone surrogate in JSON string";
        case code::control_character:
            return "control character in JSON string";
        case code::bad_utf8:
            return "invalid UTF-8 in JSON text";
        case code::depth:
            return "JSON text is nested too deeply";
        case code::nodes:
            return "JSON text has too many values";
        case code::trailing_bytes:
            return "bytes behind the JSON value";
    }
    return "";
}

// Recursive descent. The member functions take the place to read at and return the place behind
// what they read, or nullptr after fail(). Recursion is bounded by depth_max.
class parser {
 public:
    parser(char* data, std::size_t size, base::arena& memory, const parse_limits& bounds) noexcept
        : data_(data), end_(data + size), memory_(memory), bounds_(bounds) {}

    parse_result run() noexcept;

 private:
    char* value(char* at) noexcept;
    char* string(char* at) noexcept;
    char* long_string(char* at) noexcept;
    char* finish_string(char* start, char* end, char* behind) noexcept;
    char* number(char* at) noexcept;
    char* literal(char* at, std::string_view token, kind type, bool flag) noexcept;
    char* object(char* at) noexcept;
    char* array(char* at) noexcept;
    char* open(char* at, kind type) noexcept;
    char* close(std::size_t index, std::uint32_t size, char* at) noexcept;

    char* skip(char* at) const noexcept { return const_cast<char*>(skip_whitespace(at, end_)); }
    // A new node, nullptr when there are too many.
    node* push() noexcept {
        if (count_ == capacity_ && !grow()) [[unlikely]] {
            return nullptr;
        }
        return nodes_ + count_++;
    }
    bool grow() noexcept;
    void give_back() noexcept;
    [[gnu::cold, gnu::noinline]] char* fail(code kind, const char* at) noexcept {
        error_ = {kind, static_cast<std::size_t>(at - data_), text_of(kind)};
        return nullptr;
    }
    [[gnu::cold, gnu::noinline]] char* fail_unexpected(const char* at) noexcept {
        return fail(at == end_ ? code::unexpected_end : code::unexpected_byte, at);
    }

    char* const data_;
    char* const end_;
    node* nodes_ = nullptr;
    std::size_t count_ = 0;
    std::size_t capacity_ = 0;
    std::size_t depth_ = 0;
    base::arena& memory_;
    const parse_limits& bounds_;
    parse_error error_;
};

bool parser::grow() noexcept {
    // The first guess suits protocol messages (a node for some ten bytes) and leaves room in a
    // pooled chunk; documents of many nodes pay a few copies of what they have.
    constexpr std::size_t first_max = 200;
    const auto size = static_cast<std::size_t>(end_ - data_);
    const std::size_t want = capacity_ == 0 ? std::min(size / 8 + 8, first_max) : capacity_ * 2;
    const std::size_t capacity = std::min(want, bounds_.nodes_max);
    if (capacity <= count_) {
        return false;
    }
    node* const bigger = memory_.array<node>(capacity);
    if (count_ > 0) {
        std::memcpy(bigger, nodes_, count_ * sizeof(node));
    }
    nodes_ = bigger;
    capacity_ = capacity;
    return true;
}

void parser::give_back() noexcept {
    if (nodes_ != nullptr) {
        memory_.trim(nodes_ + count_, nodes_ + capacity_);
    }
}

parse_result parser::run() noexcept {
    parse_result result;
    const auto size = static_cast<std::size_t>(end_ - data_);
    char* at = data_;
    if (size >= 3 && std::memcmp(data_, "\xEF\xBB\xBF", 3) == 0) {
        at = fail(code::byte_order_mark, data_);
    } else {
        at = value(skip(at));
    }
    if (at != nullptr) {
        at = skip(at);
        if (at != end_) {
            at = fail(code::trailing_bytes, at);
        }
    }
    if (at == nullptr) {
        count_ = 0;
        give_back();
        result.error = error_;
        return result;
    }
    give_back();
    result.root = view(nodes_);
    result.ok = true;
    return result;
}

char* parser::value(char* at) noexcept {
    if (at == end_) [[unlikely]] {
        return fail(code::unexpected_end, at);
    }
    switch (*at) {
        case '"':
            return string(at + 1);
        case '{':
            return object(at);
        case '[':
            return array(at);
        case 't':
            return literal(at, "true", kind::boolean, true);
        case 'f':
            return literal(at, "false", kind::boolean, false);
        case 'n':
            return literal(at, "null", kind::null, false);
        case '-':
        case '0':
        case '1':
        case '2':
        case '3':
        case '4':
        case '5':
        case '6':
        case '7':
        case '8':
        case '9':
            return number(at);
        default:
            return fail(code::unexpected_byte, at);
    }
}

char* parser::literal(char* at, std::string_view token, kind type, bool flag) noexcept {
    const auto left = static_cast<std::size_t>(end_ - at);
    const std::size_t shown = std::min(left, token.size());
    if (std::memcmp(at, token.data(), shown) != 0) {
        return fail(code::bad_literal, at);
    }
    if (shown < token.size()) {
        return fail(code::unexpected_end, end_);
    }
    node* const n = push();
    if (n == nullptr) {
        return fail(code::nodes, at);
    }
    n->type = type;
    n->flag = flag;
    n->size = 0;
    n->skip = 1;
    return at + token.size();
}

char* parser::number(char* at) noexcept {
    const base::number_scan scan = base::scan_number(at, end_);
    if (!scan.ok) {
        return fail(scan.end == end_ ? code::unexpected_end : code::bad_number, scan.end);
    }
    node* const n = push();
    if (n == nullptr) {
        return fail(code::nodes, at);
    }
    n->type = kind::number;
    n->flag = scan.integer;
    n->size = static_cast<std::uint32_t>(scan.end - at);
    n->text = at;
    return at + n->size;
}

// The text of a string lies in [start, end), the input goes on at `behind`.
char* parser::finish_string(char* start, char* end, char* behind) noexcept {
    node* const n = push();
    if (n == nullptr) {
        return fail(code::nodes, start - 1);
    }
    n->type = kind::string;
    n->flag = false;
    n->size = static_cast<std::uint32_t>(end - start);
    n->text = start;
    return behind;
}

// `at` is behind the opening quote. Most strings of a message are short and plain: one block
// decides them without a call.
char* parser::string(char* at) noexcept {
#if defined(__SSE2__)
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1F)), v);
    const __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
    const __m128i escape = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
    // Bytes of 0x80 and above have the sign bit that movemask reads: v itself joins the OR.
    const auto hits = static_cast<std::uint32_t>(
        _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, escape), _mm_or_si128(control, v))));
    if (hits != 0) {
        char* const place = at + std::countr_zero(hits);
        if (place < end_ && *place == '"') [[likely]] {
            return finish_string(at, place, place + 1);
        }
    }
#endif
    return long_string(at);
}

char* parser::long_string(char* at) noexcept {
    char* const start = at;
    char* out = at;
    for (;;) {
        // Up to the first escape nothing moves; from then on the text slides down to `out`.
        string_run found{at, false};
        if (out == at) {
            found = find_string_end(at, end_);
        } else if (at != end_ && *at != '\\') {
            found = move_string_run(at, end_, out);
        }
        const auto length = static_cast<std::size_t>(found.end - at);
        if (found.non_ascii) {
            const std::size_t valid = base::utf8::valid_prefix({out, length});
            if (valid != length) {
                return fail(code::bad_utf8, at + valid);
            }
        }
        out += length;
        at += length;
        if (at == end_) {
            return fail(code::unexpected_end, at);
        }
        if (*at == '"') {
            return finish_string(start, out, at + 1);
        }
        if (*at != '\\') {
            return fail(code::control_character, at);
        }
        const unescaped one = unescape(at, end_, out);
        switch (one.what) {
            case unescaped::outcome::ok:
                break;
            case unescaped::outcome::cut_short:
                return fail(code::unexpected_end, end_);
            case unescaped::outcome::malformed:
                return fail(code::bad_escape, at);
            case unescaped::outcome::lone_surrogate:
                return fail(code::lone_surrogate, at);
        }
        at += one.read;
        out += one.written;
    }
}

// Pushes the node of a container and steps over its bracket and white space.
char* parser::open(char* at, kind type) noexcept {
    if (depth_ == bounds_.depth_max) [[unlikely]] {
        return fail(code::depth, at);
    }
    node* const n = push();
    if (n == nullptr) [[unlikely]] {
        return fail(code::nodes, at);
    }
    ++depth_;
    n->type = type;
    n->flag = false;
    return skip(at + 1);
}

char* parser::close(std::size_t index, std::uint32_t size, char* at) noexcept {
    nodes_[index].size = size;
    nodes_[index].skip = count_ - index;
    --depth_;
    return at + 1;
}

char* parser::array(char* at) noexcept {
    const std::size_t index = count_;
    at = open(at, kind::array);
    if (at == nullptr) [[unlikely]] {
        return nullptr;
    }
    if (at != end_ && *at == ']') {
        return close(index, 0, at);
    }
    for (std::uint32_t size = 1;; ++size) {
        at = value(at);
        if (at == nullptr) [[unlikely]] {
            return nullptr;
        }
        at = skip(at);
        if (at == end_ || *at != ',') {
            return at != end_ && *at == ']' ? close(index, size, at) : fail_unexpected(at);
        }
        at = skip(at + 1);
    }
}

char* parser::object(char* at) noexcept {
    const std::size_t index = count_;
    at = open(at, kind::object);
    if (at == nullptr) [[unlikely]] {
        return nullptr;
    }
    if (at != end_ && *at == '}') {
        return close(index, 0, at);
    }
    for (std::uint32_t size = 1;; ++size) {
        if (at == end_ || *at != '"') [[unlikely]] {
            return fail_unexpected(at);
        }
        at = string(at + 1);
        if (at == nullptr) [[unlikely]] {
            return nullptr;
        }
        at = skip(at);
        if (at == end_ || *at != ':') [[unlikely]] {
            return fail_unexpected(at);
        }
        at = value(skip(at + 1));
        if (at == nullptr) [[unlikely]] {
            return nullptr;
        }
        at = skip(at);
        if (at == end_ || *at != ',') {
            return at != end_ && *at == '}' ? close(index, size, at) : fail_unexpected(at);
        }
        at = skip(at + 1);
    }
}

}  // namespace

parse_result parse(char* data, std::size_t size, base::arena& memory,
                   const parse_limits& bounds) noexcept {
    PILLION_ASSERT(size <= UINT32_MAX);
    PILLION_ASSERT(bounds.depth_max <= limits::json_depth_max);
    return parser(data, size, memory, bounds).run();
}

}  // namespace pillion::json
