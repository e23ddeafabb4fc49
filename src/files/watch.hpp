// watch: tells when files of a tree change.
//
// A thread of its own watches the directories of the tree by inotify, except those that .gitignore
// files or their names hide. They are found in the background, so nothing waits for it. Changes of
// a file are told once it has been quiet for settle_ms (at the latest settle_max_ms after the first
// one), as are changes of listings. When the kernel's queue overflows all is looked through again,
// and what changed since then is told.
//
// Where the kernel allows no more watches, one line is logged and the rest is looked at from time
// to time, with at most a tenth of a core: the files that somebody wants to hear of (sink.wanted),
// and the times of the directories, which tell that a listing has changed. Only when a directory
// has changed are the directories of the tree found anew.
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
#include <limits>
#include <map>
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
    // The files whose changes matter at present; asked where watches ran out, and when a directory
    // was renamed.
    std::function<std::vector<std::string>()> wanted{};
};

struct watch_limits {
    std::size_t directories_max = 16'384;
    std::int64_t settle_ms = 50;
    std::int64_t settle_max_ms = 1000;
    std::int64_t gather_ms = 10;  // after events were read, until others are looked for
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
    // How often events were read.
    std::uint64_t reads() const noexcept { return reads_.load(std::memory_order_relaxed); }

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
    int wait_ms(std::int64_t at_most = std::numeric_limits<std::int64_t>::max()) const;
    void restart(std::int64_t since_ns);
    void read_events();
    void on_event(const inotify_event& event, std::string_view name);
    void on_directory(const inotify_event& event, const std::string& path);
    void on_file(const inotify_event& event, const std::string& path);
    bool add(const std::string& path);
    void forget(std::string_view path);
    void run_out(std::string_view reason);
    void look_through();
    void look_around();
    void find_directories();
    void found_directory(const std::string& path, std::int64_t changed_ns);
    void check_directories();
    void check_wanted();
    bool watched(std::string_view path) const;
    void touch(std::string_view path);
    void touch_wanted_in(std::string_view directory);
    void touch_list();
    void touch_list_for(std::string_view path, bool directory);
    void defer(pending& one) const;
    void flush(bool all);

    const tree& tree_;
    watch_sink sink_;
    watch_limits limits_;
    unique_fd stop_;
    std::atomic<bool> settled_{false};
    std::atomic<std::uint64_t> reads_{0};

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
    std::int64_t gather_until_ms_ = 0;
    bool short_of_watches_ = false;
    // Where watches ran out: a round looks at one directory after the other.
    std::map<std::string, std::int64_t> unwatched_;         // directories and their times
    std::map<std::string, std::int64_t> found_;             // those of the round under way
    std::unordered_map<std::string, std::int64_t> wanted_;  // files and their times, -1 for none
    bool stale_ = true;    // there may be other directories than those
    bool finding_ = true;  // the round finds them anew
    std::string walked_;   // the round is behind this path
    std::int64_t wanted_at_ns_ = 0;
    std::int64_t found_since_ns_ = 0;
    std::int64_t round_began_ns_ = 0;
    std::int64_t round_began_ms_ = 0;
    std::int64_t look_next_ms_ = 0;

    std::thread thread_;
};

}  // namespace pillion::files
