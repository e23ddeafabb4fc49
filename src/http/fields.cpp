#include "http/fields.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "http/scan.hpp"

namespace pillion::http {

namespace {

#if defined(__SSE2__)

// Lower-cases letters in place, 16 bytes a step, as long as nothing but letters, digits and '-'
// comes and 16 bytes of the line are left; returns where it stopped. Bytes behind that place are
// stored back unchanged.
char* lower_common_name(char* p, const char* line_end) noexcept {
    // The case bit 16 times, then zeros: a load at 16 - n selects the first n lanes.
    static constexpr auto lanes = [] {
        std::array<char, 32> table{};
        std::fill_n(table.begin(), 16, '\x20');
        return table;
    }();
    while (line_end - p >= 16) {
        const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
        const __m128i from_a =
            _mm_sub_epi8(_mm_or_si128(v, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));
        const __m128i letter = _mm_cmpeq_epi8(_mm_min_epu8(from_a, _mm_set1_epi8(25)), from_a);
        const __m128i from_0 = _mm_sub_epi8(v, _mm_set1_epi8('0'));
        const __m128i digit = _mm_cmpeq_epi8(_mm_min_epu8(from_0, _mm_set1_epi8(9)), from_0);
        const __m128i dash = _mm_cmpeq_epi8(v, _mm_set1_epi8('-'));
        const auto good = static_cast<std::uint32_t>(
            _mm_movemask_epi8(_mm_or_si128(letter, _mm_or_si128(digit, dash))));
        const auto stop = static_cast<std::size_t>(__builtin_ctz(~good));
        const __m128i bits =
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(lanes.data() + 16 - stop));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                         _mm_or_si128(v, _mm_and_si128(letter, bits)));
        p += stop;
        if (stop < 16) {
            break;
        }
    }
    return p;
}

#endif

// Lower-cases the token at `p` in place and returns its end. Needs no bound: a line ends with CR,
// which is no token character.
char* lower_name(char* p, [[maybe_unused]] const char* line_end) noexcept {
#if defined(__SSE2__)
    p = lower_common_name(p, line_end);
#endif
    for (char t = 0; (t = base::token_lower[static_cast<unsigned char>(*p)]) != 0; ++p) {
        *p = t;
    }
    return p;
}

// The verdict on a line whose first control byte, at `end`, begins no CRLF.
[[gnu::cold]] parse_outcome line_fault(const char* base, std::size_t end,
                                       std::size_t window) noexcept {
    if (end == window || (base[end] == '\r' && end + 1 == window)) {
        return parse_outcome::more();
    }
    switch (base[end]) {
        case '\r':
            return parse_outcome::fail(400, "bare CR in the head");
        case '\n':
            return parse_outcome::fail(400, "bare LF in the head");
        default:
            return parse_outcome::fail(400, "control character in the head");
    }
}

// The verdict on a field line without "name:" at its front; `stop` is where the name ended.
[[gnu::cold]] parse_outcome name_fault(const char* line, const char* stop) noexcept {
    if (base::is_ows(*line)) {
        return parse_outcome::fail(400, "folded header line");  // RFC 9112 §5.2
    }
    if (stop > line && base::is_ows(*stop)) {
        // RFC 9112 §5.1: this blank has been a smuggling hole, the request MUST be refused.
        return parse_outcome::fail(400, "blank before the colon of a header");
    }
    return parse_outcome::fail(400, "invalid header name");
}

// Reads the field line base[at..end), where base[end] is its CR.
parse_outcome read_field(char* base, std::size_t at, std::size_t end, head_fields& out) noexcept {
    const char* p = lower_name(base + at, base + end);
    const auto name_end = static_cast<std::size_t>(p - base);
    if (*p != ':' || name_end == at) {
        return name_fault(base + at, p);
    }
    const char* value = p + 1;
    const char* value_end = base + end;
    while (value < value_end && base::is_ows(*value)) {
        ++value;
    }
    while (value_end > value && base::is_ows(value_end[-1])) {
        --value_end;
    }
    const text_range name_range{static_cast<std::uint16_t>(at),
                                static_cast<std::uint16_t>(name_end - at)};
    const text_range value_range{static_cast<std::uint16_t>(value - base),
                                 static_cast<std::uint16_t>(value_end - value)};
    if (!out.add(name_range, value_range)) {
        return parse_outcome::fail(431, "too many header fields");
    }
    return parse_outcome::done();
}

// Calls `visit` with the value of each field in slot `id`, in order.
template <class Visit>
void for_each_value(const head_fields& fields, header_id id, Visit&& visit) noexcept {
    if (fields.count(id) == 1) {  // the usual case needs no search
        visit(fields.get(id));
        return;
    }
    const std::string_view name = header_name(id);
    for (const header h : fields.headers()) {
        if (h.name == name) {
            visit(h.value);
        }
    }
}

}  // namespace

parse_outcome find_line_end(const char* base, std::size_t at, std::size_t window,
                            std::size_t& end) noexcept {
    end = at + find_control(base + at, window - at);
    // One test for the good case; line_fault tells the others apart.
    if (end + 1 < window && base[end] == '\r' && base[end + 1] == '\n') {
        return parse_outcome::done();
    }
    return line_fault(base, end, window);
}

parse_outcome read_field_lines(char* base, std::size_t at, std::size_t window, head_fields& out,
                               std::size_t& end) noexcept {
    for (;;) {
        std::size_t line_end = 0;
        parse_outcome line = find_line_end(base, at, window, line_end);
        if (line.state != parse_state::complete) {
            return line;
        }
        if (line_end == at) {
            end = at + 2;
            return line;
        }
        line = read_field(base, at, line_end, out);
        if (line.state != parse_state::complete) {
            return line;
        }
        at = line_end + 2;
    }
}

transfer_coding read_transfer_coding(const head_fields& fields) noexcept {
    if (!fields.has(header_id::transfer_encoding)) {
        return transfer_coding::absent;
    }
    std::size_t codings = 0;
    std::size_t chunked = 0;
    bool chunked_last = false;
    bool well_formed = true;
    for_each_value(fields, header_id::transfer_encoding, [&](std::string_view list) {
        // RFC 9110 §5.6.1 lets a list have empty elements; here they only serve disagreement.
        for (bool more = true; more;) {
            more = list.find(',') != std::string_view::npos;
            const std::string_view coding = base::next_list_element(list);
            well_formed = well_formed && base::is_token(coding);
            chunked_last = base::equals_ignore_case(coding, "chunked");
            chunked += chunked_last ? 1 : 0;
            ++codings;
        }
    });
    if (!well_formed || !chunked_last || chunked != 1) {
        return transfer_coding::malformed;
    }
    return codings == 1 ? transfer_coding::chunked : transfer_coding::unsupported;
}

bool read_content_length(const head_fields& fields, std::uint64_t& value) noexcept {
    return fields.count(header_id::content_length) == 1 &&
           base::parse_decimal(fields.get(header_id::content_length), value);
}

bool read_keep_alive(const head_fields& fields, int minor_version) noexcept {
    bool keep_alive = minor_version >= 1;
    if (!fields.has(header_id::connection)) {
        return keep_alive;
    }
    bool close = false;
    for_each_value(fields, header_id::connection, [&](std::string_view list) {
        close = close || base::list_has_token(list, "close");
        keep_alive = keep_alive || base::list_has_token(list, "keep-alive");
    });
    return keep_alive && !close;
}

}  // namespace pillion::http
