#include "files/tree.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/clock.hpp"
#include "files/path.hpp"

namespace pillion::files {

namespace {

constexpr error invalid_path(errc::invalid, "not a relative path without \"..\" components");
constexpr error no_such_file(errc::not_found, "no such file or directory");
constexpr error not_a_directory(errc::invalid, "not a directory");

// Where the kernel says `fd` is.
result<std::string> path_of(int fd) {
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    std::array<char, path_bytes_max + 1> target;
    const ssize_t length = ::readlink(link.c_str(), target.data(), target.size());
    if (length < 0 || static_cast<std::size_t>(length) == target.size()) {
        return error(errc::denied, "the target of a symbolic link cannot be told", errno);
    }
    return std::string(target.data(), static_cast<std::size_t>(length));
}

bool same_file(const struct stat& a, const char* path) noexcept {
    struct stat b{};
    return path != nullptr && ::stat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Rules for directories only do not hold for links to them.
// Reads until `size` bytes are there or the file ends; negative errno on failure.
std::int64_t read_fully(int fd, char* to, std::size_t size, std::uint64_t offset) noexcept {
    std::size_t done = 0;
    while (done < size) {
        const ssize_t got = ::pread(fd, to + done, size - done, static_cast<off_t>(offset + done));
        if (got == 0) {
            break;
        }
        if (got > 0) {
            done += static_cast<std::size_t>(got);
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return static_cast<std::int64_t>(done);
}

}  // namespace

result<tree> tree::open(const std::string& path, options how) {
    unique_fd root(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!root) {
        return errno == ENOTDIR ? error(errc::invalid, "the root is not a directory", errno)
                                : access_error(errno);
    }
    const unique_fd probe(open_beneath(root.get(), {}, O_RDONLY | O_DIRECTORY, links::refuse));
    switch (-probe.get()) {
        case ENOSYS:
        case EINVAL:
        case E2BIG:
            return error(errc::unsupported,
                         "this kernel has no openat2 (Linux 5.6), without which files cannot be "
                         "served safely",
                         -probe.get());
        case EPERM:
            return error(errc::unsupported,
                         "a sandbox forbids openat2, without which files cannot be served safely",
                         EPERM);
        default:
            break;
    }
    if (!probe) {
        return access_error(-probe.get());
    }
    return tree(std::move(root), how);
}

result<void> tree::check_default_root() const {
    struct stat root{};
    if (::fstat(root_.get(), &root) != 0) {
        return access_error(errno);
    }
    if (same_file(root, "/")) {
        return error(errc::denied, "the whole file system is served only when --root names it");
    }
    if (same_file(root, std::getenv("HOME"))) {
        return error(errc::denied, "the home directory is served only when --root names it");
    }
    return ok();
}

// Opens `path` as O_PATH and tells whether symbolic links took part. Links are refused at first,
// so the common case costs one call.
result<unique_fd> tree::open_links(std::string_view path, bool& linked, bool& through_link) const {
    const int flags = O_PATH | O_NOFOLLOW;
    int fd = open_beneath(root_.get(), path, flags, links::refuse);
    if (fd == -ELOOP) {
        through_link = true;
        fd = open_beneath(root_.get(), path, flags, links::follow);
    }
    if (fd < 0) {
        return access_error(-fd);
    }
    unique_fd found(fd);
    struct stat info{};
    if (::fstat(fd, &info) != 0) {
        return access_error(errno);
    }
    if (S_ISLNK(info.st_mode)) {
        linked = true;
        through_link = true;
        fd = open_beneath(root_.get(), path, O_PATH, links::follow);
        if (fd < 0) {
            return access_error(-fd);
        }
        found = unique_fd(fd);
    }
    return found;
}

// A link must not show what its own name would hide. The kernel knows where the link led.
result<void> tree::check_visible(int fd) const {
    const result<std::string> root = path_of(root_.get());
    const result<std::string> target = path_of(fd);
    if (!root || !target) {
        return error(errc::denied, "the target of a symbolic link cannot be told");
    }
    std::string_view below = *target;
    if (*root != "/") {
        if (!is_within(below, *root)) {
            return access_error(EXDEV);
        }
        below.remove_prefix(root->size());
    }
    if (below.starts_with('/')) {
        below.remove_prefix(1);
    }
    return hidden_path(below) ? result<void>(no_such_file) : ok();
}

result<tree::place> tree::find(std::string_view path) const {
    if (!valid_path(path)) {
        return invalid_path;
    }
    if (!hidden_ && hidden_path(path)) {
        return no_such_file;
    }
    place found;
    bool through_link = false;
    result<unique_fd> fd = open_links(path, found.what.linked, through_link);
    if (!fd) {
        return fd.error();
    }
    if (through_link && !hidden_) {
        const result<void> visible = check_visible(fd->get());
        if (!visible) {
            return visible.error();
        }
    }
    struct stat info{};
    if (::fstat(fd->get(), &info) != 0) {
        return access_error(errno);
    }
    if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
        return error(errc::unsupported, "neither a regular file nor a directory");
    }
    found.fd = std::move(*fd);
    found.device = info.st_dev;
    found.inode = info.st_ino;
    found.what.path = path;
    found.what.kind = S_ISDIR(info.st_mode) ? entry_kind::directory : entry_kind::file;
    found.what.size = S_ISREG(info.st_mode) ? static_cast<std::uint64_t>(info.st_size) : 0;
    found.what.modified_s = info.st_mtim.tv_sec;
    found.what.changed_ns = info.st_ctim.tv_sec * base::ns_per_s + info.st_ctim.tv_nsec;
    return found;
}

result<entry> tree::stat(std::string_view path) const {
    result<place> found = find(path);
    if (!found) {
        return found.error();
    }
    return std::move(found->what);
}

// Goes down into `directory` in `chain`. A file of rules that is a link has no effect, as with git.
void tree::enter(ignore_chain& chain, std::string_view directory) const {
    std::string text;
    if (ignore_) {
        const std::string name = join(directory, ignore_file_name);
        const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
        const unique_fd file(open_beneath(root_.get(), name, flags, links::refuse));
        struct stat info{};
        if (file && ::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
            const auto size = static_cast<std::size_t>(info.st_size);
            text.resize(std::min(size, ignore_file_bytes_max));
            const std::int64_t got = read_fully(file.get(), text.data(), text.size(), 0);
            text.resize(static_cast<std::size_t>(std::max<std::int64_t>(got, 0)));
        }
    }
    chain.enter(directory, text);
}

// The rules that hold in `directory`: those of the root, of every directory on the way and its own.
ignore_chain tree::rules_of(std::string_view directory) const {
    ignore_chain chain;
    enter(chain, {});
    for (std::size_t end = 0; ignore_ && end < directory.size();) {
        end = std::min(directory.find('/', end + 1), directory.size());
        enter(chain, directory.substr(0, end));
    }
    return chain;
}

bool tree::ignored(std::string_view path, bool directory) const {
    ignore_chain chain;
    enter(chain, {});
    for (std::size_t end = 0; ignore_ && end < path.size();) {
        end = std::min(path.find('/', end + 1), path.size());
        const std::string_view part = path.substr(0, end);
        if (chain.leaves_out(part, directory || end < path.size())) {
            return true;
        }
        if (end < path.size()) {
            enter(chain, part);
        }
    }
    return false;
}

result<completed_paths> tree::complete(std::string_view typed, std::size_t entries_max,
                                       base::function_ref<bool(std::string_view)> takes,
                                       std::size_t names_max) const {
    completed_paths out;
    const std::size_t slash = typed.rfind('/');
    const std::string_view begun = slash == typed.npos ? typed : typed.substr(slash + 1);
    const std::string_view directory = typed.substr(0, slash == typed.npos ? 0 : slash);
    const std::string_view after = begun.empty() ? begun : typed;
    if (slash == 0 || !valid_path(directory) || !valid_path(after)) {
        return out;
    }
    const auto add = [&](const entry& one) {
        const bool step = one.kind == entry_kind::directory;
        if (!step && !takes(one.path)) {
            return;
        }
        out.more = out.paths.size() == entries_max;
        if (!out.more) {
            out.paths.push_back(step ? one.path + '/' : one.path);
        }
    };
    const result<entry> exact = begun.empty() ? no_such_file : stat(typed);
    if (exact && !rules_of(directory).leaves_out(exact->path, exact->is_real_directory())) {
        add(*exact);
    }
    // What begins with a name and is longer comes right behind it.
    std::string from(after);
    std::size_t looked_at = 0;
    for (bool goes_on = true; goes_on && !out.more;) {
        // Of most directories one small page is enough.
        const std::size_t most = looked_at == 0 ? entries_max + 1 : page_entries_max;
        const result<page> part = list(directory, from, std::min(most, names_max - looked_at));
        if (!part) {
            const errc kind = part.error().kind;
            return kind == errc::not_found || kind == errc::invalid ? result<completed_paths>(out)
                                                                    : part.error();
        }
        goes_on = part->more;
        for (std::size_t i = 0; i < part->entries.size() && !out.more; ++i) {
            if (!part->entries[i].path.starts_with(typed)) {
                return out;
            }
            add(part->entries[i]);
        }
        from = part->next;
        looked_at += part->entries.size();
        out.more = out.more || (goes_on && looked_at >= names_max);
    }
    return out;
}

result<unique_fd> tree::open_directory(std::string_view path) const {
    result<place> found = find(path);
    if (!found) {
        return found.error();
    }
    if (found->what.kind != entry_kind::directory) {
        return not_a_directory;
    }
    // From the descriptor itself: nobody can put another directory in its place.
    const int fd = ::openat(found->fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return access_error(errno);
    }
    return unique_fd(fd);
}

result<page> tree::list(std::string_view path, std::string_view after,
                        std::size_t entries_max) const {
    if (!valid_path(after) || (!after.empty() && join(path, name_of(after)) != after)) {
        return error(errc::invalid, "the place to go on from is not in this directory");
    }
    entries_max = std::clamp<std::size_t>(entries_max, 1, page_entries_max);
    page out;
    std::string from(name_of(after));
    const ignore_chain rules = rules_of(path);
    bool more = true;
    while (more) {
        result<unique_fd> fd = open_directory(path);
        if (!fd) {
            return fd.error();
        }
        result<name_batch> batch = read_names(std::move(*fd), from, entries_max + 1, hidden_);
        if (!batch) {
            return batch.error();
        }
        for (const raw_name& one : batch->names) {
            from = one.name;
            result<entry> what = stat(join(path, one.name));
            if (!what || rules.leaves_out(what->path, what->is_real_directory())) {
                continue;
            }
            if (out.entries.size() == entries_max) {
                out.more = true;
                out.next = out.entries.back().path;
                return out;
            }
            out.entries.push_back(std::move(*what));
        }
        more = batch->more;
    }
    return out;
}

result<slice> tree::read(std::string_view path, std::uint64_t offset, std::size_t bytes_max) const {
    // Opening a FIFO or a device has effects of its own, so the kind is looked up first and the
    // file that was opened must be the one that was looked up.
    result<place> found = find(path);
    if (!found) {
        return found.error();
    }
    if (found->what.kind != entry_kind::file) {
        return error(errc::unsupported, "a directory cannot be read");
    }
    const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
    const unique_fd file(open_beneath(root_.get(), path, flags, links::follow));
    if (!file) {
        return access_error(-file.get());
    }
    struct stat info{};
    if (::fstat(file.get(), &info) != 0) {
        return access_error(errno);
    }
    if (!S_ISREG(info.st_mode) || info.st_dev != found->device || info.st_ino != found->inode) {
        return error(errc::unavailable, "the file was replaced meanwhile, try again");
    }
    slice out;
    out.size_total = static_cast<std::uint64_t>(info.st_size);
    out.modified_s = info.st_mtim.tv_sec;
    if (offset >= out.size_total) {
        return out;
    }
    bytes_max = std::min(bytes_max, read_bytes_max);
    out.bytes.resize(std::min<std::uint64_t>(bytes_max, out.size_total - offset));
    const std::int64_t got = read_fully(file.get(), out.bytes.data(), out.bytes.size(), offset);
    if (got < 0) {
        return access_error(static_cast<int>(-got));
    }
    if (static_cast<std::size_t>(got) < out.bytes.size()) {
        // Cut off meanwhile, or of a file system that does not know sizes (sysfs).
        out.size_total = offset + static_cast<std::uint64_t>(got);
    }
    out.bytes.resize(static_cast<std::size_t>(got));
    return out;
}

}  // namespace pillion::files
