#include "files/beneath.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <memory>

#include "files/path.hpp"

namespace pillion::files {

namespace {

// A rename anywhere in the system can make the kernel give up a resolution with EAGAIN.
constexpr int resolve_attempts_max = 64;

struct close_directory {
    void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

bool by_name(const raw_name& a, const raw_name& b) noexcept { return a.name < b.name; }

bool wanted(const dirent& entry, std::string_view name, std::string_view after, bool hidden) {
    switch (entry.d_type) {
        case DT_REG:
        case DT_DIR:
        case DT_LNK:
        case DT_UNKNOWN:
            break;
        default:
            return false;
    }
    return name > after && (hidden || !name.starts_with('.')) && valid_name(name);
}

// Keeps the `count` smallest names: a heap with the largest on top.
void keep_smallest(std::vector<raw_name>& heap, raw_name name, std::size_t count, bool& more) {
    if (heap.size() == count) {
        more = true;
        if (!by_name(name, heap.front())) {
            return;
        }
        std::pop_heap(heap.begin(), heap.end(), by_name);
        heap.pop_back();
    }
    heap.push_back(std::move(name));
    std::push_heap(heap.begin(), heap.end(), by_name);
}

}  // namespace

unique_fd::~unique_fd() {
    if (fd_ >= 0) {
        ::close(fd_);
    }
}

int open_beneath(int root_fd, std::string_view path, int flags, links how) {
    const std::string text(path.empty() ? std::string_view(".") : path);
    open_how request{};
    request.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
    request.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    if (how == links::refuse) {
        request.resolve |= RESOLVE_NO_SYMLINKS;
    }
    for (int attempt = 0;; ++attempt) {
        const long fd = ::syscall(SYS_openat2, root_fd, text.c_str(), &request, sizeof request);
        if (fd >= 0) {
            return static_cast<int>(fd);
        }
        if (errno != EINTR && (errno != EAGAIN || attempt == resolve_attempts_max)) {
            return -errno;
        }
    }
}

error access_error(int os_errno) noexcept {
    switch (os_errno) {
        case ENOENT:
        case ENOTDIR:
        case ENAMETOOLONG:
            return {errc::not_found, "no such file or directory", os_errno};
        case EXDEV:
            return {errc::denied, "the path leads out of the served directory", os_errno};
        case ELOOP:
            return {errc::denied, "the path has too many symbolic links", os_errno};
        case EACCES:
        case EPERM:
            return {errc::denied, "no permission to read it", os_errno};
        case EAGAIN:
        case EMFILE:
        case ENFILE:
        case ENOMEM:
            return {errc::unavailable, "the system is short of resources", os_errno};
        default:
            return {errc::io, "the file system reported an error", os_errno};
    }
}

result<name_batch> read_names(unique_fd fd, std::string_view after, std::size_t count,
                              bool hidden) {
    const std::unique_ptr<DIR, close_directory> directory(::fdopendir(fd.get()));
    if (!directory) {
        return access_error(errno);
    }
    fd.release();
    name_batch batch;
    for (;;) {
        errno = 0;
        const dirent* const entry = ::readdir(directory.get());
        if (entry == nullptr) {
            break;
        }
        ++batch.scanned;
        const std::string_view name = entry->d_name;
        if (wanted(*entry, name, after, hidden)) {
            raw_name found{std::string(name), entry->d_type};
            keep_smallest(batch.names, std::move(found), count, batch.more);
        }
    }
    if (errno != 0) {
        return access_error(errno);
    }
    std::sort_heap(batch.names.begin(), batch.names.end(), by_name);
    return batch;
}

}  // namespace pillion::files
