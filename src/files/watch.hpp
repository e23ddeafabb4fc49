// watch: tells when files of a tree change.
//
// A thread of its own watches the directories of the tree by inotify, except those that .gitignore
// files or their names hide. They are found in the background, so nothing waits for it. Changes of
// a file are told once it has been quiet for settle_ms (at the latest settle_max_ms after the first
// one), as are changes of listings. When the kernel's queue overflows all is looked through again,
// and what changed since then is told. Where the kernel allows no more watches, one line is logged
// and a walk of the tree, which takes at most a tenth of a core, looks after the rest.
//
// Not seen are changes of a link's target, and the files of a directory that is moved away are not
// told one by one.
//
// Ownership: the tree must outlive it. Thread-safety: the sink is called on the watching thread;
// the destructor stops and joins it, so it must not run on that thread.
#pragma once

#include <sys/inotify.h>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "files/tree.hpp"

namespace pillion::files {

struct watch_sink {
    std::function<void(std::string_view path)> updated;  // a file was changed, made or removed
    std::function<void()> listed;                        // what a listing shows has changed
};

struct watch_limits {
    std::size_t directories_max = 16'384;
    std::int64_t settle_ms = 50;
    std::int64_t settle_max_ms = 1000;
    std::int64_t poll_ms = 2000;  // between two walks where watches ran out
};

class watch {
 public:
    // Starts watching.
    watch(const tree& where, watch_sink sink, watch_limits limits = {});
    ~watch();
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;

    // All directories found so far are watched (or as many as may be).
    bool settled() const noexcept { return settled_.load(std::memory_order_acquire); }

 private:
    // A directory to be watched and looked through.
    struct task_item {
        std::string path;
        std::int64_t since_ns;  // files changed from then on are told
        std::string after{};    // entries up to this one are done
        bool begun = false;
    };
    struct pending {
        std::int64_t first_ms;
        std::int64_t due_ms;
    };

    void run();
    int wait_ms() const;
    void restart(std::int64_t since_ns);
    void read_events();
    void on_event(const inotify_event& event, std::string_view name);
    void on_directory(const inotify_event& event, const std::string& path);
    void on_file(const inotify_event& event, const std::string& path);
    bool add(const std::string& path);
    void forget(std::string_view path);
    void run_out(std::string_view reason);
    void look_through();
    void walk_on();
    void touch(std::string_view path);
    void touch_list();
    void touch_list_for(std::string_view path, bool directory);
    void defer(pending& one) const;
    void flush(bool all);

    const tree& tree_;
    watch_sink sink_;
    watch_limits limits_;
    unique_fd stop_;
    std::atomic<bool> settled_{false};

    // The watching thread's own.
    unique_fd inotify_;
    std::unordered_map<int, std::string> directories_;
    std::unordered_map<std::string, int> watches_;
    std::deque<task_item> tasks_;
    std::unordered_map<std::string, pending> updated_;
    pending listed_{0, 0};
    bool list_touched_ = false;
    bool overflowed_ = false;
    std::int64_t drained_ns_ = 0;  // all events up to this time were read
    bool short_of_watches_ = false;
    std::string walked_;  // the walk under way is behind this path
    std::int64_t walk_since_ns_ = 0;
    std::int64_t walk_began_ns_ = 0;
    std::int64_t walk_began_ms_ = 0;
    std::int64_t walk_next_ms_ = 0;

    std::thread thread_;
};

}  // namespace pillion::files
