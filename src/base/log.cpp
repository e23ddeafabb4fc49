#include "base/log.hpp"

#include <unistd.h>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "base/limits.hpp"
#include "base/log_line.hpp"
#include "base/log_writer.hpp"

namespace pillion::log {

namespace {

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
    bool is_full() const noexcept { return used_ + log_line::bytes_max > bytes_max; }
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

// A line of a thread that collects none.
thread_local char single[log_line::bytes_max];

log_line begin_at(std::int64_t unix_ns, level l, std::string_view event, char* to) noexcept {
    const bool json = line_format.load(std::memory_order_relaxed) == format::json;
    return {json, to, unix_ns / base::ns_per_ms, l, event};
}

char* room() noexcept { return collected.on ? collected.room() : single; }

}  // namespace

log_line detail::begin_line(std::int64_t now_ns, level l, std::string_view event) noexcept {
    return begin_at(unix_ns_at(now_ns), l, event, room());
}

void detail::end_line(log_line made, level l) noexcept {
    const std::string_view text = made.finish();
    log_writer* const writer = current_writer.load(std::memory_order_acquire);
    if (writer != nullptr && collected.on) {
        collected.add(text.size());
        collected.urgent = collected.urgent || l >= level::warn;
        if (collected.is_full()) {
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

void detail::render(std::string& to, level l, std::string_view event,
                    std::initializer_list<field> fields) noexcept {
    char own[log_line::bytes_max];
    log_line made = begin_at(base::unix_now_ns(), l, event, own);
    for (const field& f : fields) {
        made.add(f);
    }
    to.append(made.finish());
}

void detail::emit(level l, std::string_view event, std::initializer_list<field> fields) noexcept {
    log_line made = begin_at(base::unix_now_ns(), l, event, room());
    for (const field& f : fields) {
        made.add(f);
    }
    end_line(made, l);
}

}  // namespace pillion::log
