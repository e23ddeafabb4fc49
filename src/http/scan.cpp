#include "http/scan.hpp"

#include <cstring>

#include "base/ascii.hpp"
#include "base/assert.hpp"
#include "base/swar.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace pillion::http {

namespace {

std::size_t find_control_portable(const char* data, std::size_t size) noexcept {
    namespace swar = base::swar;
    std::size_t at = 0;
    while (at + 8 <= size) {
        const auto word = swar::load<std::uint64_t>(data + at);
        // Tabs are among them: the byte loop decides.
        if (swar::has_less(word, 0x20) || swar::has_byte(word, 0x7f)) {
            for (std::size_t i = at; i < at + 8; ++i) {
                if (base::is_control(data[i])) {
                    return i;
                }
            }
        }
        at += 8;
    }
    for (; at < size; ++at) {
        if (base::is_control(data[at])) {
            return at;
        }
    }
    return size;
}

#if defined(__SSE2__)

std::size_t find_control_sse2(const char* data, std::size_t size) noexcept {
    for (std::size_t at = 0; at < size; at += 16) {
        const std::uint32_t mask = detail::control_mask(data + at);
        if (mask != 0) {
            const std::size_t hit = at + static_cast<std::size_t>(__builtin_ctz(mask));
            return hit < size ? hit : size;
        }
    }
    return size;
}

[[gnu::target("avx2")]] std::size_t find_control_avx2(const char* data, std::size_t size) noexcept {
    const __m256i low_max = _mm256_set1_epi8(0x1f);
    const __m256i tab = _mm256_set1_epi8('\t');
    const __m256i del = _mm256_set1_epi8(0x7f);
    for (std::size_t at = 0; at < size; at += 32) {
        const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data + at));
        const __m256i low = _mm256_cmpeq_epi8(_mm256_min_epu8(v, low_max), v);
        const __m256i hit = _mm256_or_si256(_mm256_andnot_si256(_mm256_cmpeq_epi8(v, tab), low),
                                            _mm256_cmpeq_epi8(v, del));
        const auto mask = static_cast<std::uint32_t>(_mm256_movemask_epi8(hit));
        if (mask != 0) {
            const std::size_t found = at + static_cast<std::size_t>(__builtin_ctz(mask));
            return found < size ? found : size;
        }
    }
    return size;
}

#endif

}  // namespace

scan_level scan_level_best() noexcept {
#if defined(__SSE2__)
    return __builtin_cpu_supports("avx2") ? scan_level::avx2 : scan_level::sse2;
#else
    return scan_level::portable;
#endif
}

std::size_t find_control_at(scan_level level, const char* data, std::size_t size) noexcept {
    PILLION_ASSERT(level <= scan_level_best());
#if defined(__SSE2__)
    switch (level) {
        case scan_level::avx2:
            return find_control_avx2(data, size);
        case scan_level::sse2:
            return find_control_sse2(data, size);
        case scan_level::portable:
            break;
    }
#endif
    return find_control_portable(data, size);
}

std::size_t detail::find_control_long(const char* data, std::size_t size) noexcept {
    return find_control_at(scan_level_best(), data, size);
}

}  // namespace pillion::http
