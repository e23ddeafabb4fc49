#include "base/log.hpp"

#include <unistd.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/ascii.hpp"
#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/iso_time.hpp"
#include "base/limits.hpp"
#include "base/log_writer.hpp"

namespace pillion::log {

namespace {

constexpr std::size_t line_bytes_max = 2048;
// Kept free for what closes a line that had to be cut.
constexpr std::size_t tail_bytes = 32;

std::atomic<format> line_format{format::text};
std::atomic<int> descriptor{2};
std::atomic<log_writer*> current_writer{nullptr};

// What a loop's thread has logged in this turn. Lines are built where they are kept.
class collected_lines {
 public:
    bool on = false;
    bool urgent = false;

    // For one more line, unless it is full.
    char* room() noexcept { return text_.get() + used_; }
    bool is_full() const noexcept { return used_ + line_bytes_max > bytes_max; }
    void add(std::size_t bytes) noexcept { used_ += bytes; }
    std::string_view text() const noexcept { return {text_.get(), used_}; }
    void clear() noexcept { used_ = 0; }
    void make_room() {
        if (text_ == nullptr) {
            text_ = std::make_unique_for_overwrite<char[]>(bytes_max);
        }
    }

 private:
    static constexpr std::size_t bytes_max = 64 * 1024;
    std::unique_ptr<char[]> text_;
    std::size_t used_ = 0;
};
thread_local collected_lines collected;

constexpr std::string_view level_names[] = {"debug", "info", "warn", "error", "off"};

// Printable ASCII that needs no escape; a name or a number, where it holds no '=' and no space.
bool is_clean(std::string_view text, bool one_word) noexcept {
    const char first = one_word ? '!' : ' ';
    return std::all_of(text.begin(), text.end(), [=](char c) {
        return c >= first && c < 0x7f && c != '"' && c != '\\' && !(one_word && c == '=');
    });
}

// The same for one word in the room of a line. Looks at up to 15 bytes behind it.
bool is_word_in_line(const char* at, std::size_t bytes) noexcept {
#if defined(__SSE2__)
    for (std::size_t i = 0; i < bytes; i += 16) {
        const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + i));
        // Bytes of 0x80 and above are negative.
        __m128i bad = _mm_cmplt_epi8(v, _mm_set1_epi8('!'));
        bad = _mm_or_si128(bad, _mm_cmpeq_epi8(v, _mm_set1_epi8(0x7f)));
        bad = _mm_or_si128(bad, _mm_cmpeq_epi8(v, _mm_set1_epi8('"')));
        bad = _mm_or_si128(bad, _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
        bad = _mm_or_si128(bad, _mm_cmpeq_epi8(v, _mm_set1_epi8('=')));
        const auto found = static_cast<unsigned>(_mm_movemask_epi8(bad));
        const std::size_t left = std::min<std::size_t>(bytes - i, 16);
        if ((found & ((1U << left) - 1)) != 0) {
            return false;
        }
    }
    return true;
#else
    return is_clean({at, bytes}, true);
#endif
}

// The time of day when a monotonic clock, which was just read, shows `now_ns`.
std::int64_t unix_ns_at(std::int64_t now_ns) noexcept {
    // Not longer, since the thread may have stood still between the two clocks.
    constexpr std::uint64_t good_for_ns = 1'000'000;
    thread_local std::int64_t read_ns = INT64_MIN;
    thread_local std::int64_t unix_ns = 0;
    const auto since_ns = static_cast<std::uint64_t>(now_ns) - static_cast<std::uint64_t>(read_ns);
    if (since_ns >= good_for_ns) {
        read_ns = now_ns;
        unix_ns = base::unix_now_ns();
        return unix_ns;
    }
    return unix_ns + static_cast<std::int64_t>(since_ns);
}

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

// Builds one line in the line_bytes_max bytes at `to`. Once something did not fit, nothing more is
// added but the closing mark.
class line {
 public:
    line(bool json, char* to) noexcept : text_(to), json_(json) {}

