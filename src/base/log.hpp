// log: structured lines to stderr, as text (logfmt) or JSON.
//
//     log::info("http.accept", {log::kv("peer", address), log::kv("n", 3)});
//
// The level is checked first; a line is built on the stack (long ones are cut), so nothing is
// allocated. Every byte that could break out of its field is escaped: what a peer sends cannot
// forge a line. Never log bodies or tokens. Lines are written by a thread of their own while
// there is one (start_writer), else at once, one write(2) each. Thread-safety: any thread.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace pillion::log {

enum class level : std::uint8_t { debug, info, warn, error, off };
enum class format : std::uint8_t { text, json };

// One field of a line. Holds views: valid for the statement that logs it.
struct field {
    enum class type : std::uint8_t { text, word, integer, natural, real, boolean };
    std::string_view key;
    type kind = type::text;
    std::string_view text;
    union {
        std::int64_t integer = 0;
        std::uint64_t natural;
        double real;
        bool boolean;
    };
};

// Makes a field. Keys are literals of ours: [a-z0-9_.].
inline field kv(std::string_view key, std::string_view value) noexcept {
    field f;
    f.key = key;
    f.text = value;
    return f;
}
inline field kv(std::string_view key, const char* value) noexcept {
    return kv(key, value == nullptr ? std::string_view{} : std::string_view{value});
}
inline field kv(std::string_view key, bool value) noexcept {
    field f;
    f.key = key;
    f.kind = field::type::boolean;
    f.boolean = value;
    return f;
}
template <std::signed_integral T>
field kv(std::string_view key, T value) noexcept {
    field f;
    f.key = key;
    f.kind = field::type::integer;
    f.integer = value;
    return f;
}
template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
field kv(std::string_view key, T value) noexcept {
    field f;
    f.key = key;
    f.kind = field::type::natural;
    f.natural = value;
    return f;
}
inline field kv(std::string_view key, double value) noexcept {
    field f;
    f.key = key;
    f.kind = field::type::real;
    f.real = value;
    return f;
}

// A name of ours: visible ASCII without '"', '\\' and '=', which nobody looks at again.
inline field kv_word(std::string_view key, std::string_view name) noexcept {
    field f = kv(key, name);
    f.kind = field::type::word;
    return f;
}

// A field of some lines only: left out without a value.
inline field kv_unless_empty(std::string_view key, std::string_view value) noexcept {
    return kv(value.empty() ? std::string_view{} : key, value);
}

// Sets what is printed and how. At start-up; may change at run time from any thread.
void set_level(level lowest) noexcept;
void set_format(format f) noexcept;
// Where lines go (default 2); tests redirect it.
void set_descriptor(int fd) noexcept;

// From here on nothing that logs waits for whoever reads the log; what that does not take is
// dropped and counted. stop_writer() writes what is left, at most for `patience_ms`; the threads
// that log must have ended, or log no more. At start-up and at the end.
void start_writer();
void stop_writer(std::int64_t patience_ms) noexcept;
// Lines dropped so far.
std::uint64_t dropped() noexcept;
// For loops: this thread's lines are kept until hand_over(), which costs nothing when there are
// none. The end of a loop hands over and collects no more.
void collect(bool on) noexcept;
void hand_over() noexcept;

namespace detail {
inline std::atomic<level> threshold{level::info};
void emit(level l, std::string_view event, std::initializer_list<field> fields) noexcept;
// Appends one line to `to`.
void render(std::string& to, level l, std::string_view event,
            std::initializer_list<field> fields) noexcept;
}  // namespace detail

// Whether a line of this level would be printed: guard for costly arguments.
inline bool enabled(level l) noexcept {
    return l >= detail::threshold.load(std::memory_order_relaxed);
}

// Parses "debug", "info", "warn", "error", "off"; false (and `out` untouched) otherwise.
bool parse_level(std::string_view text, level& out) noexcept;

// Prints one line: time, level, event, fields.
inline void write(level l, std::string_view event, std::initializer_list<field> fields) noexcept {
    if (enabled(l)) {
        detail::emit(l, event, fields);
    }
}
inline void debug(std::string_view event, std::initializer_list<field> fields = {}) noexcept {
    write(level::debug, event, fields);
}
inline void info(std::string_view event, std::initializer_list<field> fields = {}) noexcept {
    write(level::info, event, fields);
}
inline void warn(std::string_view event, std::initializer_list<field> fields = {}) noexcept {
    write(level::warn, event, fields);
}
inline void error(std::string_view event, std::initializer_list<field> fields = {}) noexcept {
    write(level::error, event, fields);
}

}  // namespace pillion::log
