// Host names and mail addresses. Labels beyond ASCII follow IDNA 2008 (RFC 5891 §4.2, RFC 5892, RFC
// 5893): form, characters, context and direction; see idna_tables.hpp for what is left out.
#include <algorithm>
#include <array>
#include <span>

#include "base/ascii.hpp"
#include "schema/code_set.hpp"
#include "schema/format_checks.hpp"
#include "schema/idna_tables.hpp"

namespace pillion::schema_check::formats {

namespace {

constexpr std::size_t label_max = 63;
constexpr std::size_t name_max = 253;
constexpr std::uint32_t zero_width_non_joiner = 0x200C;
constexpr std::uint32_t zero_width_joiner = 0x200D;

// The code points of one label, and its spelling in ASCII.
struct label {
    std::array<std::uint32_t, label_max> codes{};
    std::size_t count = 0;
    std::array<char, label_max> ascii{};
    std::size_t ascii_size = 0;
    std::span<const std::uint32_t> text() const noexcept { return {codes.data(), count}; }
};

bool within(std::uint32_t c, std::uint32_t first, std::uint32_t last) noexcept {
    return c >= first && c <= last;
}

// ---- Punycode (RFC 3492) ----

constexpr std::uint32_t puny_base = 36;

std::uint32_t adapt(std::uint32_t delta, std::uint32_t count, bool first) noexcept {
    delta /= first ? 700 : 2;
    delta += delta / count;
    std::uint32_t k = 0;
    for (; delta > 455; k += puny_base) {
        delta /= puny_base - 1;
    }
    return k + 36 * delta / (delta + 38);
}

std::uint32_t threshold(std::uint32_t k, std::uint32_t bias) noexcept {
    return k <= bias ? 1 : std::min<std::uint32_t>(k - bias, 26);
}

// Behind "xn--".
bool decode_punycode(std::string_view text, label& out) noexcept {
    const std::size_t dash = text.rfind('-');
    const std::size_t plain = dash == text.npos ? 0 : dash;
    for (const char c : text.substr(0, plain)) {
        out.codes[out.count++] = static_cast<unsigned char>(c);
    }
    text.remove_prefix(dash == text.npos ? 0 : dash + 1);
    std::uint32_t n = 128;
    std::uint32_t bias = 72;
    std::uint32_t i = 0;
    while (!text.empty()) {
        const std::uint32_t before = i;
        std::uint32_t weight = 1;
        for (std::uint32_t k = puny_base;; k += puny_base) {
            if (text.empty()) {
                return false;
            }
            const char c = base::to_lower(text[0]);
            text.remove_prefix(1);
            const std::uint32_t digit = base::is_digit(c) ? static_cast<std::uint32_t>(c - '0') + 26
                                        : base::is_alpha(c) ? static_cast<std::uint32_t>(c - 'a')
                                                            : puny_base;
            if (digit == puny_base || i > 0x1000000 || weight > 0x4000000) {
                return false;
            }
            i += digit * weight;
            const std::uint32_t t = threshold(k, bias);
            if (digit < t) {
                break;
            }
            weight *= puny_base - t;
        }
        const auto count = static_cast<std::uint32_t>(out.count + 1);
        bias = adapt(i - before, count, before == 0);
        n += i / count;
        i %= count;
        if (n > code_point_max || count > label_max) {
            return false;
        }
        std::copy_backward(out.codes.begin() + i, out.codes.begin() + count - 1,
                           out.codes.begin() + count);
        out.codes[i++] = n;
        out.count = count;
    }
    return true;
}

// Spells the label with "xn--"; false when that is longer than a label may be.
bool encode_punycode(label& of) noexcept {
    const auto put = [&of](std::uint32_t c) {
        if (of.ascii_size == label_max) {
            return false;
        }
        of.ascii[of.ascii_size++] = static_cast<char>(c);
        return true;
    };
    of.ascii_size = 0;
    for (const char c : std::string_view("xn--")) {
        put(static_cast<unsigned char>(c));
    }
    std::uint32_t done = 0;
    for (const std::uint32_t c : of.text()) {
        if (c < 128) {
            ++done;
            if (!put(c)) {
                return false;
            }
        }
    }
    const std::uint32_t plain = done;
    if (plain > 0 && !put('-')) {
        return false;
    }
    std::uint32_t n = 128;
    std::uint32_t delta = 0;
    std::uint32_t bias = 72;
    while (done < of.count) {
        std::uint32_t next = code_point_max;
        for (const std::uint32_t c : of.text()) {
            next = c >= n ? std::min(next, c) : next;
        }
        delta += (next - n) * (done + 1);
        n = next;
        for (const std::uint32_t c : of.text()) {
            delta += c < n ? 1 : 0;
            if (c != n) {
                continue;
            }
            std::uint32_t q = delta;
            for (std::uint32_t k = puny_base;; k += puny_base) {
                const std::uint32_t t = threshold(k, bias);
                const std::uint32_t digit = q < t ? q : t + (q - t) % (puny_base - t);
                if (!put(digit < 26 ? 'a' + digit : '0' + digit - 26)) {
                    return false;
                }
                if (q < t) {
                    break;
                }
                q = (q - t) / (puny_base - t);
            }
            bias = adapt(delta, done + 1, done == plain);
            delta = 0;
            ++done;
        }
        ++delta;
        ++n;
    }
    return true;
}

// ---- Direction (RFC 5893) ----

enum class direction : std::uint8_t { left, right, arabic_digit, european_digit, mark, neutral };

direction direction_of(std::uint32_t c) noexcept {
    if (within(c, '0', '9') || within(c, 0x6F0, 0x6F9)) {
        return direction::european_digit;
    }
    if (c < 128) {
        return base::is_alpha(static_cast<char>(c)) ? direction::left : direction::neutral;
    }
    if (within(c, 0x660, 0x669)) {
        return direction::arabic_digit;
    }
    if (is_mark(c) || c == zero_width_non_joiner || c == zero_width_joiner) {
        return direction::mark;
    }
    const bool right = within(c, 0x590, 0x8FF) || within(c, 0xFB1D, 0xFDFF) ||
                       within(c, 0xFE70, 0xFEFE) || within(c, 0x10800, 0x10FFF) ||
                       within(c, 0x1E800, 0x1EFFF);
    return right ? direction::right : direction::left;
}

bool is_right_to_left(std::span<const std::uint32_t> text) noexcept {
    return std::any_of(text.begin(), text.end(), [](std::uint32_t c) {
        return direction_of(c) == direction::right || direction_of(c) == direction::arabic_digit;
    });
}

// Rules 1 to 6 of §2, for a label of a name that has right-to-left characters.
bool has_one_direction(std::span<const std::uint32_t> text) noexcept {
    const direction first = direction_of(text[0]);
    if (first != direction::left && first != direction::right) {
        return false;
    }
    bool european = false;
    bool arabic = false;
    direction last = first;
    for (const std::uint32_t c : text) {
        const direction now = direction_of(c);
        if ((now == direction::left || now == direction::right) && now != first) {
            return false;
        }
        european = european || now == direction::european_digit;
        arabic = arabic || now == direction::arabic_digit;
        last = now == direction::mark ? last : now;
    }
    if (last == direction::neutral || (first == direction::left && arabic)) {
        return false;
    }
    return !european || !arabic;
}

// ---- Labels ----

bool is_virama(std::uint32_t c) noexcept {
    constexpr std::uint32_t all[] = {
        0x94D,  0x9CD,  0xA4D,  0xACD,  0xB4D,  0xBCD,  0xC4D,  0xCCD,  0xD3B,  0xD3C,  0xD4D,
        0xDCA,  0xE3A,  0xEBA,  0xF84,  0x1039, 0x103A, 0x1714, 0x1734, 0x17D2, 0x1A60, 0x1B44,
        0x1BAA, 0x1BAB, 0x1BF2, 0x1BF3, 0x2D7F, 0xA806, 0xA8C4, 0xA953, 0xA9C0, 0xAAF6, 0xABED};
    return std::find(std::begin(all), std::end(all), c) != std::end(all);
}

// Scripts whose letters join.
bool joins(std::uint32_t c) noexcept {
    return within(c, 0x620, 0x74F) || within(c, 0x750, 0x77F) || within(c, 0x7CA, 0x7EA) ||
           within(c, 0x840, 0x8FF) || within(c, 0x1820, 0x18AA) || within(c, 0xA840, 0xA871);
}

bool joins_around(std::span<const std::uint32_t> text, std::size_t at) noexcept {
    std::size_t before = at;
    while (before > 0 && is_mark(text[before - 1])) {
        --before;
    }
    std::size_t behind = at + 1;
    while (behind < text.size() && is_mark(text[behind])) {
        ++behind;
    }
    return before > 0 && behind < text.size() && joins(text[before - 1]) && joins(text[behind]);
}

bool is_kana_or_han(std::uint32_t c) noexcept {
    return within(c, 0x3041, 0x309F) || within(c, 0x30A1, 0x30FA) || within(c, 0x30FC, 0x30FF) ||
           within(c, 0x31F0, 0x31FF) || within(c, 0x3400, 0x9FFF) || c == 0x3005 || c == 0x3007 ||
           within(c, 0xF900, 0xFAFF) || within(c, 0x20000, 0x3FFFF);
}

// Characters that need company (RFC 5892 appendix A).
bool fits_context(std::span<const std::uint32_t> text, std::size_t at) noexcept {
    const std::uint32_t before = at > 0 ? text[at - 1] : 0;
    const std::uint32_t behind = at + 1 < text.size() ? text[at + 1] : 0;
    const auto any = [text](std::uint32_t first, std::uint32_t last) {
        return std::any_of(text.begin(), text.end(),
                           [=](std::uint32_t c) { return within(c, first, last); });
    };
    switch (text[at]) {
        case zero_width_non_joiner:
            return is_virama(before) || joins_around(text, at);
        case zero_width_joiner:
            return is_virama(before);
        case 0xB7:
            return before == 'l' && behind == 'l';
        case 0x375:
            return within(behind, 0x370, 0x3FF) || within(behind, 0x1F00, 0x1FFF);
        case 0x5F3:
        case 0x5F4:
            return within(before, 0x591, 0x5F4);
        case 0x30FB:
            return std::any_of(text.begin(), text.end(), is_kana_or_han);
        default:
            return !within(text[at], 0x660, 0x669) || !any(0x6F0, 0x6F9);
    }
}

// A label with something beyond ASCII in it (RFC 5891 §4.2).
bool is_u_label(std::span<const std::uint32_t> text) noexcept {
    if (text.empty() || text.front() == '-' || text.back() == '-' || is_mark(text.front()) ||
        (text.size() > 3 && text[2] == '-' && text[3] == '-')) {
        return false;
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::uint32_t c = text[i];
        const bool good = c < 128 ? c == '-' || within(c, '0', '9') || within(c, 'a', 'z')
                                  : !is_disallowed(c) && fits_context(text, i);
        if (!good) {
            return false;
        }
    }
    return true;
}

bool is_ldh_label(std::string_view text) noexcept {
    return !text.empty() && text.size() <= label_max && text.front() != '-' && text.back() != '-' &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return base::is_alnum(c) || c == '-'; });
}

