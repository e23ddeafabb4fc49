// simd: the 16-byte steps that parser and writer share on x86-64, where SSE2 is always there.
//
// Thread-safety: any thread; no state.
#pragma once

#if defined(__x86_64__)

#include <emmintrin.h>
#include <cstdint>

namespace pillion::json::simd {

inline __m128i load_16(const char* at) noexcept {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

inline void store_16(char* at, __m128i v) noexcept {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(at), v);
}

inline std::uint32_t mask_of(__m128i hits) noexcept {
    return static_cast<std::uint32_t>(_mm_movemask_epi8(hits));
}

// '"', '\\' and control characters.
inline __m128i special_16(__m128i v) noexcept {
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1F)), v);
    const __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
    const __m128i escape = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
    return _mm_or_si128(_mm_or_si128(quote, escape), control);
}

// The same and bytes of 0x80 and above, which are negative: one comparison less.
inline __m128i special_or_high_16(__m128i v) noexcept {
    const __m128i control = _mm_cmplt_epi8(v, _mm_set1_epi8(0x20));
    const __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
    const __m128i escape = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
    return _mm_or_si128(_mm_or_si128(quote, escape), control);
}

}  // namespace pillion::json::simd

#endif
