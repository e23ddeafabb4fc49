#include "json/string_scan.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "json/simd.hpp"
#include "json/swar.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace pillion::json {

namespace {

bool is_space(char c) noexcept { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

string_run string_end_portable(const char* at, const char* end) noexcept {
    bool non_ascii = false;
    while (end - at >= 8) {
        const std::uint64_t word = swar::load<std::uint64_t>(at);
        if (swar::has_special(word)) {
            break;
        }
        non_ascii |= swar::has_high(word);
        at += 8;
    }
    while (at != end && !swar::is_special(*at)) {
        non_ascii |= static_cast<unsigned char>(*at) >= 0x80;
        ++at;
    }
    return {at, non_ascii};
}

bool is_separator(char c) noexcept { return c == ',' || c == ':' || c == '[' || c == '{'; }

std::size_t separators_portable(const char* at, const char* end) noexcept {
    return static_cast<std::size_t>(std::count_if(at, end, is_separator));
}

const char* token_portable(const char* at, const char* end) noexcept {
    while (at != end && is_space(*at)) {
        ++at;
    }
    return at;
}

#if defined(__x86_64__)

using simd::load_16;
using simd::mask_of;
using simd::special_16;
using simd::store_16;

// Bits for the bytes of a block at and behind the end of the input, so that the last block always
// has a hit and the search needs no second condition.
std::uint32_t beyond(std::ptrdiff_t left, std::ptrdiff_t block) noexcept {
    return left >= block ? 0U : ~std::uint32_t{0} << left;
}

string_run string_end_sse2(const char* at, const char* end) noexcept {
    bool non_ascii = false;
    for (;; at += 16) {
        const __m128i v = load_16(at);
        const std::uint32_t hits = mask_of(special_16(v)) | beyond(end - at, 16);
        const std::uint32_t high = mask_of(v);
        if (hits != 0) {
            const int place = std::countr_zero(hits);
            return {at + place, non_ascii || (high & ((1U << place) - 1)) != 0};
        }
        non_ascii |= high != 0;
        // A block that ends with the input has no bits beyond it; the next one would start
        // there, still within the padding.
    }
}

// Copies fewer than 16 bytes, which may overlap, and writes no byte more: what lies behind them in
// the buffer has not been read yet.
void move_short(char* out, const char* at, int count) noexcept {
    if (count >= 8) {
        const auto first = swar::load<std::uint64_t>(at);
        const auto last = swar::load<std::uint64_t>(at + count - 8);
        std::memcpy(out, &first, 8);
        std::memcpy(out + count - 8, &last, 8);
        return;
    }
    for (int i = 0; i < count; ++i) {
        out[i] = at[i];
    }
}

string_run move_run_sse2(const char* at, const char* end, char* out) noexcept {
    bool non_ascii = false;
    for (;; at += 16, out += 16) {
        const __m128i v = load_16(at);
        const std::uint32_t hits = mask_of(special_16(v)) | beyond(end - at, 16);
        const std::uint32_t high = mask_of(v);
        if (hits != 0) {
            const int place = std::countr_zero(hits);
            if (at - out >= 16) {
                // What lies between was read already: no need to be exact.
                store_16(out, v);
            } else {
                move_short(out, at, place);
            }
            return {at + place, non_ascii || (high & ((1U << place) - 1)) != 0};
        }
        // Overwrites only bytes before at + 16, which have been read.
        store_16(out, v);
        non_ascii |= high != 0;
    }
}

const char* token_sse2(const char* at, const char* end) noexcept {
    for (;; at += 16) {
        const __m128i v = load_16(at);
        const __m128i space = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8(' ')),
                                                        _mm_cmpeq_epi8(v, _mm_set1_epi8('\n'))),
                                           _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('\r')),
                                                        _mm_cmpeq_epi8(v, _mm_set1_epi8('\t'))));
        const std::uint32_t hits = (~mask_of(space) & 0xFFFFU) | beyond(end - at, 16);
        if (hits != 0) {
            return at + std::countr_zero(hits);
        }
    }
}

[[gnu::target("avx2")]] inline __m256i special_32(__m256i v) noexcept {
    const __m256i control = _mm256_cmpeq_epi8(_mm256_min_epu8(v, _mm256_set1_epi8(0x1F)), v);
    const __m256i quote = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('"'));
    const __m256i escape = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\'));
    return _mm256_or_si256(_mm256_or_si256(quote, escape), control);
}

[[gnu::target("avx2")]] inline __m256i load_32(const char* at) noexcept {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}

[[gnu::target("avx2")]] string_run string_end_avx2(const char* at, const char* end) noexcept {
    __m256i seen = _mm256_setzero_si256();
    while (end - at >= 64) {
        const __m256i a = load_32(at);
        const __m256i b = load_32(at + 32);
        const __m256i hits = _mm256_or_si256(special_32(a), special_32(b));
        if (_mm256_testz_si256(hits, hits) == 0) {
            break;
        }
        seen = _mm256_or_si256(seen, _mm256_or_si256(a, b));
        at += 64;
    }
    bool non_ascii = _mm256_movemask_epi8(seen) != 0;
    for (;; at += 32) {
        const __m256i v = load_32(at);
        const auto hits =
            static_cast<std::uint32_t>(_mm256_movemask_epi8(special_32(v))) | beyond(end - at, 32);
        const auto high = static_cast<std::uint32_t>(_mm256_movemask_epi8(v));
        if (hits != 0) {
            const int place = std::countr_zero(hits);
            return {at + place, non_ascii || (high & ((1U << place) - 1)) != 0};
        }
        non_ascii |= high != 0;
    }
}

