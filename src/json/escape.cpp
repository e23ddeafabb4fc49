#include "json/escape.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "base/ascii.hpp"
#include "json/simd.hpp"
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
    std::array<escape_text, 256> table{};
    for (std::size_t i = 0; i < 0x20; ++i) {
        table[i] = {{'\\', 'u', '0', '0', base::hex_digits[i >> 4], base::hex_digits[i & 15]}, 6};
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

// What a copy stops at: bytes that must be escaped, and perhaps all from 0x80 on.
enum class stops : bool { special, special_or_high };

template <stops At>
bool is_stop(char c) noexcept {
    return swar::is_special(c) ||
           (At == stops::special_or_high && static_cast<unsigned char>(c) >= 0x80);
}

template <stops At>
bool has_stop(std::uint64_t word) noexcept {
    return swar::has_special(word) || (At == stops::special_or_high && (word & swar::highs) != 0);
}

template <stops At>
const char* copy_bytewise(const char* at, const char* end, char* out) noexcept {
    while (at != end && !is_stop<At>(*at)) {
        *out++ = *at++;
    }
    return at;
}

// Fewer than 16 bytes: words that overlap cover any length without touching what lies outside.
template <stops At>
const char* copy_short(const char* at, const char* end, char* out) noexcept {
    const std::ptrdiff_t left = end - at;
    if (left >= 8) {
        const auto first = swar::load<std::uint64_t>(at);
        const auto last = swar::load<std::uint64_t>(end - 8);
        if (!has_stop<At>(first) && !has_stop<At>(last)) {
            std::memcpy(out, &first, 8);
            std::memcpy(out + left - 8, &last, 8);
            return end;
        }
    } else if (left >= 4) {
        const std::uint64_t first = swar::load<std::uint32_t>(at);
        const std::uint64_t last = swar::load<std::uint32_t>(end - 4);
        // Both in one word: a half alone would leave zero bytes, which are special.
        if (!has_stop<At>(first | last << 32)) {
            std::memcpy(out, at, 4);
            std::memcpy(out + left - 4, end - 4, 4);
            return end;
        }
    }
    return copy_bytewise<At>(at, end, out);
}

template <stops At>
const char* copy_portable(const char* at, const char* end, char* out) noexcept {
    while (end - at >= 16) {
        const auto first = swar::load<std::uint64_t>(at);
        const auto second = swar::load<std::uint64_t>(at + 8);
        if (has_stop<At>(first) || has_stop<At>(second)) {
            return copy_bytewise<At>(at, end, out);
        }
        std::memcpy(out, &first, 8);
        std::memcpy(out + 8, &second, 8);
        at += 16;
        out += 16;
    }
    return copy_short<At>(at, end, out);
}

#if defined(__x86_64__)

std::uint32_t special_at(const char* at) noexcept {
    return simd::mask_of(simd::special_16(simd::load_16(at)));
}

template <stops At>
std::uint32_t stops_of(__m128i v) noexcept {
    return simd::mask_of(At == stops::special ? simd::special_16(v) : simd::special_or_high_16(v));
}

template <stops At>
const char* copy_sse2(const char* at, const char* end, char* out) noexcept {
    if (end - at < 16) {
        return copy_short<At>(at, end, out);
    }
    for (; end - at >= 16; at += 16, out += 16) {
        const __m128i v = simd::load_16(at);
        const std::uint32_t hits = stops_of<At>(v);
        simd::store_16(out, v);
        if (hits != 0) {
            return at + std::countr_zero(hits);
        }
    }
    // The last 16 bytes, of which the first are known to be plain.
    const std::ptrdiff_t back = 16 - (end - at);
    const __m128i v = simd::load_16(at - back);
    const std::uint32_t hits = stops_of<At>(v);
    simd::store_16(out - back, v);
    return hits == 0 ? end : at - back + std::countr_zero(hits);
}

template <stops At>
[[gnu::target("avx2")]] inline __m256i stops_32(__m256i v) noexcept {
    // Bytes of 0x80 and above are negative.
    const __m256i control = At == stops::special
                                ? _mm256_cmpeq_epi8(_mm256_min_epu8(v, _mm256_set1_epi8(0x1F)), v)
                                : _mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), v);
    const __m256i quote = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('"'));
    const __m256i escape = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\'));
    return _mm256_or_si256(_mm256_or_si256(quote, escape), control);
}

template <stops At>
[[gnu::target("avx2")]] const char* copy_avx2(const char* at, const char* end, char* out) noexcept {
    for (; end - at >= 64; at += 64, out += 64) {
        const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
        const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + 32));
        const __m256i hits = _mm256_or_si256(stops_32<At>(a), stops_32<At>(b));
        if (_mm256_testz_si256(hits, hits) == 0) {
            break;
        }
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), a);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 32), b);
    }
    return copy_sse2<At>(at, end, out);
}

#endif

template <stops At>
const char* copy_by(scan_variant v, const char* at, const char* end, char* out) noexcept {
#if defined(__x86_64__)
    if (v == scan_variant::avx2) {
        return copy_avx2<At>(at, end, out);
    }
    if (v == scan_variant::sse2) {
        return copy_sse2<At>(at, end, out);
    }
#endif
    static_cast<void>(v);
    return copy_portable<At>(at, end, out);
}

template <stops At>
const char* copy_best(const char* at, const char* end, char* out) noexcept {
#if defined(__x86_64__)
    // Entering the wide code pays off only behind a few blocks.
    if (end - at >= 128 && best_variant() == scan_variant::avx2) {
        return copy_avx2<At>(at, end, out);
    }
    return copy_sse2<At>(at, end, out);
#else
    return copy_portable<At>(at, end, out);
#endif
}

}  // namespace

const char* copy_plain(const char* at, const char* end, char* out, scan_variant v) noexcept {
    return copy_by<stops::special>(v, at, end, out);
}

const char* copy_plain(const char* at, const char* end, char* out) noexcept {
    return copy_best<stops::special>(at, end, out);
}

const char* copy_plain_ascii(const char* at, const char* end, char* out, scan_variant v) noexcept {
    return copy_by<stops::special_or_high>(v, at, end, out);
}

const char* copy_plain_ascii(const char* at, const char* end, char* out) noexcept {
    return copy_best<stops::special_or_high>(at, end, out);
}

char* write_escaped(const char* at, const char* end, char* out) noexcept {
    while (at != end) {
#if defined(__x86_64__)
        if (end - at >= 16) {
            std::memcpy(out, at, 16);
            const std::uint32_t hits = special_at(at);
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
