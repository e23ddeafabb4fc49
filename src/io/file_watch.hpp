// file_watch: notices that files were replaced or rewritten (inotify(7)), by watching the folders
// that hold them: certificates are renewed by renaming a new file over the old one, and mounted
// secrets by exchanging a link beside it, whose name begins with "..".
//
// Files may be missing and come later; folders that are missing or go away are not watched.
// Thread: the watching reactor's.
#pragma once

#include <string>
#include <vector>

#include "base/unique_function.hpp"
#include "io/op.hpp"
#include "io/reactor.hpp"
#include "io/timer_wheel.hpp"

namespace pillion::io {

class file_watch {
 public:
    // Calls `on_change` on `on`'s thread when one of the files may have changed and nothing has
    // happened to them for `quiet_ms`: a certificate and its key are two files.
    file_watch(reactor& on, base::unique_function<void()> on_change,
               std::int64_t quiet_ms) noexcept;
    file_watch(const file_watch&) = delete;
    file_watch& operator=(const file_watch&) = delete;
    // REQUIRES: closed() (or nothing was ever watched).
    ~file_watch();

    // Watches the folders of `paths`, whose names may begin with * for any, in place of those of
    // before; until start() the system keeps what happens. False: nothing is watched, since there
    // is no such folder or no room for another watch.
    bool change(const std::vector<std::string>& paths);
    // From now on `on_change` is called, at first for what happened meanwhile.
    void start() noexcept;
    // Ends it; closed() turns true within the next turns.
    void close() noexcept;
    bool closed() const noexcept { return fd_ < 0; }
    // Whether close() was called: change() does nothing any more.
    bool closing() const noexcept { return closing_; }

 private:
    static void on_read(op& self, const completion& what) noexcept;
    static void on_timer(timer& self, void* owner) noexcept;
    bool take(const std::vector<std::string>& paths);
    void arm() noexcept;
    void read_done(std::int32_t res) noexcept;
    bool concerns(const char* events, std::size_t bytes) const noexcept;

    struct read_op : transfer_op {
        explicit read_op(file_watch& w) noexcept : transfer_op(&file_watch::on_read), owner(&w) {}
        file_watch* owner;
    };

    reactor& reactor_;
    base::unique_function<void()> on_change_;
    std::int64_t quiet_ms_;
    std::vector<std::string> names_;  // of the files, without their folders
    std::vector<int> folders_;        // the kernel's numbers of them
    read_op read_{*this};
    timer timer_{&file_watch::on_timer, this};
    int fd_ = -1;
    bool started_ = false;
    bool closing_ = false;
    alignas(8) char events_[4096] = {};
};

}  // namespace pillion::io
