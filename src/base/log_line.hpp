// log_line: builds one line of the log where it is to lie.
//
// The line of a call is built for every call: what most of its fields need is inline, works on
// values in registers (the rest takes the line by value) and never reads what it has just written,
// since a load that spans several stores waits until those have left the processor, which are in
// lines of memory that nobody has touched for long. Thread-safety: one thread each.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/log.hpp"
#include "base/number.hpp"
#include "base/short_text.hpp"

namespace pillion::log {

inline constexpr std::string_view level_names[] = {"debug", "info", "warn", "error", "off"};

// Once something did not fit, nothing more is added but the closing mark.
class log_line {
 public:
    static constexpr std::size_t bytes_max = 2048;

    // Builds in the bytes_max bytes at `to`: time, level and event first.
    log_line(bool json, char* to, std::int64_t unix_ms, level l, std::string_view event) noexcept;

    // A field without a key is left out.
    [[gnu::always_inline]] void add(const field& f) noexcept {
        if (!f.key.empty() && !add_plain(f)) {
            *this = with_any(*this, f);
        }
    }

    // Ends the line, which is what it returns.
    std::string_view finish() noexcept;

 private:
    // Kept free for what closes a line that had to be cut.
    static constexpr std::size_t tail_bytes = 32;

    // As text, what fits and needs neither quotes nor a sign: all fields of most lines. False:
    // nothing was added.
    [[gnu::always_inline]] bool add_plain(const field& f) noexcept {
        char* const at = text_ + used_;
        char* const to = at + f.key.size() + 2;
        if (f.kind == field::type::integer || f.kind == field::type::natural) {
            if (f.integer < 0 || used_ + f.key.size() + 2 + base::integer_text_max > plain_end_) {
                return false;
            }
            used_ = static_cast<std::size_t>(base::format(to, f.natural) - text_);
        } else {
            const std::size_t end = used_ + f.key.size() + 2 + f.text.size();
            if (f.kind > field::type::word || f.text.empty() || end > plain_end_) {
                return false;
            }
            if (f.kind == field::type::word) {
                base::short_copy(to, f.text.data(), f.text.size());
            } else if (!copy_word(to, f.text)) {
                return false;
            }
            used_ = end;
        }
        at[0] = ' ';
        base::short_copy(at + 1, f.key.data(), f.key.size());
        to[-1] = '=';
        return true;
    }

    // Copies a text that is not empty. False: it is not clean as one word, and what was copied
    // counts for nothing.
    static bool copy_word(char* to, std::string_view text) noexcept {
#if defined(__SSE2__)
        if (text.size() >= 4) {
            return copy_lanes(to, text.data(), text.size());
        }
#endif
        base::short_copy(to, text.data(), text.size());
        return is_clean(text, true);
    }

#if defined(__SSE2__)
    // At least four bytes: the last lanes overlap those before.
    static bool copy_lanes(char* to, const char* from, std::size_t bytes) noexcept {
        if (bytes < 16) {
            base::short_copy(to, from, bytes);
            const std::size_t word = std::min<std::size_t>(bytes, 8);
            const std::uint64_t first = base::short_word(from, word);
            const std::uint64_t last = base::short_word(from + bytes - word, word);
            const __m128i both =
                _mm_set_epi64x(static_cast<std::int64_t>(last), static_cast<std::int64_t>(first));
            return _mm_movemask_epi8(unclean(both)) == 0;
        }
        __m128i bad = _mm_setzero_si128();
        for (std::size_t i = 0;; i = std::min(i + 16, bytes - 16)) {
            const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), v);
            bad = _mm_or_si128(bad, unclean(v));
            if (i == bytes - 16) {
                return _mm_movemask_epi8(bad) == 0;
            }
        }
    }

    // Which bytes may not stand in one word.
    static __m128i unclean(__m128i v) noexcept {
        // Bytes of 0x80 and above are negative.
        __m128i bad = _mm_cmplt_epi8(v, _mm_set1_epi8('!'));
        bad = _mm_or_si128(bad, _mm_cmpeq_epi8(v, _mm_set1_epi8(0x7f)));
        bad = _mm_or_si128(bad, _mm_cmpeq_epi8(v, _mm_set1_epi8('"')));
        bad = _mm_or_si128(bad, _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
        return _mm_or_si128(bad, _mm_cmpeq_epi8(v, _mm_set1_epi8('=')));
    }
#endif

    // Printable ASCII that needs no escape; a name or a number, where it holds no '=' and no space.
    static bool is_clean(std::string_view text, bool one_word) noexcept;

    [[gnu::noinline]] static log_line with_any(log_line made, field f) noexcept;
    void add_any(const field& f) noexcept;
    bool raw(std::string_view bytes) noexcept;
    template <std::size_t Before, std::size_t Behind>
    bool joined(const char (&before)[Before], std::string_view name,
                const char (&behind)[Behind]) noexcept;
    void value(const field& f) noexcept;
    void word(std::string_view text) noexcept;
    void plain_or_quoted(std::string_view text) noexcept;
    void quoted(std::string_view text) noexcept;
    bool escaped(char c) noexcept;

    char* text_;
    std::size_t used_ = 0;
    std::size_t limit_ = bytes_max - tail_bytes;
    // How far fields that need nothing may reach: nowhere in JSON, and once something did not fit.
    std::size_t plain_end_;
    bool cut_ = false;
    bool json_;
};

namespace detail {
// Begins a line when a monotonic clock shows `now_ns`. One at a time: end_line() comes before the
// thread logs anything else.
log_line begin_line(std::int64_t now_ns, level l, std::string_view event) noexcept;
// Keeps or prints it.
void end_line(log_line made, level l) noexcept;
}  // namespace detail

// log::info() for who logs with every call and has just read a monotonic clock, be it a
// simulation's: the time of day is read again only every millisecond.
template <std::same_as<field>... Fields>
void info_at(std::int64_t now_ns, std::string_view event, const Fields&... fields) noexcept {
    if (enabled(level::info)) {
        log_line made = detail::begin_line(now_ns, level::info, event);
        (made.add(fields), ...);
        detail::end_line(made, level::info);
    }
}

}  // namespace pillion::log