    void begin(std::int64_t unix_ms, level l, std::string_view event) noexcept {
        if (!json_ && event.size() <= event_bytes_max) {
            thread_local beginning last;
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
    }

    void add(const field& f) noexcept {
        if (!cut_ && !f.key.empty() && (json_ || !add_plain(f))) {
            add_any(f);
        }
    }

    std::string_view finish() noexcept {
        limit_ = line_bytes_max;
        const bool cut = cut_;
        cut_ = false;
        if (cut) {
            raw(json_ ? ",\"cut\":true" : " cut=true");
        }
        raw(json_ ? "}\n" : "\n");
        return {text_, used_};
    }

 private:
    static constexpr std::size_t event_bytes_max = 64;
    static constexpr std::size_t digits_max = 20;

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

    // As text, what fits and needs neither quotes nor a sign: all fields of most lines. False:
    // nothing was added. Every call logs some, and what it runs through counts: the rest is apart.
    bool add_plain(const field& f) noexcept {
        std::string_view value = f.text;
        char digits[digits_max];
        if (f.kind == field::type::integer || f.kind == field::type::natural) {
            if (f.integer < 0) {
                return false;
            }
            value = digits_of(f.natural, digits);
        } else if (f.kind > field::type::word || value.empty()) {
            return false;
        }
        const std::size_t bytes = f.key.size() + value.size() + 2;
        if (used_ + bytes > limit_) {
            return false;
        }
        char* const at = text_ + used_;
        char* const to = at + f.key.size() + 2;
        at[0] = ' ';
        std::memcpy(at + 1, f.key.data(), f.key.size());
        to[-1] = '=';
        std::memcpy(to, value.data(), value.size());
        if (f.kind == field::type::text && !is_word_in_line(to, value.size())) {
            return false;
        }
        used_ += bytes;
        return true;
    }

    static std::string_view digits_of(std::uint64_t n, char (&room)[digits_max]) noexcept {
        char* at = room + digits_max;
        do {
            *--at = static_cast<char>('0' + n % 10);
            n /= 10;
        } while (n != 0);
        return {at, room + digits_max};
    }

    [[gnu::noinline]] void add_any(const field& f) noexcept {
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

    bool raw(std::string_view bytes) noexcept {
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
    bool joined(const char (&before)[Before], std::string_view name,
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

    void value(const field& f) noexcept {
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

    void word(std::string_view text) noexcept {
        PILLION_DEBUG_ASSERT(is_clean(text, true));
        const bool whole = json_ ? joined("\"", text, "\"") : raw(text);
        static_cast<void>(whole);
    }

    void plain_or_quoted(std::string_view text) noexcept {
        if (text.empty() || !is_clean(text, true) || !raw(text)) {
            cut_ = false;  // a plain text that is too long is cut inside its quotes
            quoted(text);
        }
    }

    // In quotes, with everything escaped that is not printable ASCII: no byte of a peer can end
    // the line, the field or move a terminal. The closing quote always fits (tail_bytes).
    void quoted(std::string_view text) noexcept {
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

    bool escaped(char c) noexcept {
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

    char* text_;
    std::size_t used_ = 0;
    std::size_t limit_ = line_bytes_max - tail_bytes;
    bool cut_ = false;
    bool json_;
};

}  // namespace

void set_level(level lowest) noexcept {
    detail::threshold.store(lowest, std::memory_order_relaxed);
}

void set_format(format f) noexcept { line_format.store(f, std::memory_order_relaxed); }

void set_descriptor(int fd) noexcept { descriptor.store(fd, std::memory_order_relaxed); }

bool parse_level(std::string_view text, level& out) noexcept {
    for (std::size_t i = 0; i < std::size(level_names); ++i) {
        if (text == level_names[i]) {
            out = static_cast<level>(i);
            return true;
        }
    }
    return false;
}

void start_writer() {
    current_writer.store(
        new log_writer(descriptor.load(std::memory_order_relaxed), limits::log_bytes_max),
        std::memory_order_release);
}

void stop_writer(std::int64_t patience_ms) noexcept {
    hand_over();
    // Kept to the end of the process: some helper thread may hold on to it right now.
    static std::vector<std::unique_ptr<log_writer>> retired;
    if (log_writer* const last = current_writer.exchange(nullptr, std::memory_order_acq_rel)) {
        retired.emplace_back(last);
        last->stop(patience_ms);
    }
}

std::uint64_t dropped() noexcept {
    const log_writer* const to = current_writer.load(std::memory_order_acquire);
    return to == nullptr ? 0 : to->dropped();
}

void collect(bool on) noexcept {
    hand_over();
    if (on) {
        collected.make_room();
    }
    collected.on = on;
}

void hand_over() noexcept {
    const std::string_view text = collected.text();
    if (text.empty()) {
        return;
    }
    if (log_writer* const to = current_writer.load(std::memory_order_acquire)) {
        to->put(text, collected.urgent);
    } else {
        static_cast<void>(
            !::write(descriptor.load(std::memory_order_relaxed), text.data(), text.size()));
    }
    collected.clear();
    collected.urgent = false;
}

namespace {

// Builds a line at `to`, which has room for the longest.
std::string_view build(char* to, std::int64_t unix_ns, level l, std::string_view event,
                       std::initializer_list<field> fields) noexcept {
    line made(line_format.load(std::memory_order_relaxed) == format::json, to);
    made.begin(unix_ns / base::ns_per_ms, l, event);
    for (const field& f : fields) {
        made.add(f);
    }
    return made.finish();
}

void print(std::int64_t unix_ns, level l, std::string_view event,
           std::initializer_list<field> fields) noexcept {
    log_writer* const writer = current_writer.load(std::memory_order_acquire);
    if (writer != nullptr && collected.on) {
        collected.add(build(collected.room(), unix_ns, l, event, fields).size());
        collected.urgent = collected.urgent || l >= level::warn;
        if (collected.is_full()) {
            hand_over();
        }
        return;
    }
    char room[line_bytes_max];
    const std::string_view text = build(room, unix_ns, l, event, fields);
    if (writer != nullptr) {
        return writer->put(text, l >= level::warn);
    }
    // One write per line: lines of several threads do not mix. Where it fails nobody can be told.
    static_cast<void>(
        !::write(descriptor.load(std::memory_order_relaxed), text.data(), text.size()));
}

}  // namespace

void detail::render(std::string& to, level l, std::string_view event,
                    std::initializer_list<field> fields) noexcept {
    char room[line_bytes_max];
    to.append(build(room, base::unix_now_ns(), l, event, fields));
}

void detail::emit(level l, std::string_view event, std::initializer_list<field> fields) noexcept {
    print(base::unix_now_ns(), l, event, fields);
}

void detail::emit_at(std::int64_t now_ns, level l, std::string_view event,
                     std::initializer_list<field> fields) noexcept {
    print(unix_ns_at(now_ns), l, event, fields);
}

}  // namespace pillion::log
