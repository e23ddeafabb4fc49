// log_writer: a thread of its own that writes what others log, so that a slow reader of the log
// never keeps a request waiting. What it cannot take is dropped and counted.
//
// It sleeps while there is nothing, and collects for a few milliseconds before it writes: under
// load a line costs its loop no system call. Every write ends with a whole line and, unless it goes
// to a file, is small enough for a pipe to take it at once. Of a file only the end stays in memory.
// Thread-safety: put() and dropped() from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace pillion::log {

class log_writer {
 public:
    // Writes to `fd`, which it does not own. At most `queue_bytes_max` wait. A file's disk that
    // keeps it for longer than `disk_patience` is behind, and left alone for a while.
    log_writer(int fd, std::size_t queue_bytes_max,
               std::chrono::milliseconds disk_patience = std::chrono::milliseconds(10));
    log_writer(const log_writer&) = delete;
    log_writer& operator=(const log_writer&) = delete;
    // stop(0), if that has not been done.
    ~log_writer();

    // Takes whole lines. They are written within 20 ms; at once when `urgent`, many, or the first
    // ones for a while. Never waits for the reader.
    void put(std::string_view lines, bool urgent) noexcept;

    // Ends the thread: what waits is written first, as long as the reader takes it within
    // `patience_ms`. True when nothing was left.
    bool stop(std::int64_t patience_ms) noexcept;

    // Lines that were not written so far.
    std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

 private:
    void run() noexcept;
    // What waits is not to be collected any longer. Under the mutex.
    bool is_due() const noexcept { return urgent_ || queue_.size() >= batch_bytes_; }
    // False when it was given up. `unwritten`: how much of the end is lost.
    bool write_all(std::string_view lines, std::size_t& unwritten) noexcept;
    void count_dropped(std::string_view lines) noexcept;
    // The file has grown by `bytes`: what lies behind its end is not to be kept in memory.
    void release_cache(std::size_t bytes) noexcept;

    const int fd_;
    const bool to_file_;
    const std::size_t queue_bytes_max_;
    const std::size_t batch_bytes_;  // so much is not collected any longer
    const std::chrono::milliseconds disk_patience_;
    std::int64_t cached_bytes_ = 0;  // since the last release; less than 0: it is put off
    std::atomic<std::uint64_t> dropped_{0};
    std::atomic<bool> abandoned_{false};
    std::mutex mutex_;  // guards what follows
    std::condition_variable wake_;
    std::condition_variable ended_;
    std::string queue_;
    bool urgent_ = false;
    bool idle_ = false;  // the thread waits for a first line
    bool stopping_ = false;
    bool has_ended_ = false;
    std::thread thread_;
};

}  // namespace pillion::log
