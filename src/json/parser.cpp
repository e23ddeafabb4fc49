#include "json/parser.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "base/number.hpp"
#include "base/utf8.hpp"
#include "json/node.hpp"
#include "json/object_memo.hpp"
#include "json/simd.hpp"
#include "json/string_scan.hpp"
#include "json/token.hpp"
#include "json/unescape.hpp"

namespace pillion::json {

namespace {

using code = parse_error::code;

#if defined(__x86_64__)
// Behind the first block of a string; what is longer is worth a call.
constexpr std::ptrdiff_t near_bytes = 48;
#endif

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

// Where reading and building stand behind a value that was a call of its own.
struct cursor {
    char* at;  // null after a failure
    node* out;
};

// Recursive descent over the input, one instance of the code for each kind of vectors.
//
// The padding behind the input is read like the input itself: what it holds is taken for tokens
// until a value or a bracket turns out to reach over the end. That takes one comparison for each
// of them, and some twenty bytes of the padding at most, because whatever may come next is such a
// value or bracket, white space (which stops at the end) or an error. fail() knows an error behind
// the end for what it is.
template <scan_variant V>
class parser {
 public:
    parser(char* data, std::size_t size, base::arena& memory, const parse_limits& bounds,
           object_memo* memo) noexcept
        : data_(data), end_(data + size), memory_(memory), bounds_(bounds), memo_(memo) {}

    parse_result run() noexcept;

 private:
    // These take the place to read at and the node to make, which they move on, and return the
    // place behind what they read, or null after fail().
    char* value(char* at, node*& out) noexcept;
    char* literal(char* at, node*& out, std::string_view token, kind type, bool flag) noexcept;
    char* number(char* at, node*& out) noexcept;
    char* string(char* at, node*& out, bool guess) noexcept;
    // Recursion is bounded by depth_max.
    [[gnu::noinline]] cursor object(char* at, node* out) noexcept;
    [[gnu::noinline]] cursor array(char* at, node* out) noexcept;
    // An object that the memo may know, or is to.
    cursor repeated(char* at, node* out) noexcept;
    // The rarer forms. The strings and numbers fill in the node at `out`.
    [[gnu::noinline]] char* odd_literal(char* at, std::string_view token) noexcept;
    [[gnu::noinline]] char* odd_number(char* at, node* out) noexcept;
    [[gnu::noinline]] char* long_string(char* text, char* at, node* out) noexcept;
    [[gnu::noinline]] char* escaped_string(char* text, char* at, node* out) noexcept;

    char* open(char* at, node*& out, kind type, std::size_t& index) noexcept;
    cursor close(char* at, node* out, std::size_t index, std::uint32_t size) noexcept;
    // The text of a string lies in [text, end), the input goes on at `behind`.
    char* end_string(char* text, char* end, char* behind, node* out) noexcept {
        *out = {kind::string, false, static_cast<std::uint32_t>(end - text), {.text = text}};
        return behind;
    }

    // Over white space; also where `at` lies behind the end already.
    char* skip(char* at) const noexcept {
        return static_cast<unsigned char>(*at) > ' ' ? at : skip_more(at);
    }
    // Not inline: the compiler would test for the end before it looks at the byte, each time.
    [[gnu::noinline]] char* skip_more(char* at) const noexcept {
        if (at >= end_) [[unlikely]] {
            return at;
        }
        if (*at == ' ' && static_cast<unsigned char>(at[1]) > ' ') {
            return at + 1;
        }
        return const_cast<char*>(find_token(at, end_, V));
    }
    // Makes sure of room for a node at `out` for the value at `at`; fails if there can be none.
    bool has_room(const char* at, node*& out) noexcept {
        if (out != limit_) [[likely]] {
            return true;
        }
        out = grow(at, out);
        return out != nullptr;
    }
    [[gnu::noinline]] node* grow(const char* at, node* out) noexcept;

    // How much of [at, end), which has bytes of 0x80 and above, is well-formed.
    static std::size_t valid_utf8(const char* at, const char* end) noexcept;
    [[gnu::cold, gnu::noinline]] char* fail(code kind, const char* at) noexcept {
        if (at >= end_) {
            kind = code::unexpected_end;
            at = end_;
        }
        error_ = {kind, static_cast<std::size_t>(at - data_), text_of(kind)};
        return nullptr;
    }

