#include "base/utf8.hpp"

#include <cstring>

#include "base/assert.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace pillion::base::utf8 {

namespace {

bool between(unsigned char byte, unsigned low, unsigned high) noexcept {
    return byte >= low && byte <= high;
}

// What may follow a lead byte: how many bytes, and the narrowed range of the first of them, which
// is where RFC 3629 §4 rules out overlong forms, surrogates and values above U+10FFFF.
struct lead {
    std::size_t length;  // of the whole sequence; 0 when the byte cannot lead one
    unsigned low;
    unsigned high;
};

lead classify(unsigned char byte) noexcept {
    if (byte < 0x80) {
        return {1, 0, 0};
    }
    if (byte < 0xC2 || byte > 0xF4) {
        return {0, 0, 0};
    }
    if (byte < 0xE0) {
        return {2, 0x80, 0xBF};
    }
    if (byte < 0xF0) {
        return {3, byte == 0xE0 ? 0xA0U : 0x80U, byte == 0xED ? 0x9FU : 0xBFU};
    }
    return {4, byte == 0xF0 ? 0x90U : 0x80U, byte == 0xF4 ? 0x8FU : 0xBFU};
}

// Length of the well-formed sequence at `at`, 0 when there is none.
std::size_t sequence(const unsigned char* at, std::size_t left) noexcept {
    const lead first = classify(*at);
    if (first.length <= 1) {
        return first.length;
    }
    if (left < first.length || !between(at[1], first.low, first.high)) {
        return 0;
    }
    for (std::size_t i = 2; i < first.length; ++i) {
        if (!between(at[i], 0x80, 0xBF)) {
            return 0;
        }
    }
    return first.length;
}

std::size_t valid_prefix_scalar(const unsigned char* data, std::size_t size,
                                std::size_t at) noexcept {
    while (at < size) {
        if (data[at] < 0x80) {
            std::uint64_t word = 0;
            while (size - at >= sizeof(word)) {
                std::memcpy(&word, data + at, sizeof(word));
                if ((word & 0x8080808080808080U) != 0) {
                    break;
                }
                at += sizeof(word);
            }
            while (at < size && data[at] < 0x80) {
                ++at;
            }
            continue;
        }
        const std::size_t length = sequence(data + at, size - at);
        if (length == 0) {
            return at;
        }
        at += length;
    }
    return at;
}

#if defined(__x86_64__)

// Keiser and Lemire, "Validating UTF-8 in less than one instruction per byte" (2021). Every pair
// of neighbouring bytes is looked up in three tables of error bits; a pair is bad when the three
// agree on a bit.
constexpr unsigned too_short = 1U << 0;
constexpr unsigned too_long = 1U << 1;
constexpr unsigned overlong_3 = 1U << 2;
constexpr unsigned too_large = 1U << 3;
constexpr unsigned surrogate = 1U << 4;
constexpr unsigned overlong_2 = 1U << 5;
constexpr unsigned too_large_1000 = 1U << 6;
constexpr unsigned overlong_4 = 1U << 6;
constexpr unsigned two_conts = 1U << 7;
constexpr unsigned carry = too_short | too_long | two_conts;
constexpr unsigned big = carry | too_large | too_large_1000;
constexpr unsigned conts = too_long | overlong_2 | two_conts;

alignas(16) constexpr unsigned char first_high[16] = {
    too_long,
    too_long,
    too_long,
    too_long,
    too_long,
    too_long,
    too_long,
    too_long,
    two_conts,
    two_conts,
    two_conts,
    two_conts,
    too_short | overlong_2,
    too_short,
    too_short | overlong_3 | surrogate,
    too_short | too_large | too_large_1000 | overlong_4};
alignas(16) constexpr unsigned char first_low[16] = {carry | overlong_3 | overlong_2 | overlong_4,
                                                     carry | overlong_2,
                                                     carry,
                                                     carry,
                                                     carry | too_large,
                                                     big,
                                                     big,
                                                     big,
                                                     big,
                                                     big,
                                                     big,
                                                     big,
                                                     big,
                                                     big | surrogate,
                                                     big,
                                                     big};
alignas(16) constexpr unsigned char second_high[16] = {
    too_short,
    too_short,
    too_short,
    too_short,
    too_short,
    too_short,
    too_short,
    too_short,
    conts | overlong_3 | too_large_1000 | overlong_4,
    conts | overlong_3 | too_large,
    conts | surrogate | too_large,
    conts | surrogate | too_large,
    too_short,
    too_short,
    too_short,
    too_short};

[[gnu::target("avx2")]] inline __m256i table(const unsigned char (&bytes)[16]) noexcept {
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes)));
}

