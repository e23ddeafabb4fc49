#include "base/log_line.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/ascii.hpp"
#include "base/assert.hpp"
#include "base/iso_time.hpp"

namespace pillion::log {

namespace {

constexpr std::size_t event_bytes_max = 64;

// Lives until the thread's next one.
std::string_view time_text(std::int64_t unix_ms) noexcept {
    thread_local std::int64_t of = 0;
    thread_local base::iso_time time(0);
    if (of != unix_ms) {
        of = unix_ms;
        time = base::iso_time(unix_ms);
    }
    return time.text();
}

// Time, level and event of a thread's last line. Under load many begin alike, and a copy of all
// the room costs less than one of what is in it.
struct beginning {
    std::int64_t unix_ms = INT64_MIN;
    level of = level::off;
    std::size_t event_at = 0;
    std::size_t bytes = 0;
    char text[96];  // the time, the longest level, the longest event, two spaces

    bool is(std::int64_t ms, level l, std::string_view event) const noexcept {
        return unix_ms == ms && of == l &&
               std::string_view(text + event_at, bytes - event_at) == event;
    }
    [[gnu::noinline]] void become(std::int64_t ms, level l, std::string_view event) noexcept {
        const std::string_view time = time_text(ms);
        const std::string_view name = level_names[static_cast<std::size_t>(l)];
        char* at = text + time.copy(text, time.size());
        *at++ = ' ';
        at += name.copy(at, name.size());
        *at++ = ' ';
        event_at = static_cast<std::size_t>(at - text);
        bytes = event_at + event.copy(at, event.size());
        unix_ms = ms;
        of = l;
    }
};

thread_local beginning last;

}  // namespace

log_line::log_line(bool json, char* to, std::int64_t unix_ms, level l,
                   std::string_view event) noexcept
    : text_(to), plain_end_(json ? 0 : limit_), json_(json) {
    if (!json_ && event.size() <= event_bytes_max) {
        if (!last.is(unix_ms, l, event)) {
            last.become(unix_ms, l, event);
        }
        std::memcpy(text_, last.text, sizeof last.text);
        used_ = last.bytes;
        return;
    }
    raw(json_ ? "{\"time\":\"" : "");
    raw(time_text(unix_ms));
    raw(json_ ? "\",\"level\":\"" : " ");
    raw(level_names[static_cast<std::size_t>(l)]);
    raw(json_ ? "\",\"event\":" : " ");
    word(event);
    plain_end_ = cut_ ? 0 : plain_end_;
}

std::string_view log_line::finish() noexcept {
    limit_ = bytes_max;
    if (std::exchange(cut_, false)) {
        raw(json_ ? ",\"cut\":true" : " cut=true");
    }
    raw(json_ ? "}\n" : "\n");
    return {text_, used_};
}

bool log_line::is_clean(std::string_view text, bool one_word) noexcept {
    const char first = one_word ? '!' : ' ';
    return std::all_of(text.begin(), text.end(), [=](char c) {
        return c >= first && c < 0x7f && c != '"' && c != '\\' && !(one_word && c == '=');
    });
}

log_line log_line::with_any(log_line made, field f) noexcept {
    if (!made.cut_) {
        made.add_any(f);
        made.plain_end_ = made.cut_ ? 0 : made.plain_end_;
    }
    return made;
}

void log_line::add_any(const field& f) noexcept {
    const std::size_t before = used_;
    if (!(json_ ? joined(",\"", f.key, "\":") : joined(" ", f.key, "="))) {
        return;
    }
    const std::size_t value_at = used_;
    value(f);
    if (cut_ && f.kind != field::type::text) {
        used_ = before;  // half a number or name would be a lie
    } else if (cut_ && used_ == value_at) {
        used_ = before;
    }
}

bool log_line::raw(std::string_view bytes) noexcept {
    if (cut_ || used_ + bytes.size() > limit_) {
        cut_ = true;
        return false;
    }
    std::memcpy(text_ + used_, bytes.data(), bytes.size());
    used_ += bytes.size();
    return true;
}

// Whole or not at all.
template <std::size_t Before, std::size_t Behind>
bool log_line::joined(const char (&before)[Before], std::string_view name,
                      const char (&behind)[Behind]) noexcept {
    if (used_ + Before + name.size() + Behind > limit_) {
        cut_ = true;
        return false;
    }
    char* const to = text_ + used_;
    std::memcpy(to, before, Before - 1);
    std::memcpy(to + Before - 1, name.data(), name.size());
    std::memcpy(to + Before - 1 + name.size(), behind, Behind - 1);
    used_ += Before + name.size() + Behind - 2;
    return true;
}

void log_line::value(const field& f) noexcept {
    char digits[40];
    std::to_chars_result made{digits, std::errc{}};
    switch (f.kind) {
        case field::type::text:
            return json_ ? quoted(f.text) : plain_or_quoted(f.text);
        case field::type::word:
            return word(f.text);
        case field::type::boolean:
            raw(f.boolean ? "true" : "false");
            return;
        case field::type::integer:
            made = std::to_chars(digits, digits + sizeof digits, f.integer);
            break;
        case field::type::natural:
            made = std::to_chars(digits, digits + sizeof digits, f.natural);
            break;
        case field::type::real:
            if (!std::isfinite(f.real)) {
                raw("null");
                return;
            }
            made = std::to_chars(digits, digits + sizeof digits, f.real);
            break;
    }
    raw({digits, static_cast<std::size_t>(made.ptr - digits)});
}

void log_line::word(std::string_view text) noexcept {
    PILLION_DEBUG_ASSERT(is_clean(text, true));
    const bool whole = json_ ? joined("\"", text, "\"") : raw(text);
    static_cast<void>(whole);
}

void log_line::plain_or_quoted(std::string_view text) noexcept {
    if (text.empty() || !is_clean(text, true) || !raw(text)) {
        cut_ = false;  // a plain text that is too long is cut inside its quotes
        quoted(text);
    }
}

// In quotes, with everything escaped that is not printable ASCII: no byte of a peer can end
// the line, the field or move a terminal. The closing quote always fits (tail_bytes).
void log_line::quoted(std::string_view text) noexcept {
    if (!raw("\"")) {
        return;
    }
    if (text.empty()) {
        // Nothing to copy, perhaps from nowhere.
    } else if (used_ + text.size() <= limit_ && is_clean(text, false)) {
        raw(text);
    } else {
        for (const char c : text) {
            if (!escaped(c)) {
                break;
            }
        }
    }
    text_[used_++] = '"';
}

bool log_line::escaped(char c) noexcept {
    switch (c) {
        case '"':
            return raw("\\\"");
        case '\\':
            return raw("\\\\");
        case '\n':
            return raw("\\n");
        case '\r':
            return raw("\\r");
        case '\t':
            return raw("\\t");
        default:
            break;
    }
    if (c >= ' ' && c < 0x7f) {
        return raw({&c, 1});
    }
    const auto byte = static_cast<unsigned char>(c);
    const char text[] = {
        '\\', 'u', '0', '0', base::hex_digits[byte >> 4], base::hex_digits[byte & 15]};
    const std::string_view all(text, sizeof text);
    if (json_) {
        return raw(all);
    }
    const char brief[] = {'\\', 'x', text[4], text[5]};
    return raw({brief, sizeof brief});
}

}  // namespace pillion::log
