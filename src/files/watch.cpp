#include "files/watch.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <limits>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "files/path.hpp"

namespace pillion::files {

namespace {

constexpr std::uint32_t wanted_events = IN_CREATE | IN_DELETE | IN_MODIFY | IN_CLOSE_WRITE |
                                        IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR | IN_EXCL_UNLINK;
constexpr std::int64_t never_ns = std::numeric_limits<std::int64_t>::max();
// Times of files come from a clock that moves in steps.
constexpr std::int64_t clock_slack_ns = 100 * base::ns_per_ms;
constexpr std::size_t pending_max = 4096;
constexpr std::size_t event_bytes = 64 * 1024;
constexpr int reads_at_once = 16;
constexpr std::size_t entries_at_once = 256;
// Looking around in place of watches rests this many times as long as it works.
constexpr std::int64_t rest_factor = 10;
constexpr std::int64_t round_rest_factor = 3;

std::int64_t now_ms() noexcept { return base::monotonic_now_ns() / base::ns_per_ms; }

std::int64_t wall_ns() noexcept { return base::unix_now_ms() * base::ns_per_ms; }

std::string_view parent_of(std::string_view path) noexcept {
    const std::size_t slash = path.rfind('/');
    return path.substr(0, slash == path.npos ? 0 : slash);
}

}  // namespace

watch::watch(const tree& where, watch_sink sink, watch_limits limits)
    : tree_(where),
      sink_(std::move(sink)),
      limits_(limits),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!stop_) {
        log::warn("files.watch.failed", {log::kv("errno", errno)});
        return;
    }
    // Signals are for the threads that wait for them.
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before);
    thread_ = std::thread([this] { run(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

watch::~watch() {
    if (thread_.joinable()) {
        ::eventfd_write(stop_.get(), 1);
        thread_.join();
    }
}

void watch::run() {
    restart(never_ns);
    for (;;) {
        std::array<pollfd, 2> ready{{{stop_.get(), POLLIN, 0}, {inotify_.get(), POLLIN, 0}}};
        const std::int64_t before_ns = wall_ns();
        // Who writes a file writes again: its events, which the kernel makes one, are left together
        // for a while. A log in a watched directory was a thirtieth of a busy server's time.
        const std::int64_t gathers_ms = gather_until_ms_ - now_ms();
        const bool listens = gathers_ms <= 0 || !tasks_.empty();
        const int count =
            ::poll(ready.data(), listens ? 2 : 1, listens ? wait_ms() : wait_ms(gathers_ms));
        if (ready[0].revents != 0 || (count < 0 && errno != EINTR)) {
            return;
        }
        if (count > 0 && ready[1].revents != 0) {
            read_events();
            gather_until_ms_ = now_ms() + limits_.gather_ms;
        } else if (listens) {
            drained_ns_ = before_ns;
        }
        if (overflowed_) {
            overflowed_ = false;
            touch_list();
            restart(drained_ns_ - clock_slack_ns);
        }
        flush(false);
        if (!tasks_.empty()) {
            look_through();
        } else if (short_of_watches_ && now_ms() >= look_next_ms_) {
            look_around();
        }
        if (tasks_.empty() && !settled_.load(std::memory_order_relaxed)) {
            settled_.store(true, std::memory_order_release);
            log::debug("files.watch.settled", {log::kv("directories", watches_.size())});
        }
    }
}

// Milliseconds until there is something to do, but at most so many; -1 when only an event can bring
// that.
int watch::wait_ms(std::int64_t at_most) const {
    if (!tasks_.empty()) {
        return 0;
    }
    std::int64_t due = never_ns;
    if (list_touched_) {
        due = listed_.due_ms;
    }
    for (const auto& [path, one] : updated_) {
        due = std::min(due, one.due_ms);
    }
    if (short_of_watches_) {
        due = std::min(due, look_next_ms_);
    }
    const std::int64_t left =
        due == never_ns ? never_ns : std::max<std::int64_t>(due - now_ms(), 0);
    return std::min(left, at_most) == never_ns ? -1 : static_cast<int>(std::min(left, at_most));
}

// Begins with no watches; looks through all, and tells what changed since then.
void watch::restart(std::int64_t since_ns) {
    inotify_ = unique_fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    directories_.clear();
    watches_.clear();
    tasks_.clear();
    if (!inotify_) {
        run_out("no inotify instance");
    }
    tasks_.push_back({std::string(), since_ns});
}

void watch::read_events() {
    reads_.fetch_add(1, std::memory_order_relaxed);
    alignas(inotify_event) std::array<char, event_bytes> bytes;
    for (int i = 0; i < reads_at_once && !overflowed_; ++i) {
        const std::int64_t before_ns = wall_ns();
        const ssize_t got = ::read(inotify_.get(), bytes.data(), bytes.size());
        if (got <= 0) {
            drained_ns_ = before_ns;
            return;
        }
        std::size_t at = 0;
        while (at + sizeof(inotify_event) <= static_cast<std::size_t>(got)) {
            inotify_event event{};
            std::memcpy(&event, bytes.data() + at, sizeof event);
            const char* const name = bytes.data() + at + sizeof event;
            on_event(event, {name, event.len == 0 ? 0 : ::strnlen(name, event.len)});
            at += sizeof event + event.len;
        }
    }
}

void watch::on_event(const inotify_event& event, std::string_view name) {
    if ((event.mask & IN_Q_OVERFLOW) != 0) {
        overflowed_ = true;
        return;
    }
    const auto found = directories_.find(event.wd);
    if (found == directories_.end()) {
        return;
    }
    if ((event.mask & IN_IGNORED) != 0) {
        watches_.erase(found->second);
        directories_.erase(found);
        return;
    }
    if (!valid_name(name)) {
        return;
    }
    if (name == ignore_file_name) {
        // Other directories may be there now.
        tasks_.push_back({found->second, never_ns});
        touch_list();
    }
    if (name.starts_with('.') && !tree_.hidden()) {
        return;
    }
    const std::string path = join(found->second, name);
    if ((event.mask & IN_ISDIR) != 0) {
        on_directory(event, path);
    } else {
        on_file(event, path);
    }
}

void watch::on_directory(const inotify_event& event, const std::string& path) {
    if ((event.mask & (IN_DELETE | IN_MOVED_FROM)) != 0) {
        forget(path);
        touch_list_for(path, true);
        if ((event.mask & IN_MOVED_FROM) != 0) {
            touch_wanted_in(path);
        }
    } else if ((event.mask & (IN_CREATE | IN_MOVED_TO)) != 0 && !tree_.ignored(path, true)) {
        touch_list();
        tasks_.push_back({path, 0});
    }
}

void watch::on_file(const inotify_event& event, const std::string& path) {
    touch(path);
    if ((event.mask & (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)) != 0) {
        touch_list_for(path, false);
    }
}

// Watches a directory. False when it cannot be, or no more may be.
bool watch::add(const std::string& path) {
    const result<unique_fd> directory = tree_.open_directory(path);
    if (!directory || !inotify_) {
        return false;
    }
    if (watches_.size() >= limits_.directories_max && !watches_.contains(path)) {
        run_out("too many directories");
        return false;
    }
    // By the descriptor, so that no link leads elsewhere.
    const std::string name = "/proc/self/fd/" + std::to_string(directory->get());
    const int id = ::inotify_add_watch(inotify_.get(), name.c_str(), wanted_events);
    if (id < 0) {
        if (errno == ENOSPC || errno == ENOMEM) {
            run_out("fs.inotify.max_user_watches is reached");
        }
        return false;
    }
    // The same directory may have had another name.
    if (const auto known = directories_.find(id); known != directories_.end()) {
        watches_.erase(known->second);
    }
    directories_[id] = path;
    watches_[path] = id;
    return true;
}

// Drops the watches of `path` and of all below.
void watch::forget(std::string_view path) {
    for (auto at = directories_.begin(); at != directories_.end();) {
        if (is_within(at->second, path)) {
            ::inotify_rm_watch(inotify_.get(), at->first);
            watches_.erase(at->second);
            at = directories_.erase(at);
        } else {
            ++at;
        }
    }
    std::erase_if(tasks_, [&](const task_item& one) { return is_within(one.path, path); });
}

void watch::run_out(std::string_view reason) {
    if (!short_of_watches_) {
        short_of_watches_ = true;
        wanted_at_ns_ = wall_ns();
        found_since_ns_ = wanted_at_ns_ - clock_slack_ns;
        look_next_ms_ = now_ms() + limits_.poll_ms;
        log::warn("files.watch.limit",
                  {log::kv("reason", reason), log::kv("directories", watches_.size()),
                   log::kv("instead", "the rest is looked at from time to time")});
    }
}

// One step of the first task: watches its directory, then reads a page of it.
void watch::look_through() {
    task_item one = std::move(tasks_.front());
    tasks_.pop_front();
    if (!one.begun && !add(one.path)) {
        // Perhaps for want of watches: it has to be found among the directories without one.
        stale_ = true;
        return;
    }
    one.begun = true;
    const result<page> part = tree_.list(one.path, one.after, entries_at_once);
    if (!part) {
        return;
    }
    const auto depth = std::count(one.path.begin(), one.path.end(), '/');
    for (const entry& found : part->entries) {
        if (!found.is_real_directory()) {
            if (found.changed_ns >= one.since_ns) {
                touch(found.path);
            }
        } else if (static_cast<std::size_t>(depth) < walk_depth_max) {
            tasks_.push_back({found.path, one.since_ns});
        }
    }
    if (part->more) {
        one.after = part->next;
        tasks_.push_front(std::move(one));
    }
}

bool watch::watched(std::string_view path) const {
    return watches_.contains(std::string(parent_of(path)));
}

// One step of a round over what has no watch.
void watch::look_around() {
    const std::int64_t began_ms = now_ms();
    if (walked_.empty()) {
        round_began_ms_ = began_ms;
        finding_ = stale_;
        stale_ = false;
        check_wanted();
    }
    if (finding_) {
        find_directories();
    } else {
        check_directories();
    }
    const std::int64_t ended_ms = now_ms();
    if (!walked_.empty()) {
        look_next_ms_ = ended_ms + 1 + (ended_ms - began_ms) * rest_factor;
        return;
    }
    // The larger the tree, the longer the time between two rounds.
    const std::int64_t took_ms = ended_ms - round_began_ms_;
    look_next_ms_ = ended_ms + std::max(limits_.poll_ms, took_ms * round_rest_factor);
}

// Puts down the directories without a watch, a page at a time.
void watch::find_directories() {
    if (walked_.empty()) {
        found_.clear();
        round_began_ns_ = wall_ns();
        const result<entry> root = tree_.stat({});
        if (root) {
            found_directory({}, root->changed_ns);
        }
    }
    const result<page> part = tree_.walk({}, walked_, entries_at_once, true, entries_at_once);
    for (std::size_t i = 0; part && i < part->entries.size(); ++i) {
        if (part->entries[i].is_real_directory()) {
            found_directory(part->entries[i].path, part->entries[i].changed_ns);
        }
    }
    walked_ = part && part->more ? part->next : std::string();
    if (walked_.empty()) {
        unwatched_ = std::move(found_);
        found_since_ns_ = round_began_ns_ - clock_slack_ns;
    }
}

void watch::found_directory(const std::string& path, std::int64_t changed_ns) {
    if (watches_.contains(path)) {
        return;
    }
    const auto before = unwatched_.find(path);
    if (before != unwatched_.end() ? before->second != changed_ns : changed_ns >= found_since_ns_) {
        touch_list();
    }
    found_[path] = changed_ns;
}

void watch::check_directories() {
    auto at = unwatched_.upper_bound(walked_);
    if (walked_.empty()) {
        at = unwatched_.begin();
    }
    std::size_t left = entries_at_once;
    for (; at != unwatched_.end() && left > 0; ++at, --left) {
        const result<entry> now = tree_.stat(at->first);
        const std::int64_t changed_ns = now ? now->changed_ns : -1;
        if (changed_ns != at->second) {
            at->second = changed_ns;
            stale_ = true;
            touch_list();
        }
        walked_ = at->first;
    }
    if (at == unwatched_.end()) {
        walked_.clear();
    }
}

void watch::check_wanted() {
    const std::int64_t now_ns = wall_ns();
    std::unordered_map<std::string, std::int64_t> now;
    for (std::string& path : sink_.wanted ? sink_.wanted() : std::vector<std::string>()) {
        if (watched(path)) {
            continue;
        }
        const result<entry> what = tree_.stat(path);
        const std::int64_t changed_ns = what ? what->changed_ns : -1;
        const auto before = wanted_.find(path);
        // Of one that is wanted only now, what happened since the last look is told.
        const bool told = before != wanted_.end() ? before->second != changed_ns
                                                  : changed_ns >= wanted_at_ns_ - clock_slack_ns;
        if (told) {
            touch(path);
        }
        now.emplace(std::move(path), changed_ns);
    }
    wanted_ = std::move(now);
    wanted_at_ns_ = now_ns;
}

void watch::defer(pending& one) const {
    const std::int64_t now = now_ms();
    one.due_ms = std::min(now + limits_.settle_ms, one.first_ms + limits_.settle_max_ms);
}

void watch::touch(std::string_view path) {
    const auto [at, fresh] = updated_.try_emplace(std::string(path), pending{now_ms(), 0});
    defer(at->second);
    if (updated_.size() >= pending_max) {
        flush(true);
    }
}

// Files that go along with their directory have no events; those that are removed had theirs.
void watch::touch_wanted_in(std::string_view directory) {
    for (const std::string& path : sink_.wanted ? sink_.wanted() : std::vector<std::string>()) {
        if (is_within(path, directory)) {
            touch(path);
        }
    }
}

void watch::touch_list() {
    if (!list_touched_) {
        list_touched_ = true;
        listed_.first_ms = now_ms();
    }
    defer(listed_);
}

void watch::touch_list_for(std::string_view path, bool directory) {
    if (!tree_.ignored(path, directory)) {
        touch_list();
    }
}

// Tells what has been quiet long enough, or `all`.
void watch::flush(bool all) {
    const std::int64_t now = now_ms();
    for (auto at = updated_.begin(); at != updated_.end();) {
        if (all || at->second.due_ms <= now) {
            sink_.updated(at->first);
            at = updated_.erase(at);
        } else {
            ++at;
        }
    }
    if (list_touched_ && (all || listed_.due_ms <= now)) {
        list_touched_ = false;
        sink_.listed();
    }
}

}  // namespace pillion::files
