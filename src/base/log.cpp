#include "base/log.hpp"

#include <time.h>
#include <unistd.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "base/ascii.hpp"
#include "base/iso_time.hpp"
#include "base/limits.hpp"
#include "base/log_writer.hpp"
#include "base/swar.hpp"

namespace pillion::log {

namespace {

constexpr std::size_t line_bytes_max = 2048;
// Kept free for what closes a line that had to be cut.
constexpr std::size_t tail_bytes = 32;

std::atomic<format> line_format{format::text};
std::atomic<int> descriptor{2};
std::atomic<log_writer*> current_writer{nullptr};

// What a loop's thread has logged in this turn.
struct collected_lines {
    bool on = false;
    bool urgent = false;
    std::string text;
};
thread_local collected_lines collected;
constexpr std::size_t collected_bytes_max = 64 * 1024;

constexpr std::string_view level_names[] = {"debug", "info", "warn", "error", "off"};

// Builds one line. Once something did not fit, nothing more is added but the closing mark.
class line {
 public:
    explicit line(bool json) noexcept : json_(json) {}

    void begin(level l, std::string_view event) noexcept {
        const std::string_view time = now();
        const std::string_view name = level_names[static_cast<std::size_t>(l)];
        if (json_) {
            raw("{\"time\":\"");
            raw(time);
            raw("\",\"level\":\"");
            raw(name);
            raw("\",\"event\":");
            quoted(event);
        } else {
            raw(time);
            raw(" ");
            raw(name);
            raw(" ");
            plain_or_quoted(event);
        }
    }

    void add(const field& f) noexcept {
        if (cut_ || f.key.empty()) {
            return;
        }
        const std::size_t before = used_;
        if (json_) {
            raw(",");
            quoted(f.key);
            raw(":");
        } else {
            raw(" ");
            raw(f.key);
            raw("=");
        }
        if (cut_) {
            used_ = before;  // no half keys
            return;
        }
        const std::size_t value_at = used_;
        value(f);
        if (cut_ && f.kind != field::type::text) {
            used_ = before;  // half a number would be a lie
        } else if (cut_ && used_ == value_at) {
            used_ = before;
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
    // Within a second only the last three digits change.
    static std::string_view now() noexcept {
        thread_local char text[40];
        thread_local std::size_t bytes = 0;
        thread_local std::int64_t second = INT64_MIN;
        timespec t{};
        ::clock_gettime(CLOCK_REALTIME, &t);
        const auto ms = static_cast<unsigned>(t.tv_nsec / 1'000'000);
        if (second != t.tv_sec) {
            second = t.tv_sec;
            bytes = base::iso_time(second * 1000).text().copy(text, sizeof text);
        }
        char* const z = text + bytes - 1;
        z[-3] = static_cast<char>('0' + ms / 100);
        z[-2] = static_cast<char>('0' + ms / 10 % 10);
        z[-1] = static_cast<char>('0' + ms % 10);
        return {text, bytes};
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

    void value(const field& f) noexcept {
        char digits[40];
        std::to_chars_result made{digits, std::errc{}};
        switch (f.kind) {
            case field::type::text:
                return json_ ? quoted(f.text) : plain_or_quoted(f.text);
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

    // Printable ASCII that needs no escape; a name or a number, where it holds no '=' and no space.
    static bool is_clean(std::string_view text, bool one_word) noexcept {
        namespace swar = base::swar;
        const unsigned char first = one_word ? '!' : ' ';
        const char* at = text.data();
        const char* const end = at + text.size();
        for (; end - at >= 8; at += 8) {
            const auto word = swar::load<std::uint64_t>(at);
            if (swar::has_less(word, first) || swar::has_high(word) || swar::has_byte(word, 0x7f) ||
                swar::has_byte(word, '"') || swar::has_byte(word, '\\') ||
                (one_word && swar::has_byte(word, '='))) {
                return false;
            }
        }
        return std::all_of(at, end, [=](char c) {
            return c >= first && c < 0x7f && c != '"' && c != '\\' && !(one_word && c == '=');
        });
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

    char text_[line_bytes_max];
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
    collected.on = on;
}

void hand_over() noexcept {
    if (collected.text.empty()) {
        return;
    }
    if (log_writer* const to = current_writer.load(std::memory_order_acquire)) {
        to->put(collected.text, collected.urgent);
    } else {
        static_cast<void>(!::write(descriptor.load(std::memory_order_relaxed),
                                   collected.text.data(), collected.text.size()));
    }
    collected.text.clear();
    collected.urgent = false;
}

void detail::render(std::string& to, level l, std::string_view event,
                    std::initializer_list<field> fields) noexcept {
    line made(line_format.load(std::memory_order_relaxed) == format::json);
    made.begin(l, event);
    for (const field& f : fields) {
        made.add(f);
    }
    to.append(made.finish());
}

void detail::emit(level l, std::string_view event, std::initializer_list<field> fields) noexcept {
    line made(line_format.load(std::memory_order_relaxed) == format::json);
    made.begin(l, event);
    for (const field& f : fields) {
        made.add(f);
    }
    const std::string_view text = made.finish();
    log_writer* const writer = current_writer.load(std::memory_order_acquire);
    if (writer != nullptr && collected.on) {
        collected.text.append(text);
        collected.urgent = collected.urgent || l >= level::warn;
        if (collected.text.size() > collected_bytes_max) {
            hand_over();
        }
        return;
    }
    if (writer != nullptr) {
        return writer->put(text, l >= level::warn);
    }
    // One write per line: lines of several threads do not mix. Where it fails nobody can be told.
    static_cast<void>(
        !::write(descriptor.load(std::memory_order_relaxed), text.data(), text.size()));
}

}  // namespace pillion::log