// `now` moved up by Count bytes, the last bytes of `before` coming in below.
template <int Count>
[[gnu::target("avx2")]] inline __m256i shifted(__m256i now, __m256i before) noexcept {
    return _mm256_alignr_epi8(now, _mm256_permute2x128_si256(before, now, 0x21), 16 - Count);
}

[[gnu::target("avx2")]] inline __m256i errors_of(__m256i now, __m256i before) noexcept {
    const __m256i nibble = _mm256_set1_epi8(0x0F);
    const __m256i one_back = shifted<1>(now, before);
    const __m256i high = _mm256_shuffle_epi8(
        table(first_high), _mm256_and_si256(_mm256_srli_epi16(one_back, 4), nibble));
    const __m256i low = _mm256_shuffle_epi8(table(first_low), _mm256_and_si256(one_back, nibble));
    const __m256i next = _mm256_shuffle_epi8(table(second_high),
                                             _mm256_and_si256(_mm256_srli_epi16(now, 4), nibble));
    const __m256i pairs = _mm256_and_si256(_mm256_and_si256(high, low), next);
    // A byte two behind a 3-byte lead or three behind a 4-byte lead must be a continuation; the
    // tables flag exactly those as two_conts, so the two cancel out.
    const __m256i third = _mm256_subs_epu8(shifted<2>(now, before), _mm256_set1_epi8(0xE0 - 0x80));
    const __m256i fourth = _mm256_subs_epu8(shifted<3>(now, before), _mm256_set1_epi8(0xF0 - 0x80));
    const __m256i must =
        _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8(static_cast<char>(0x80)));
    return _mm256_xor_si256(must, pairs);
}

// Steps back from `at` to the lead byte of a sequence that may reach over it.
std::size_t boundary(const unsigned char* data, std::size_t at) noexcept {
    for (std::size_t back = 1; back <= 3 && back <= at; ++back) {
        if (data[at - back] >= 0xC0) {
            return at - back;
        }
        if (data[at - back] < 0x80) {
            break;
        }
    }
    return at;
}

// Skips valid blocks of 32 bytes and returns a sequence boundary; the rest is for the scalar
// code, which also finds the exact place of an error.
[[gnu::target("avx2")]] std::size_t skip_valid_avx2(const unsigned char* data,
                                                    std::size_t size) noexcept {
    __m256i before = _mm256_setzero_si256();
    bool before_ascii = true;
    std::size_t at = 0;
    for (; size - at >= 32; at += 32) {
        const __m256i now = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data + at));
        const bool ascii = _mm256_movemask_epi8(now) == 0;
        if (!ascii || !before_ascii) {
            const __m256i bad = errors_of(now, before);
            if (_mm256_testz_si256(bad, bad) == 0) {
                break;
            }
        }
        before = now;
        before_ascii = ascii;
    }
    return boundary(data, at);
}

#endif

}  // namespace

bool available([[maybe_unused]] variant v) noexcept {
#if defined(__x86_64__)
    return v == variant::scalar || __builtin_cpu_supports("avx2") != 0;
#else
    return v == variant::scalar;
#endif
}

std::size_t valid_prefix(std::string_view text, variant v) noexcept {
    const auto* data = reinterpret_cast<const unsigned char*>(text.data());
    std::size_t at = 0;
#if defined(__x86_64__)
    if (v == variant::avx2) {
        at = skip_valid_avx2(data, text.size());
    }
#endif
    static_cast<void>(v);
    return valid_prefix_scalar(data, text.size(), at);
}

std::size_t valid_prefix(std::string_view text) noexcept {
    const bool wide = text.size() >= 64 && available(variant::avx2);
    return valid_prefix(text, wide ? variant::avx2 : variant::scalar);
}

std::size_t invalid_length(std::string_view text) noexcept {
    PILLION_ASSERT(!text.empty());
    const auto* data = reinterpret_cast<const unsigned char*>(text.data());
    const lead first = classify(*data);
    if (first.length <= 1 || text.size() < 2 || !between(data[1], first.low, first.high)) {
        return 1;
    }
    std::size_t length = 2;
    while (length < first.length && length < text.size() && between(data[length], 0x80, 0xBF)) {
        ++length;
    }
    return length;
}

std::string_view sanitize(std::string_view text, arena& memory) noexcept {
    const std::size_t good = valid_prefix(text);
    if (good == text.size()) {
        return text;
    }
    // The replacement has three bytes and stands for at least one.
    struct cursor {
        char* at;
        void append(std::string_view run) noexcept {
            std::memcpy(at, run.data(), run.size());
            at += run.size();
        }
    };
    char* const begin = static_cast<char*>(memory.allocate(good + (text.size() - good) * 3, 1));
    cursor out{begin};
    sanitize(text, out);
    return {begin, static_cast<std::size_t>(out.at - begin)};
}

}  // namespace pillion::base::utf8