    char* const data_;
    char* const end_;
    node* nodes_ = nullptr;
    node* limit_ = nullptr;  // the end of the room for nodes
    std::size_t depth_ = 0;
    base::arena& memory_;
    const parse_limits& bounds_;
    object_memo* const memo_;
    bool rewrote_ = false;  // bytes, so far
    parse_error error_;
};

// The first room suits protocol messages (a node for some ten bytes) and leaves some in a pooled
// chunk. Where it does not do, the separators that are still to come bound what is needed, so that
// the nodes move once at most.
template <scan_variant V>
node* parser<V>::grow(const char* at, node* out) noexcept {
    constexpr std::size_t first_max = 200;
    const auto used = static_cast<std::size_t>(out - nodes_);
    const std::size_t want =
        nodes_ == nullptr ? std::min(static_cast<std::size_t>(end_ - data_) / 8 + 8, first_max)
                          : used + 1 + count_separators(at, std::max<const char*>(at, end_), V);
    const std::size_t capacity = std::min(want, bounds_.nodes_max);
    if (capacity <= used) [[unlikely]] {
        fail(code::nodes, at);
        return nullptr;
    }
    if (nodes_ != nullptr) {
        memory_.trim(nodes_, limit_);
    }
    node* const bigger = memory_.array<node>(capacity);
    if (used > 0 && bigger != nodes_) {
        std::memcpy(bigger, nodes_, used * sizeof(node));
    }
    nodes_ = bigger;
    limit_ = bigger + capacity;
    return bigger + used;
}

template <scan_variant V>
parse_result parser<V>::run() noexcept {
    parse_result result;
    node* out = nullptr;
    char* at = value(skip(data_), out);
    if (at != nullptr) {
        at = skip(at);
        if (at != end_) {
            at = fail(code::trailing_bytes, at);
        }
    }
    result.ok = at != nullptr;
    if (nodes_ != nullptr) {
        memory_.trim(result.ok ? out : nodes_, limit_);
    }
    if (result.ok) {
        result.root = view(nodes_);
        return result;
    }
    result.error = error_;
    if (error_.offset == 0 && end_ - data_ >= 3 && std::memcmp(data_, "\xEF\xBB\xBF", 3) == 0) {
        result.error = {code::byte_order_mark, 0, text_of(code::byte_order_mark)};
    }
    return result;
}

template <scan_variant V>
[[gnu::always_inline]] inline char* parser<V>::value(char* at, node*& out) noexcept {
    switch (*at) {
        case '"':
            return string(at, out, false);
        case '{': {
            const cursor c = object(at, out);
            out = c.out;
            return c.at;
        }
        case '[': {
            const cursor c = array(at, out);
            out = c.out;
            return c.at;
        }
        case 't':
            return literal(at, out, "true", kind::boolean, true);
        case 'f':
            return literal(at, out, "false", kind::boolean, false);
        case 'n':
            return literal(at, out, "null", kind::null, false);
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
            return number(at, out);
        default:
            return fail(code::unexpected_byte, at);
    }
}

template <scan_variant V>
[[gnu::always_inline]] inline char* parser<V>::literal(char* at, node*& out, std::string_view token,
                                                       kind type, bool flag) noexcept {
    char* const behind = at + token.size();
    if (behind > end_ || std::memcmp(at, token.data(), token.size()) != 0) [[unlikely]] {
        return odd_literal(at, token);
    }
    if (!has_room(at, out)) [[unlikely]] {
        return nullptr;
    }
    *out++ = {type, flag, 0, {.skip = 1}};
    return behind;
}

template <scan_variant V>
[[gnu::cold]] char* parser<V>::odd_literal(char* at, std::string_view token) noexcept {
    const auto left = static_cast<std::size_t>(std::max(end_, at) - at);
    const bool cut = std::memcmp(at, token.data(), std::min(left, token.size())) == 0;
    return cut ? fail(code::unexpected_end, end_) : fail(code::bad_literal, at);
}

template <scan_variant V>
[[gnu::always_inline]] inline char* parser<V>::number(char* at, node*& out) noexcept {
    char* const digits = at + (*at == '-' ? 1 : 0);
    char* end = digits_end(digits, end_);
    bool good = end != digits && (*digits != '0' || end == digits + 1);
    const bool integer = *end != '.';
    if (!integer) {
        char* const fraction = end + 1;
        end = digits_end(fraction, end_);
        good &= end != fraction;
    }
    if (!has_room(at, out)) [[unlikely]] {
        return nullptr;
    }
    if (!good || end >= end_ || (*end | 0x20) == 'e') [[unlikely]] {
        end = odd_number(at, out);
    } else {
        *out = {kind::number, integer, static_cast<std::uint32_t>(end - at), {.text = at}};
    }
    ++out;
    return end;
}

// Exponents, numbers that end with the input, and malformed ones.
template <scan_variant V>
char* parser<V>::odd_number(char* at, node* out) noexcept {
    if (at >= end_) {
        return fail(code::unexpected_end, end_);
    }
    const base::number_scan scan = base::scan_number(at, end_);
    if (!scan.ok) {
        return fail(code::bad_number, scan.end);
    }
    const auto size = static_cast<std::uint32_t>(scan.end - at);
    *out = {kind::number, scan.integer, size, {.text = at}};
    return at + size;
}

// Most strings of a message are short and plain: one block decides them.
template <scan_variant V>
[[gnu::always_inline]] inline char* parser<V>::string(char* at, node*& out, bool guess) noexcept {
    if (!has_room(at, out)) [[unlikely]] {
        return nullptr;
    }
    char* const text = at + 1;
    node* const made = out++;
#if defined(__x86_64__)
    if constexpr (V != scan_variant::portable) {
        const auto hits = simd::mask_of(simd::special_or_high_16(simd::load_16(text)));
        if (hits == 0) {
            return long_string(text, text + 16, made);
        }
        const int length = std::countr_zero(hits);
        char* const end = text + (guess ? guessed(length) : length);
        if (*end == '"' && end < end_) [[likely]] {
            return end_string(text, end, end + 1, made);
        }
        return *end == '\\' ? escaped_string(text, end, made) : long_string(text, end, made);
    }
#endif
    return long_string(text, text, made);
}

template <scan_variant V>
std::size_t parser<V>::valid_utf8(const char* at, const char* end) noexcept {
    const std::string_view run(at, static_cast<std::size_t>(end - at));
    return V == scan_variant::avx2 ? base::utf8::valid_prefix(run)
                                   : base::utf8::valid_prefix(run, base::utf8::variant::scalar);
}

// [text, at) is plain.
template <scan_variant V>
char* parser<V>::long_string(char* text, char* at, node* out) noexcept {
#if defined(__x86_64__)
    if constexpr (V != scan_variant::portable) {
        // Some more blocks before the call: names of members of `_meta` have 40 bytes.
        for (char* const near = at + near_bytes; at < near && at < end_; at += 16) {
            const auto hits = simd::mask_of(simd::special_or_high_16(simd::load_16(at)));
            if (hits != 0) {
                char* const end = at + std::countr_zero(hits);
                if (*end == '"' && end < end_) {
                    return end_string(text, end, end + 1, out);
                }
                break;
            }
        }
    }
#endif
    if (at >= end_) {
        return fail(code::unexpected_end, end_);
    }
    const string_run run = find_string_end(at, end_, V);
    char* const end = at + (run.end - at);
    if (run.non_ascii) {
        char* const valid = at + valid_utf8(at, end);
        if (valid != end) {
            return fail(code::bad_utf8, valid);
        }
    }
    if (end != end_ && *end == '"') {
        return end_string(text, end, end + 1, out);
    }
    return escaped_string(text, end, out);
}

// [text, at) needs no more work. From the first escape on the text moves down.
template <scan_variant V>
char* parser<V>::escaped_string(char* text, char* at, node* out) noexcept {
    char* to = at;
    rewrote_ = true;
    while (at < end_ && *at == '\\') {
        const unescaped one = unescape(at, end_, to);
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
        to += one.written;
        if (*at == '"' && at < end_) {
            break;
        }
        const string_run run = move_string_run(at, end_, to, V);
        const auto size = static_cast<std::size_t>(run.end - at);
        if (run.non_ascii) {
            const std::size_t valid = valid_utf8(to, to + size);
            if (valid != size) {
                return fail(code::bad_utf8, at + valid);
            }
        }
        at += size;
        to += size;
    }
    if (at < end_ && *at == '"') {
        return end_string(text, to, at + 1, out);
    }
    return fail(code::control_character, at);
}

// Makes the node of a container and steps over its bracket and white space.
template <scan_variant V>
[[gnu::always_inline]] inline char* parser<V>::open(char* at, node*& out, kind type,
                                                    std::size_t& index) noexcept {
    if (at >= end_ || depth_ == bounds_.depth_max) [[unlikely]] {
        return fail(code::depth, at);
    }
    if (!has_room(at, out)) [[unlikely]] {
        return nullptr;
    }
    ++depth_;
    index = static_cast<std::size_t>(out - nodes_);
    out->type = type;
    out->flag = false;
    ++out;
    return skip(at + 1);
}

template <scan_variant V>
[[gnu::always_inline]] inline cursor parser<V>::close(char* at, node* out, std::size_t index,
                                                      std::uint32_t size) noexcept {
    if (at >= end_) [[unlikely]] {
        return {fail(code::unexpected_end, end_), out};
    }
    nodes_[index].size = size;
    nodes_[index].skip = static_cast<std::size_t>(out - nodes_) - index;
    --depth_;
    return {at + 1, out};
}

template <scan_variant V>
cursor parser<V>::array(char* at, node* out) noexcept {
    std::size_t index = 0;
    at = open(at, out, kind::array, index);
    if (at == nullptr) [[unlikely]] {
        return {nullptr, out};
    }
    if (*at == ']') {
        return close(at, out, index, 0);
    }
    for (std::uint32_t size = 1;; ++size) {
        at = value(at, out);
        if (at == nullptr) [[unlikely]] {
            return {nullptr, out};
        }
        at = skip(at);
        if (*at != ',') {
            return *at == ']' ? close(at, out, index, size)
                              : cursor{fail(code::unexpected_byte, at), out};
        }
        at = skip(at + 1);
    }
}

template <scan_variant V>
cursor parser<V>::object(char* at, node* out) noexcept {
    std::size_t index = 0;
    at = open(at, out, kind::object, index);
    if (at == nullptr) [[unlikely]] {
        return {nullptr, out};
    }
    if (*at == '}') {
        return close(at, out, index, 0);
    }
    for (std::uint32_t size = 1;; ++size) {
        if (*at != '"') [[unlikely]] {
            return {fail(code::unexpected_byte, at), out};
        }
        at = string(at, out, size <= guessed_members);
        if (at == nullptr) [[unlikely]] {
            return {nullptr, out};
        }
        at = skip(at);
        if (*at != ':') [[unlikely]] {
            return {fail(code::unexpected_byte, at), out};
        }
        at = skip(at + 1);
        if (*at == '{' && memo_ != nullptr && memo_->is_for(out[-1].view_text())) {
            const cursor c = repeated(at, out);
            at = c.at;
            out = c.out;
        } else {
            at = value(at, out);
        }
        if (at == nullptr) [[unlikely]] {
            return {nullptr, out};
        }
        at = skip(at);
        if (*at != ',') {
            return *at == '}' ? close(at, out, index, size)
                              : cursor{fail(code::unexpected_byte, at), out};
        }
        at = skip(at + 1);
    }
}

template <scan_variant V>
cursor parser<V>::repeated(char* at, node* out) noexcept {
    const object_memo::entry* const kept = memo_->find(at, end_);
    if (kept != nullptr && limit_ - out >= kept->nodes &&
        depth_ + kept->containers <= bounds_.depth_max) [[likely]] {
        return {at + kept->bytes, kept->put(at, out)};
    }
    const auto index = out - nodes_;
    const bool rewrote = std::exchange(rewrote_, false);
    const cursor made = object(at, out);
    if (kept == nullptr && made.at != nullptr && !rewrote_) {
        memo_->add({at, made.at}, nodes_ + index, made.out);
    }
    rewrote_ = rewrote_ || rewrote;
    return made;
}

}  // namespace

parse_result parse(char* data, std::size_t size, base::arena& memory, const parse_limits& bounds,
                   scan_variant v, object_memo* memo) noexcept {
    PILLION_ASSERT(size <= UINT32_MAX);
    PILLION_ASSERT(bounds.depth_max <= limits::json_depth_max);
    switch (v) {
#if defined(__x86_64__)
        case scan_variant::avx2:
            return parser<scan_variant::avx2>(data, size, memory, bounds, memo).run();
        case scan_variant::sse2:
            return parser<scan_variant::sse2>(data, size, memory, bounds, memo).run();
#endif
        default:
            return parser<scan_variant::portable>(data, size, memory, bounds, memo).run();
    }
}

parse_result parse(char* data, std::size_t size, base::arena& memory, const parse_limits& bounds,
                   object_memo* memo) noexcept {
    return parse(data, size, memory, bounds, best_variant(), memo);
}

}  // namespace pillion::json
