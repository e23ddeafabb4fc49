// command_run: one run of a program: what it writes, up to a bound, the end of what it says on
// stderr, and how it ended. Nothing of it is left when it is over.
//
// Ownership: lives in the frame of the handler that waits for it. Thread: its loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <pillion/task.hpp>

#include "coro/stop.hpp"
#include "coro/sync.hpp"
#include "io/stdio_stream.hpp"
#include "process/child.hpp"

namespace pillion::sidecar {

class command_run final : private process::child_watcher {
 public:
    struct bounds {
        std::size_t output_bytes_max = 0;
        std::size_t stderr_tail_bytes = 0;
        std::int64_t kill_after_ms = 0;
    };

    command_run(io::reactor& loop, const bounds& of) noexcept;
    command_run(const command_run&) = delete;
    command_run& operator=(const command_run&) = delete;
    // REQUIRES: not started, or over.
    ~command_run();

    // Once. False with a fault in words; then there is no process.
    bool start(const process::start_options& what, std::string& fault);
    // Until it is over; when `stop` is requested before, it is ended first. Whether it ended by
    // itself.
    task<bool> finish(coro::stop_node& stop);

    // Of one that is over.
    const process::exit_status& how() const noexcept { return how_; }
    const std::string& output() const noexcept { return output_.text; }
    const std::string& error_tail() const noexcept { return errors_.text; }
    // It wrote more than it may, and was ended.
    bool too_large() const noexcept { return too_large_; }
    // It ended, but its output did not: somebody has it who has left its group.
    bool cut() const noexcept { return cut_; }

 private:
    // What comes through one of its pipes.
    struct pipe final : io::stream_reader {
        command_run* of = nullptr;
        std::optional<io::stdio_stream> stream;
        std::string text;
        bool over = true;

        void begin(io::reactor& loop, int fd);
        void end() noexcept;
        void on_data(char* data, std::size_t bytes) noexcept override;
        void on_eof() noexcept override { end(); }
        void on_drained() noexcept override {}
        void on_closed(int os_errno) noexcept override;
    };

    void on_exit(const process::exit_status& how) override;
    static void on_patience(io::timer& self, void* owner) noexcept;
    void take(const pipe& from) noexcept;
    void settle() noexcept;

    io::reactor& loop_;
    bounds bounds_;
    process::child child_;
    pipe output_;
    pipe errors_;
    process::exit_status how_;
    coro::event done_;
    io::timer patience_{&command_run::on_patience, this};
    int patience_used_ = 0;
    bool exited_ = true;
    bool too_large_ = false;
    bool cut_ = false;
};

}  // namespace pillion::sidecar
