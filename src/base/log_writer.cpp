#include "base/log_writer.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>

#include "base/log.hpp"

namespace pillion::log {

namespace {

// A pipe that has room takes this much without waiting (PIPE_BUF).
constexpr std::size_t piece_bytes = 4096;
constexpr int poll_ms = 20;
// Between two writes, each of which costs a loop's core two switches of threads.
constexpr std::chrono::milliseconds collect_time(20);
// But not more than this, which a loop on the same core waits for: of 256 KiB it was the p99 of its
// calls. What costs is less the bytes than waking up: 32 KiB took 27 us to be written, 64 KiB 31.
constexpr std::size_t batch_bytes_max = std::size_t{64} * 1024;

// A file's end is written to the disk, and what is there already leaves the page cache, each time
// it has grown by so much. Nobody reads a log of 30 MB a second again before the system needs the
// memory, and a fresh page costs more than one that was just given back: 64 KiB took 31 to 280 us
// (a guest whose host has to find the memory) and 20 to 30 since.
constexpr std::int64_t release_bytes = std::int64_t{256} * 1024;
// Of so much, as what was being written the last time can be forgotten this time: more than two of
// the largest batches. Looking for what has gone already costs nothing.
constexpr off_t release_window_bytes = off_t{4} * 1024 * 1024;
// A multiple of any page: the last one is still written to.
constexpr off_t release_unit_bytes = off_t{64} * 1024;
// A disk that is behind keeps whoever asks, and lines wait meanwhile. It is left alone for so much.
constexpr std::int64_t release_pause_bytes = std::int64_t{64} * 1024 * 1024;

// A file that takes whatever comes, without waiting for a reader.
bool is_regular(int fd) noexcept {
    struct stat of{};
    return ::fstat(fd, &of) == 0 && S_ISREG(of.st_mode);
}

// The longest beginning that fits a piece and ends with a line.
std::string_view next_piece(std::string_view lines) noexcept {
    if (lines.size() <= piece_bytes) {
        return lines;
    }
    const std::size_t end = lines.rfind('\n', piece_bytes - 1);
    return lines.substr(0, end == lines.npos ? piece_bytes : end + 1);
}

}  // namespace

log_writer::log_writer(int fd, std::size_t queue_bytes_max, std::chrono::milliseconds disk_patience)
    : fd_(fd),
      to_file_(is_regular(fd)),
      queue_bytes_max_(queue_bytes_max),
      batch_bytes_(std::min(queue_bytes_max / 4, batch_bytes_max)),
      disk_patience_(disk_patience) {
    // Signals are for the loops.
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { run(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

log_writer::~log_writer() { stop(0); }

void log_writer::put(std::string_view lines, bool urgent) noexcept {
    bool wakes = false;
    {
        const std::lock_guard lock(mutex_);
        if (queue_.size() + lines.size() > queue_bytes_max_) {
            return count_dropped(lines);
        }
        const bool was_due = is_due();
        queue_.append(lines);
        urgent_ = urgent_ || urgent;
        wakes = idle_ || (is_due() && !was_due);
        idle_ = false;
    }
    if (wakes) {
        wake_.notify_one();
    }
}

void log_writer::count_dropped(std::string_view lines) noexcept {
    const auto count = std::count(lines.begin(), lines.end(), '\n');
    dropped_.fetch_add(static_cast<std::uint64_t>(count), std::memory_order_relaxed);
}

void log_writer::run() noexcept {
    std::uint64_t told = 0;
    std::string batch;
    std::chrono::steady_clock::time_point next{};
    std::unique_lock lock(mutex_);
    while (true) {
        // What comes meanwhile wakes nobody before it is due. Only behind that the first line does,
        // so that those after a silence are written at once.
        wake_.wait_until(lock, next, [this] { return stopping_ || is_due(); });
        idle_ = queue_.empty();
        wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
        idle_ = false;
        if (queue_.empty()) {
            break;
        }
        batch.clear();
        batch.swap(queue_);
        urgent_ = false;
        lock.unlock();
        // What is lost until now was said later than what is in the batch.
        const std::uint64_t lost = dropped();
        std::size_t unwritten = 0;
        bool goes_on = write_all(batch, unwritten);
        count_dropped(std::string_view(batch).substr(batch.size() - unwritten));
        if (goes_on && unwritten == 0 && lost != told) {
            // A line of our own: when it is lost nothing was.
            batch.clear();
            detail::render(batch, level::warn, "log.dropped", {kv("lines", lost - told)});
            goes_on = write_all(batch, unwritten);
            told = unwritten == 0 ? lost : told;
        }
        next = std::chrono::steady_clock::now() + collect_time;
        lock.lock();
        if (!goes_on) {
            break;
        }
    }
    // What came while the last batch was given up.
    count_dropped(queue_);
    queue_.clear();
    has_ended_ = true;
    ended_.notify_all();
}

bool log_writer::write_all(std::string_view lines, std::size_t& unwritten) noexcept {
    unwritten = 0;
    while (!lines.empty()) {
        pollfd ready{fd_, POLLOUT, 0};
        if (!to_file_ && ::poll(&ready, 1, poll_ms) <= 0) {
            if (abandoned_.load(std::memory_order_relaxed)) {
                unwritten = lines.size();
                return false;
            }
            continue;
        }
        const std::string_view piece = to_file_ ? lines : next_piece(lines);
        const ssize_t written = ::write(fd_, piece.data(), piece.size());
        if (written < 0 && errno != EINTR && errno != EAGAIN) {
            // Nobody is there; whoever comes later is no reader of these lines.
            unwritten = lines.size();
            return true;
        }
        const std::size_t taken = written < 0 ? 0 : static_cast<std::size_t>(written);
        lines.remove_prefix(taken);
        if (to_file_) {
            release_cache(taken);
        }
    }
    return true;
}

void log_writer::release_cache(std::size_t bytes) noexcept {
    cached_bytes_ += static_cast<std::int64_t>(bytes);
    if (cached_bytes_ < release_bytes) {
        return;
    }
    cached_bytes_ = 0;
    const off_t end = ::lseek(fd_, 0, SEEK_CUR) & -release_unit_bytes;
    const off_t begin = std::max(off_t{0}, end - release_window_bytes);
    if (end <= begin) {
        return;
    }
    const auto from = std::chrono::steady_clock::now();
    // Starts writing what is not on the disk, and forgets what is (mm/fadvise.c). Where that is
    // not possible or not allowed, nothing is lost but the memory.
    (void)::posix_fadvise(fd_, begin, end - begin, POSIX_FADV_DONTNEED);
    if (std::chrono::steady_clock::now() - from > disk_patience_) {
        cached_bytes_ = -release_pause_bytes;
    }
}

bool log_writer::stop(std::int64_t patience_ms) noexcept {
    if (!thread_.joinable()) {
        return true;
    }
    bool in_time = false;
    {
        std::unique_lock lock(mutex_);
        stopping_ = true;
        wake_.notify_one();
        in_time = ended_.wait_for(lock, std::chrono::milliseconds(patience_ms),
                                  [this] { return has_ended_; });
    }
    abandoned_.store(!in_time, std::memory_order_relaxed);
    thread_.join();
    return in_time;
}

}  // namespace pillion::log