bool begins_a_label(std::string_view text) noexcept {
    return text.size() > 4 && base::to_lower(text[0]) == 'x' && base::to_lower(text[1]) == 'n' &&
           text[2] == '-' && text[3] == '-';
}

// Looks at one label and adds its size in ASCII. `right` tells whether it has right-to-left text.
bool is_label(std::string_view text, bool international, label& out, bool& right) noexcept {
    const bool ascii = std::all_of(text.begin(), text.end(),
                                   [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    out.count = 0;
    if (ascii) {
        out.ascii_size = text.size();
        if (!is_ldh_label(text)) {
            return false;
        }
        if (!begins_a_label(text)) {
            for (const char c : text) {
                out.codes[out.count++] = static_cast<unsigned char>(c);
            }
            return true;
        }
        // It must be what its text would be spelt like.
        const std::string_view rest = text.substr(4);
        const auto same = [](char a, char b) { return base::to_lower(a) == base::to_lower(b); };
        if (!decode_punycode(rest, out) || !is_u_label(out.text()) || !encode_punycode(out) ||
            out.count == static_cast<std::size_t>(std::count_if(
                             out.codes.begin(), out.codes.begin() + static_cast<int>(out.count),
                             [](std::uint32_t c) { return c < 128; })) ||
            !std::equal(text.begin(), text.end(), out.ascii.begin(),
                        out.ascii.begin() + static_cast<int>(out.ascii_size), same)) {
            return false;
        }
    } else {
        for (std::size_t at = 0; international && at < text.size();) {
            if (out.count == label_max) {
                return false;
            }
            out.codes[out.count++] = decode_utf8(text, at);
        }
        if (!international || !is_u_label(out.text()) || !encode_punycode(out)) {
            return false;
        }
    }
    right = right || is_right_to_left(out.text());
    return true;
}

// What separates labels beside the dot (RFC 3490 §3.1): its bytes, or 0.
std::size_t separator_size(std::string_view text, bool international) noexcept {
    if (text.starts_with('.')) {
        return 1;
    }
    const bool wide = text.starts_with("\xE3\x80\x82") || text.starts_with("\xEF\xBC\x8E") ||
                      text.starts_with("\xEF\xBD\xA1");
    return international && wide ? 3 : 0;
}

// All labels of a name. The second time, `right` is known from the first.
bool are_labels(std::string_view text, bool international, bool& right) noexcept {
    const bool checked = right;
    std::size_t size = 0;
    for (std::size_t begin = 0;;) {
        std::size_t end = begin;
        while (end < text.size() && separator_size(text.substr(end), international) == 0) {
            ++end;
        }
        label one;
        if (!is_label(text.substr(begin, end - begin), international, one, right) ||
            (checked && !has_one_direction(one.text()))) {
            return false;
        }
        size += one.ascii_size + (begin > 0 ? 1 : 0);
        if (size > name_max) {
            return false;
        }
        if (end == text.size()) {
            return true;
        }
        begin = end + separator_size(text.substr(end), international);
    }
}

bool is_name(std::string_view text, bool international) noexcept {
    bool right = false;
    return are_labels(text, international, right) &&
           (!right || are_labels(text, international, right));
}

// RFC 5321 §4.1.2 atext, and beyond ASCII RFC 6531.
bool is_dot_string(std::string_view text, bool international) noexcept {
    constexpr std::string_view signs = "!#$%&'*+-/=?^_`{|}~";
    bool dot = true;
    for (const char c : text) {
        const bool beyond = static_cast<unsigned char>(c) >= 0x80;
        if (c == '.' ? dot
            : beyond ? !international
                     : !base::is_alnum(c) && signs.find(c) == signs.npos) {
            return false;
        }
        dot = c == '.';
    }
    return !dot;
}

// At a quote: where the quoted string ends, 0 when it does not.
std::size_t quoted_size(std::string_view text, bool international) noexcept {
    for (std::size_t at = 1; at < text.size(); ++at) {
        const auto c = static_cast<unsigned char>(text[at]);
        if (c == '"') {
            return at + 1;
        }
        at += c == '\\' ? 1 : 0;
        const auto kept = at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
        if (kept < ' ' || kept == 0x7F || (kept >= 0x80 && !international)) {
            return 0;
        }
    }
    return 0;
}

bool is_address(std::string_view text, bool international) noexcept {
    constexpr std::size_t local_max = 64;
    std::size_t at = text.starts_with('"') ? quoted_size(text, international)
                                           : std::min(text.find('@'), text.size());
    if (at == 0 || at >= text.size() || text[at] != '@' || at > local_max ||
        (!text.starts_with('"') && !is_dot_string(text.substr(0, at), international))) {
        return false;
    }
    const std::string_view domain = text.substr(at + 1);
    if (!domain.starts_with('[')) {
        return is_name(domain, international);
    }
    if (!domain.ends_with(']')) {
        return false;
    }
    const std::string_view literal = domain.substr(1, domain.size() - 2);
    return literal.starts_with("IPv6:") ? is_ipv6(literal.substr(5)) : is_ipv4(literal);
}

}  // namespace

bool is_hostname(std::string_view text) noexcept { return is_name(text, false); }
bool is_idn_hostname(std::string_view text) noexcept { return is_name(text, true); }
bool is_email(std::string_view text) noexcept { return is_address(text, false); }
bool is_idn_email(std::string_view text) noexcept { return is_address(text, true); }

}  // namespace pillion::schema_check::formats
