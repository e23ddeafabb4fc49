#include "json/escape.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "json/swar.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace pillion::json {

namespace {

struct escape_text {
    char bytes[8];  // all eight are copied, the size says how many count
    std::size_t size;
};

// For every byte that must be escaped; size 0 for the others.
constexpr std::array<escape_text, 256> escapes = [] {
    constexpr char hex[] = "0123456789abcdef";
    std::array<escape_text, 256> table{};
    for (std::size_t i = 0; i < 0x20; ++i) {
        table[i] = {{'\\', 'u', '0', '0', hex[i >> 4], hex[i & 15]}, 6};
    }
    table['\b'] = {{'\\', 'b'}, 2};
    table['\t'] = {{'\\', 't'}, 2};
    table['\n'] = {{'\\', 'n'}, 2};
    table['\f'] = {{'\\', 'f'}, 2};
    table['\r'] = {{'\\', 'r'}, 2};
    table['"'] = {{'\\', '"'}, 2};
    table['\\'] = {{'\\', '\\'}, 2};
    return table;
}();

const char* find_bytewise(const char* at, const char* end) noexcept {
    while (at != end && !swar::is_special(*at)) {
        ++at;
    }
    return at;
}

// Fewer than 16 bytes: words that overlap cover any length without reading outside.
const char* find_short(const char* at, const char* end) noexcept {
    const std::ptrdiff_t left = end - at;
    std::uint64_t first = swar::ones * ' ';
    std::uint64_t last = first;
    if (left >= 8) {
        first = swar::load<std::uint64_t>(at);
        last = swar::load<std::uint64_t>(end - 8);
    } else if (left >= 4) {
        // Both halves in one word: the low half alone would leave zero bytes, which are special.
        first = swar::load<std::uint32_t>(at) | swar::load<std::uint32_t>(end - 4) << 32;
    } else {
        return find_bytewise(at, end);
    }
    const bool clean = !swar::has_special(first) && !swar::has_special(last);
    return clean ? end : find_bytewise(at, end);
}

const char* find_portable(const char* at, const char* end) noexcept {
    while (end - at >= 16) {
        if (swar::has_special(swar::load<std::uint64_t>(at)) ||
            swar::has_special(swar::load<std::uint64_t>(at + 8))) {
            return find_bytewise(at, end);
        }
        at += 16;
    }
    return find_short(at, end);
}

#if defined(__x86_64__)

std::uint32_t special_16(const char* at) noexcept {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1F)), v);
    const __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
    const __m128i escape = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
    return static_cast<std::uint32_t>(
        _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, escape), control)));
}

const char* find_sse2(const char* at, const char* end) noexcept {
    if (end - at < 16) {
        return find_short(at, end);
    }
    while (end - at >= 16) {
        const std::uint32_t hits = special_16(at);
        if (hits != 0) {
            return at + std::countr_zero(hits);
        }
        at += 16;
    }
    // The last 16 bytes, of which the first are known to be clean.
    const std::uint32_t hits = special_16(end - 16);
    return hits == 0 ? end : end - 16 + std::countr_zero(hits);
}

[[gnu::target("avx2")]] const char* find_avx2(const char* at, const char* end) noexcept {
    while (end - at >= 32) {
        const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
        const __m256i control = _mm256_cmpeq_epi8(_mm256_min_epu8(v, _mm256_set1_epi8(0x1F)), v);
        const __m256i quote = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('"'));
        const __m256i escape = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\'));
        const auto hits = static_cast<std::uint32_t>(
            _mm256_movemask_epi8(_mm256_or_si256(_mm256_or_si256(quote, escape), control)));
        if (hits != 0) {
            return at + std::countr_zero(hits);
        }
        at += 32;
    }
    return find_sse2(at, end);
}

#endif

}  // namespace

const char* find_escape(const char* at, const char* end, scan_variant v) noexcept {
#if defined(__x86_64__)
    if (v == scan_variant::avx2) {
        return find_avx2(at, end);
    }
    if (v == scan_variant::sse2) {
        return find_sse2(at, end);
    }
#endif
    static_cast<void>(v);
    return find_portable(at, end);
}

const char* find_escape(const char* at, const char* end) noexcept {
#if defined(__x86_64__)
    // Entering the wide code pays off only behind a few blocks.
    if (end - at >= 128 && __builtin_cpu_supports("avx2") != 0) {
        return find_avx2(at, end);
    }
    return find_sse2(at, end);
#else
    return find_portable(at, end);
#endif
}

char* write_escaped(const char* at, const char* end, char* out) noexcept {
    while (at != end) {
#if defined(__x86_64__)
        if (end - at >= 16) {
            std::memcpy(out, at, 16);
            const std::uint32_t hits = special_16(at);
            const int clean = hits == 0 ? 16 : std::countr_zero(hits);
            at += clean;
            out += clean;
            if (hits == 0) {
                continue;
            }
        }
#endif
        const escape_text& e = escapes[static_cast<unsigned char>(*at)];
        if (e.size == 0) {
            *out++ = *at++;
            continue;
        }
        std::memcpy(out, e.bytes, sizeof(e.bytes));
        out += e.size;
        ++at;
    }
    return out;
}

}  // namespace pillion::json
