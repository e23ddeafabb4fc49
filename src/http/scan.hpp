// Byte scanning for the head parsers: where does a line end?
//
// A line of a head may hold any byte but controls, so the first control byte of a line is either
// the CR of its CRLF or an error; one search serves both. The first 32 bytes are searched inline
// with SSE2 (most header lines end there); longer runs go to AVX2 where the processor has it.
//
// Reads up to 64 bytes past `size` (limits::padding), never acts on them.
// Thread-safety: pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace pillion::http {

// The implementations of the search; a test compares them all.
enum class scan_level : std::uint8_t { portable, sse2, avx2 };

// The best level this build and this processor have.
scan_level scan_level_best() noexcept;

// The index of the first control byte (0x00–0x08, 0x0A–0x1F, 0x7F) of data[0..size), or `size`.
// REQUIRES: level <= scan_level_best(); 64 readable bytes behind data[size].
std::size_t find_control_at(scan_level level, const char* data, std::size_t size) noexcept;

namespace detail {

// find_control for runs that are known to be long: picks the level at run time.
std::size_t find_control_long(const char* data, std::size_t size) noexcept;

#if defined(__SSE2__)
// Bit i is set when byte i of the 16 at `data` is a control byte.
inline std::uint32_t control_mask(const char* data) noexcept {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(data));
    const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v);
    const __m128i tab = _mm_cmpeq_epi8(v, _mm_set1_epi8('\t'));
    const __m128i del = _mm_cmpeq_epi8(v, _mm_set1_epi8(0x7f));
    const __m128i hit = _mm_or_si128(_mm_andnot_si128(tab, low), del);
    return static_cast<std::uint32_t>(_mm_movemask_epi8(hit));
}
#endif

}  // namespace detail

// As find_control_at, at the best level.
inline std::size_t find_control(const char* data, std::size_t size) noexcept {
#if defined(__SSE2__)
    const std::uint32_t mask = detail::control_mask(data) | (detail::control_mask(data + 16) << 16);
    if (mask != 0) {
        const auto at = static_cast<std::size_t>(__builtin_ctz(mask));
        return at < size ? at : size;
    }
    if (size <= 32) {
        return size;
    }
    return 32 + detail::find_control_long(data + 32, size - 32);
#else
    return detail::find_control_long(data, size);
#endif
}

}  // namespace pillion::http
