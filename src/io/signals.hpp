// signals: SIGTERM, SIGINT and SIGHUP as events of one reactor, through a signalfd.
//
// block() must run in main before any thread of ours starts, so that all inherit the mask; child
// processes get their mask back by the spawner. Thread: the watching reactor's.
#pragma once

#include "base/unique_function.hpp"
#include "io/op.hpp"
#include "io/reactor.hpp"

namespace pillion::io {

class signal_watch {
 public:
    // Blocks the watched signals in the calling thread. Threads that are older, the program's own,
    // pass on what comes to them, unless it has a handler. For the process it ignores SIGPIPE, and
    // has the ends of children seen.
    static void block() noexcept;
    // Whether one that asks for the end, SIGTERM or SIGINT, waits to be delivered: for whoever has
    // blocked them, does not watch yet, and has something to do that may take long.
    static bool end_is_pending() noexcept;

    // Delivers signal numbers to `on_signal` on `on`'s thread, from start() to close().
    signal_watch(reactor& on, base::unique_function<void(int)> on_signal) noexcept;
    signal_watch(const signal_watch&) = delete;
    signal_watch& operator=(const signal_watch&) = delete;
    // REQUIRES: closed() (or never started).
    ~signal_watch();

    // Creates the signalfd and starts reading. False: no descriptor could be had.
    bool start() noexcept;
    // Ends the delivery; closed() turns true within the next turns.
    void close() noexcept;
    bool closed() const noexcept { return fd_ < 0; }

 private:
    static void on_read(op& self, const completion& what) noexcept;
    void arm() noexcept;
    void read_done(std::int32_t res) noexcept;

    struct read_op : transfer_op {
        explicit read_op(signal_watch& w) noexcept
            : transfer_op(&signal_watch::on_read), owner(&w) {}
        signal_watch* owner;
    };

    reactor& reactor_;
    base::unique_function<void(int)> on_signal_;
    read_op read_{*this};
    int fd_ = -1;
    bool closing_ = false;
    alignas(8) char info_[128] = {};  // one signalfd_siginfo
};

}  // namespace pillion::io
