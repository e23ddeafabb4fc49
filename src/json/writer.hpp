// writer: appends compact JSON to a byte_buffer; what every reply is made with.
//
// Commas come by themselves: between the elements of a container, and between the values and
// fragments of a message that is put together from pre-rendered pieces. The writer does not check
// that the sequence of calls makes sense (json::builder does); its callers are ours.
//
// Output is one line: no raw newline is ever written (raw() and fragment() pass text through and
// require that it has none). Memory is that of the buffer: the shard's chunks, no heap.
// Thread: the shard of the buffer's pool.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <pillion/json.hpp>

#include "base/assert.hpp"
#include "base/byte_buffer.hpp"
#include "base/number.hpp"
#include "base/utf8.hpp"
#include "json/escape.hpp"

namespace pillion::json {

class writer {
 public:
    // `out` must outlive the writer. Several writers may follow each other on one buffer.
    explicit writer(base::byte_buffer& out) noexcept : out_(out) {}

    void begin_object() noexcept { open('{'); }
    void end_object() noexcept { close('}'); }
    void begin_array() noexcept { open('['); }
    void end_array() noexcept { close(']'); }

    // The name of the next value, quoted and escaped. REQUIRES: valid UTF-8.
    void key(std::string_view name) noexcept {
        string(name);
        out_.append(':');
        comma_ = false;
    }
    // A name that is rendered already, with its quotes and colon: R"("jsonrpc":)".
    void key_raw(std::string_view rendered) noexcept {
        put(rendered);
        comma_ = false;
    }

    // A string, quoted and escaped. REQUIRES: valid UTF-8 (asserted in debug builds).
    void string(std::string_view text) noexcept {
        check_utf8(text);
        char* const begin = out_.reserve(text.size() + 3);
        char* at = begin;
        *at = ',';
        at += comma_ ? 1 : 0;
        *at++ = '"';
        const char* const end = text.data() + text.size();
        const char* const stop = copy_plain(text.data(), end, at);
        at += stop - text.data();
        if (stop != end) [[unlikely]] {
            out_.commit(static_cast<std::size_t>(at - begin));
            return escaped_rest(stop, end);
        }
        *at++ = '"';
        out_.commit(static_cast<std::size_t>(at - begin));
        comma_ = true;
    }
    // A string of unknown origin: every bad UTF-8 sequence becomes U+FFFD.
    void string_lossy(std::string_view text) noexcept;

    // A value that is JSON already, without newlines.
    void raw(std::string_view json) noexcept { put(json); }
    // A piece of JSON that need not be a value, such as R"({"jsonrpc":"2.0","id":)", appended as
    // it is. A comma follows unless its last byte is one of { [ : and the comma itself.
    void fragment(std::string_view piece) noexcept {
        if (!piece.empty()) {
            out_.append(piece);
            const char last = piece.back();
            comma_ = last != '{' && last != '[' && last != ':' && last != ',';
        }
    }

    void integer(std::int64_t number) noexcept { formatted(number); }
    void unsigned_integer(std::uint64_t number) noexcept { formatted(number); }
    // The shortest text that reads back as the same double; null for infinities and NaN.
    void number(double value) noexcept {
        if (std::isfinite(value)) {
            formatted(value);
        } else {
            null();
        }
    }
    void boolean(bool truth) noexcept { put(truth ? "true" : "false"); }
    void null() noexcept { put("null"); }
    // A parsed value, compactly, numbers by their text; a missing one is written as null. Reads a
    // block of the padding that json::parse() asks for.
    void value(view v) noexcept;

    base::byte_buffer& buffer() noexcept { return out_; }

 private:
    void put(std::string_view text) noexcept {
        char* const at = out_.reserve(text.size() + 1);
        const std::size_t comma = comma_ ? 1 : 0;
        *at = ',';
        if (!text.empty()) {
            std::memcpy(at + comma, text.data(), text.size());
        }
        out_.commit(text.size() + comma);
        comma_ = true;
    }
    void open(char bracket) noexcept {
        put({&bracket, 1});
        comma_ = false;
    }
    void close(char bracket) noexcept {
        out_.append(bracket);
        comma_ = true;
    }
    template <class Number>
    void formatted(Number number) noexcept {
        char* const begin = out_.reserve(base::double_text_max + 1);
        char* at = begin;
        *at = ',';
        at += comma_ ? 1 : 0;
        out_.commit(static_cast<std::size_t>(base::format(at, number) - begin));
        comma_ = true;
    }
    // The rest of a string and its closing quote.
    [[gnu::noinline]] void escaped_rest(const char* at, const char* end) noexcept;
    // The rest of a text of unknown origin, and its closing quote.
    [[gnu::noinline]] void lossy_rest(std::string_view text) noexcept;
    void escaped(std::string_view text) noexcept;
    static void check_utf8([[maybe_unused]] std::string_view text) noexcept {
        PILLION_DEBUG_ASSERT(base::utf8::validate(text));
    }
    // A value of a document, behind `separator`.
    void parsed(char separator, const node* n) noexcept;
    void parsed_string(char separator, const node* n) noexcept;
    void parsed_number(char separator, const node* n) noexcept;
    void parsed_container(char separator, const node* n) noexcept;

    base::byte_buffer& out_;
    bool comma_ = false;
};

}  // namespace pillion::json