[[gnu::target("avx2")]] const char* token_avx2(const char* at, const char* end) noexcept {
    for (;; at += 32) {
        const __m256i v = load_32(at);
        const __m256i space =
            _mm256_or_si256(_mm256_or_si256(_mm256_cmpeq_epi8(v, _mm256_set1_epi8(' ')),
                                            _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\n'))),
                            _mm256_or_si256(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('\r')),
                                            _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\t'))));
        const std::uint32_t hits =
            ~static_cast<std::uint32_t>(_mm256_movemask_epi8(space)) | beyond(end - at, 32);
        if (hits != 0) {
            return at + std::countr_zero(hits);
        }
    }
}

// One bit of case is all that '[' and '{' differ in; neither ',' nor ':' has a partner. Unrolled
// here, because the release's flags leave loops as they are (meson.build).
std::size_t separators_sse2(const char* at, const char* end) noexcept {
    std::size_t count = 0;
#pragma GCC unroll 4
    for (; end - at >= 16; at += 16) {
        const __m128i v = load_16(at);
        const __m128i bracket =
            _mm_cmpeq_epi8(_mm_or_si128(v, _mm_set1_epi8(0x20)), _mm_set1_epi8('{'));
        const __m128i comma = _mm_cmpeq_epi8(v, _mm_set1_epi8(','));
        const __m128i colon = _mm_cmpeq_epi8(v, _mm_set1_epi8(':'));
        count += static_cast<std::size_t>(
            std::popcount(mask_of(_mm_or_si128(_mm_or_si128(comma, colon), bracket))));
    }
    return count + separators_portable(at, end);
}

[[gnu::target("avx2,popcnt")]] std::size_t separators_avx2(const char* at,
                                                           const char* end) noexcept {
    std::size_t count = 0;
#pragma GCC unroll 4
    for (; end - at >= 32; at += 32) {
        const __m256i v = load_32(at);
        const __m256i bracket =
            _mm256_cmpeq_epi8(_mm256_or_si256(v, _mm256_set1_epi8(0x20)), _mm256_set1_epi8('{'));
        const __m256i comma = _mm256_cmpeq_epi8(v, _mm256_set1_epi8(','));
        const __m256i colon = _mm256_cmpeq_epi8(v, _mm256_set1_epi8(':'));
        const __m256i hits = _mm256_or_si256(_mm256_or_si256(comma, colon), bracket);
        count += static_cast<std::size_t>(
            __builtin_popcount(static_cast<std::uint32_t>(_mm256_movemask_epi8(hits))));
    }
    return count + separators_portable(at, end);
}

#endif

}  // namespace

// The features are read from a word that the C runtime fills before main: cheaper than a pointer.
scan_variant best_variant() noexcept {
#if defined(__x86_64__)
    const bool wide = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("popcnt") != 0;
    return wide ? scan_variant::avx2 : scan_variant::sse2;
#else
    return scan_variant::portable;
#endif
}

bool available(scan_variant v) noexcept {
    return v == scan_variant::portable || best_variant() == v ||
           (best_variant() == scan_variant::avx2 && v == scan_variant::sse2);
}

string_run find_string_end(const char* at, const char* end, scan_variant v) noexcept {
#if defined(__x86_64__)
    if (v == scan_variant::avx2) {
        return string_end_avx2(at, end);
    }
    if (v == scan_variant::sse2) {
        return string_end_sse2(at, end);
    }
#endif
    static_cast<void>(v);
    return string_end_portable(at, end);
}

string_run move_string_run(const char* at, const char* end, char* out, scan_variant v) noexcept {
#if defined(__x86_64__)
    // Escapes are a few dozen bytes apart at most: wider vectors would not pay.
    if (v != scan_variant::portable) {
        return move_run_sse2(at, end, out);
    }
#endif
    static_cast<void>(v);
    const string_run run = string_end_portable(at, end);
    std::memmove(out, at, static_cast<std::size_t>(run.end - at));
    return run;
}

const char* find_token(const char* at, const char* end, scan_variant v) noexcept {
#if defined(__x86_64__)
    if (v == scan_variant::avx2) {
        return token_avx2(at, end);
    }
    if (v == scan_variant::sse2) {
        return token_sse2(at, end);
    }
#endif
    static_cast<void>(v);
    return token_portable(at, end);
}

std::size_t count_separators(const char* at, const char* end, scan_variant v) noexcept {
#if defined(__x86_64__)
    if (v == scan_variant::avx2) {
        return separators_avx2(at, end);
    }
    if (v == scan_variant::sse2) {
        return separators_sse2(at, end);
    }
#endif
    static_cast<void>(v);
    return separators_portable(at, end);
}

string_run find_string_end(const char* at, const char* end) noexcept {
    return find_string_end(at, end, best_variant());
}

string_run move_string_run(const char* at, const char* end, char* out) noexcept {
    return move_string_run(at, end, out, best_variant());
}

const char* find_token(const char* at, const char* end) noexcept {
    return find_token(at, end, best_variant());
}

}  // namespace pillion::json
