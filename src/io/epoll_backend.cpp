#include "io/epoll_backend.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/limits.hpp"
#include "io/receive_buffers.hpp"

namespace pillion::io {

namespace {

// What is known about one descriptor. `readable`/`writable` are hints: false only after the system
// said that it would block, so that the next edge is sure to come.
struct fd_record {
    op* in = nullptr;   // accept, receive, hangup or read
    op* out = nullptr;  // send, write or connect
    std::uint32_t generation = 0;
    // Bits: there is a record for each descriptor, whatever it is.
    bool registered : 1 = false;
    bool awaits_room : 1 = false;  // registered for that, too
    bool plain : 1 = false;        // a file that epoll refuses: always ready
    bool no_nowait : 1 = false;    // RWF_NOWAIT is not for this descriptor
    bool shared : 1 = false;       // its file may outlive the descriptor: leave epoll before close
    bool readable : 1 = false;
    bool writable : 1 = false;
    bool ending : 1 = false;  // end of stream or error seen: a short read is not the last one
    bool queued : 1 = false;  // in the list of those to try
};

constexpr std::uint32_t wake_generation = UINT32_MAX;

// The library's own are cancellation points: with more than one thread each begins and ends a
// section for that, which costs as much as reading a header of a request.
ssize_t receive_now(int fd, void* to, std::size_t bytes) noexcept {
    return ::syscall(SYS_recvfrom, fd, to, bytes, MSG_DONTWAIT, nullptr, nullptr);
}
ssize_t send_now(int fd, const void* from, std::size_t bytes) noexcept {
    return ::syscall(SYS_sendto, fd, from, bytes, MSG_DONTWAIT | MSG_NOSIGNAL, nullptr, 0);
}

class epoll_backend final : public backend {
 public:
    explicit epoll_backend(const backend_options& options)
        : buffers_(options.recv_buffers, options.recv_buffer_bytes) {}
    ~epoll_backend() override;

    // 0 or -errno.
    int open() noexcept;

    const char* name() const noexcept override { return "epoll"; }
    std::int64_t now_ns() const noexcept override { return base::monotonic_now_ns(); }
    std::int64_t unix_ms() const noexcept override { return base::unix_now_ms(); }

    void accept(op& target, int listen_fd) noexcept override;
    void receive(op& target, int fd) noexcept override;
    void await_hangup(op& target, int fd) noexcept override;
    void send(transfer_op& target, int fd, const iovec* parts, std::size_t count) noexcept override;
    void read(transfer_op& target, int fd, char* to, std::size_t bytes) noexcept override;
    void write(transfer_op& target, int fd, const char* from, std::size_t bytes) noexcept override;
    void connect(transfer_op& target, int fd, const void* address,
                 std::size_t bytes) noexcept override;
    void cancel(op& target) noexcept override;
    void shutdown(int fd, int how) noexcept override;
    std::size_t unread_bytes(int fd) noexcept override;
    void close(int fd) noexcept override;
    void turn(std::int64_t wait_ns, std::vector<completion>& out) noexcept override;
    void give_back(std::uint32_t /*buffer_id*/) noexcept override { buffers_.give(); }
    void wake() noexcept override;
    std::size_t in_flight() const noexcept override { return in_flight_; }
    std::size_t buffers_lent() const noexcept override { return buffers_.lent(); }

 private:
    fd_record& record_of(int fd);
    fd_record& begin(op& target, op_kind kind, int fd) noexcept;
    bool watch(fd_record& r, int fd, op*& slot) noexcept;
    void forget(fd_record& r, int fd) noexcept;
    void try_later(fd_record& r, int fd) noexcept;
    void finish(op*& slot, std::int32_t res) noexcept;

    void wait(std::int64_t wait_ns) noexcept;
    void note_event(std::uint64_t data, std::uint32_t events) noexcept;
    void try_ready(std::size_t count) noexcept;
    void try_in(fd_record& r, int fd) noexcept;
    void try_out(fd_record& r, int fd) noexcept;
    void try_accept(fd_record& r, int fd) noexcept;
    void try_receive(fd_record& r, int fd) noexcept;
    void try_hangup(fd_record& r, int fd) noexcept;
    void try_send(fd_record& r, int fd) noexcept;
    void try_connect(fd_record& r, int fd) noexcept;
    void try_transfer(fd_record& r, int fd, bool reads) noexcept;
    std::int64_t transfer(fd_record& r, transfer_op& target, bool reads) noexcept;

    static constexpr std::size_t events_max = 256;
    // Of more than a crowd, a portion at a time: those are answered while they are in the caches,
    // and nobody waits until all have been read. Fewer go together, and so wake whoever reads the
    // answers less often.
    static constexpr std::size_t crowd = 64;
    static constexpr std::size_t portion = 32;
    static constexpr int accepts_per_turn = 64;
    // What one blocking call on a file may move, so that a slow disk costs the loop little.
    static constexpr std::size_t file_piece_bytes = 64 * 1024;
    // POLLOUT of a pipe promises this much; other inherited descriptors (ttys) promise less.
    static constexpr std::size_t pipe_piece_bytes = PIPE_BUF;
    static constexpr std::size_t tty_piece_bytes = 256;

    int epoll_fd_ = -1;
    int wake_fd_ = -1;
    receive_buffers buffers_;
    std::vector<fd_record> records_;
    std::vector<int> ready_;
    std::size_t round_ = 0;  // of ready_, those to try before the system is asked again
    std::vector<completion> done_;
    std::size_t in_flight_ = 0;
};

int epoll_backend::open() noexcept {
    if (!buffers_.ok()) {
        return -ENOMEM;
    }
    epoll_fd_ = ::epoll_create1(EPOLL_CLOEXEC);
    wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (epoll_fd_ < 0 || wake_fd_ < 0) {
        return -errno;
    }
    // Edge-triggered: every write to the eventfd is an event, so it never needs to be read.
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.u64 = std::uint64_t{wake_generation} << 32;
    return ::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, wake_fd_, &event) == 0 ? 0 : -errno;
}

epoll_backend::~epoll_backend() {
    for (fd_record& r : records_) {
        if (r.in != nullptr) {
            r.in->in_flight = false;
        }
        if (r.out != nullptr) {
            r.out->in_flight = false;
        }
    }
    for (const completion& c : done_) {
        c.target->in_flight = false;
    }
    for (const int fd : {epoll_fd_, wake_fd_}) {
        if (fd >= 0) {
            ::close(fd);
        }
    }
}

fd_record& epoll_backend::record_of(int fd) {
    const auto index = static_cast<std::size_t>(fd);
    if (index >= records_.size()) {
        // The vector's memory doubles, but what is no descriptor yet stays untouched.
        records_.resize(index / events_max * events_max + events_max);
    }
    return records_[index];
}

fd_record& epoll_backend::begin(op& target, op_kind kind, int fd) noexcept {
    PILLION_ASSERT(!target.in_flight);
    target.in_flight = true;
    target.kind = static_cast<std::uint8_t>(kind);
    target.fd = fd;
    ++in_flight_;
    fd_record& r = record_of(fd);
    const bool outward =
        kind == op_kind::send || kind == op_kind::write || kind == op_kind::connect;
    op*& slot = outward ? r.out : r.in;
    PILLION_ASSERT(slot == nullptr);
    slot = &target;
    return r;
}

// Registers the descriptor, once; for room to write when that is waited for: a unix socket has news
// of it whenever its peer reads. False: the system refused, the op in `slot` has ended with that.
bool epoll_backend::watch(fd_record& r, int fd, op*& slot) noexcept {
    const bool outward = &slot == &r.out;
    if (r.plain || (r.registered && (r.awaits_room || !outward))) {
        return true;
    }
    epoll_event event{};
    event.events = EPOLLIN | EPOLLRDHUP | EPOLLET | (outward ? std::uint32_t{EPOLLOUT} : 0);
    r.generation = r.generation == wake_generation ? 0 : r.generation;
    event.data.u64 = (std::uint64_t{r.generation} << 32) | static_cast<std::uint32_t>(fd);
    ++system_calls_;
    if (::epoll_ctl(epoll_fd_, r.registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) == 0) {
        r.registered = true;
        r.awaits_room = outward;
        return true;
    }
    if (errno != EPERM) {
        finish(slot, -errno);
        return false;
    }
    // Regular files and the like cannot be waited for and never block for long.
    r.plain = true;
    return true;
}

// The end of an accept: whoever owns the listening socket closes it without telling us.
void epoll_backend::forget(fd_record& r, int fd) noexcept {
    if (r.registered) {
        ++system_calls_;
        ::epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
        r.registered = r.awaits_room = false;
    }
    ++r.generation;
}

void epoll_backend::try_later(fd_record& r, int fd) noexcept {
    if (!r.queued) {
        r.queued = true;
        ready_.push_back(fd);
    }
}

// Queues the final completion of the op in `slot` and empties the slot.
void epoll_backend::finish(op*& slot, std::int32_t res) noexcept {
    completion what;
    what.target = std::exchange(slot, nullptr);
    what.res = res;
    done_.push_back(what);
}

void epoll_backend::accept(op& target, int listen_fd) noexcept {
    fd_record& r = begin(target, op_kind::accept, listen_fd);
    r.shared = true;
    if (watch(r, listen_fd, r.in)) {
        r.readable = true;
        try_later(r, listen_fd);
    }
}

void epoll_backend::receive(op& target, int fd) noexcept {
    fd_record& r = begin(target, op_kind::receive, fd);
    // Registering reports at once what is there already, so a fresh socket is not tried blindly.
    if (watch(r, fd, r.in) && r.readable) {
        try_later(r, fd);
    }
}

void epoll_backend::await_hangup(op& target, int fd) noexcept {
    fd_record& r = begin(target, op_kind::hangup, fd);
    if (watch(r, fd, r.in) && r.ending) {
        r.readable = true;
        try_later(r, fd);
    }
}

void epoll_backend::try_hangup(fd_record& r, int fd) noexcept {
    if (!r.ending) {
        return;
    }
    pollfd asked{fd, POLLRDHUP, 0};
    ++system_calls_;
    if (::poll(&asked, 1, 0) > 0) {
        finish(r.in, asked.revents);
    }
}

void epoll_backend::send(transfer_op& target, int fd, const iovec* parts,
                         std::size_t count) noexcept {
    fd_record& r = begin(target, op_kind::send, fd);
    target.memory = reinterpret_cast<std::uintptr_t>(parts);
    target.size = count;
    try_send(r, fd);
}

void epoll_backend::read(transfer_op& target, int fd, char* to, std::size_t bytes) noexcept {
    fd_record& r = begin(target, op_kind::read, fd);
    target.memory = reinterpret_cast<std::uintptr_t>(to);
    target.size = bytes;
    r.shared = true;
    if (watch(r, fd, r.in)) {
        // The descriptor is shared with other processes, so old knowledge is worth nothing.
        r.readable = true;
        try_later(r, fd);
    }
}

void epoll_backend::write(transfer_op& target, int fd, const char* from,
                          std::size_t bytes) noexcept {
    fd_record& r = begin(target, op_kind::write, fd);
    target.memory = reinterpret_cast<std::uintptr_t>(from);
    target.size = bytes;
    r.shared = true;
    if (watch(r, fd, r.out)) {
        r.writable = true;
        try_later(r, fd);
    }
}

void epoll_backend::connect(transfer_op& target, int fd, const void* address,
                            std::size_t bytes) noexcept {
    fd_record& r = begin(target, op_kind::connect, fd);
    ++system_calls_;
    if (::connect(fd, static_cast<const sockaddr*>(address), static_cast<socklen_t>(bytes)) == 0) {
        finish(r.out, 0);
    } else if (errno != EINPROGRESS) {
        finish(r.out, -errno);
    } else {
        r.writable = false;
        static_cast<void>(watch(r, fd, r.out));
    }
}

void epoll_backend::cancel(op& target) noexcept {
    if (!target.in_flight) {
        return;
    }
    fd_record& r = record_of(target.fd);
    // Neither slot: its final completion is on its way, the cancellation came too late.
    if (r.in == &target) {
        if (static_cast<op_kind>(target.kind) == op_kind::accept) {
            forget(r, target.fd);
        }
        finish(r.in, -ECANCELED);
    } else if (r.out == &target) {
        finish(r.out, -ECANCELED);
    }
}

void epoll_backend::shutdown(int fd, int how) noexcept {
    ++system_calls_;
    ::shutdown(fd, how);
}

std::size_t epoll_backend::unread_bytes(int fd) noexcept {
    ++system_calls_;
    int bytes = 0;
    return ::ioctl(fd, FIONREAD, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
}

void epoll_backend::close(int fd) noexcept {
    fd_record& r = record_of(fd);
    PILLION_ASSERT(r.in == nullptr && r.out == nullptr);
    if (r.registered && r.shared) {
        ++system_calls_;
        ::epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
    }
    const bool queued = r.queued;
    const std::uint32_t generation = r.generation;
    r = fd_record{};
    r.generation = generation + 1;
    r.queued = queued;
    ++system_calls_;
    ::close(fd);
}

void epoll_backend::turn(std::int64_t wait_ns, std::vector<completion>& out) noexcept {
    if (round_ == 0) {
        wait(done_.empty() && ready_.empty() ? wait_ns : 0);
        round_ = ready_.size();
    }
    try_ready(round_ > crowd ? portion : round_);
    for (const completion& c : done_) {
        in_flight_ -= c.more ? 0 : 1;
        out.push_back(c);
    }
    done_.clear();
}

void epoll_backend::wait(std::int64_t wait_ns) noexcept {
    // Rounded up: waking a little late costs less than spinning through the last millisecond.
    constexpr std::int64_t ns_per_ms = 1'000'000;
    const int wait_ms = wait_ns < 0 ? -1
                                    : static_cast<int>(std::min<std::int64_t>(
                                          (wait_ns + ns_per_ms - 1) / ns_per_ms, INT_MAX));
    epoll_event events[events_max];
    ++system_calls_;
    const int count = ::epoll_wait(epoll_fd_, events, events_max, wait_ms);
    for (int i = 0; i < count; ++i) {
        note_event(events[i].data.u64, events[i].events);
    }
}

void epoll_backend::note_event(std::uint64_t data, std::uint32_t events) noexcept {
    const auto generation = static_cast<std::uint32_t>(data >> 32);
    if (generation == wake_generation) {
        return;
    }
    const int fd = static_cast<int>(data & UINT32_MAX);
    fd_record& r = record_of(fd);
    // An event of a descriptor that was closed and whose number is in use again.
    if (generation != r.generation || !r.registered) {
        return;
    }
    if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
        r.ending = true;
    }
    if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
        r.readable = true;
    }
    if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) {
        r.writable = true;
    }
    if ((r.in != nullptr && r.readable) || (r.out != nullptr && r.writable)) {
        try_later(r, fd);
    }
}

// The first of them, as far as there is room for what they receive. What is still ready after its
// share queues up again, behind those that have not had theirs.
void epoll_backend::try_ready(std::size_t count) noexcept {
    std::size_t at = 0;
    for (; at < count && buffers_.next().data != nullptr; ++at) {
        const int fd = ready_[at];
        fd_record& r = record_of(fd);
        r.queued = false;
        if (r.in != nullptr && r.readable) {
            try_in(r, fd);
        }
        if (r.out != nullptr && r.writable) {
            try_out(r, fd);
        }
    }
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(at));
    round_ -= at;
}

void epoll_backend::try_in(fd_record& r, int fd) noexcept {
    switch (static_cast<op_kind>(r.in->kind)) {
        case op_kind::accept:
            return try_accept(r, fd);
        case op_kind::receive:
            return try_receive(r, fd);
        case op_kind::hangup:
            return try_hangup(r, fd);
        default:
            return try_transfer(r, fd, true);
    }
}

void epoll_backend::try_out(fd_record& r, int fd) noexcept {
    switch (static_cast<op_kind>(r.out->kind)) {
        case op_kind::send:
            return try_send(r, fd);
        case op_kind::connect:
            return try_connect(r, fd);
        default:
            return try_transfer(r, fd, false);
    }
}

void epoll_backend::try_accept(fd_record& r, int fd) noexcept {
    for (int i = 0; i < accepts_per_turn; ++i) {
        ++system_calls_;
        const int got = ::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (got < 0 && errno == EAGAIN) {
            r.readable = false;
            return;
        }
        if (got < 0) {
            if (errno == EINTR) {
                continue;
            }
            const int why = errno;
            forget(r, fd);
            return finish(r.in, -why);
        }
        completion what;
        what.target = r.in;
        what.res = got;
        what.more = true;
        done_.push_back(what);
    }
    try_later(r, fd);
}

void epoll_backend::try_receive(fd_record& r, int fd) noexcept {
    const receive_buffers::room into = buffers_.next();
    ++system_calls_;
    const ssize_t got = receive_now(fd, into.data, into.bytes);
    if (got <= 0) {
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
            r.readable = errno == EINTR;
            return r.readable ? try_later(r, fd) : void();
        }
        return finish(r.in, got < 0 ? -errno : 0);
    }
    completion what;
    what.target = r.in;
    what.res = static_cast<std::int32_t>(got);
    what.more = true;
    what.data = into.data;
    buffers_.took(static_cast<std::size_t>(got));
    done_.push_back(what);
    // A short read took everything: the next bytes make a new edge, no need to ask again.
    if (static_cast<std::size_t>(got) < into.bytes && !r.ending) {
        r.readable = false;
    } else {
        try_later(r, fd);
    }
}

void epoll_backend::try_send(fd_record& r, int fd) noexcept {
    const auto& target = static_cast<transfer_op&>(*r.out);
    msghdr header{};
    header.msg_iov = reinterpret_cast<iovec*>(target.memory);
    header.msg_iovlen = static_cast<std::size_t>(target.size);
    ++system_calls_;
    const ssize_t sent = header.msg_iovlen == 1
                             ? send_now(fd, header.msg_iov->iov_base, header.msg_iov->iov_len)
                             : ::sendmsg(fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
        return finish(r.out, static_cast<std::int32_t>(sent));
    }
    if (errno == EINTR) {
        r.writable = true;
        return try_later(r, fd);
    }
    if (errno != EAGAIN) {
        return finish(r.out, -errno);
    }
    r.writable = false;
    static_cast<void>(watch(r, fd, r.out));
}

void epoll_backend::try_connect(fd_record& r, int fd) noexcept {
    int why = 0;
    socklen_t bytes = sizeof why;
    ++system_calls_;
    const int failed = ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &bytes);
    finish(r.out, failed != 0 ? -errno : -why);
}

void epoll_backend::try_transfer(fd_record& r, int fd, bool reads) noexcept {
    op*& slot = reads ? r.in : r.out;
    const std::int64_t moved = transfer(r, static_cast<transfer_op&>(*slot), reads);
    if (moved == -EINTR) {
        return try_later(r, fd);
    }
    if (moved == -EAGAIN) {
        r.readable = r.readable && !reads;
        r.writable = r.writable && reads;
        return;
    }
    finish(slot, static_cast<std::int32_t>(moved));
}

// One read or write that cannot block for long: bytes or -errno, -EAGAIN to wait for an edge.
std::int64_t epoll_backend::transfer(fd_record& r, transfer_op& target, bool reads) noexcept {
    iovec part{reinterpret_cast<void*>(target.memory), static_cast<std::size_t>(target.size)};
    if (!r.plain && !r.no_nowait) {
        ++system_calls_;
        const ssize_t moved = reads ? ::preadv2(target.fd, &part, 1, -1, RWF_NOWAIT)
                                    : ::pwritev2(target.fd, &part, 1, -1, RWF_NOWAIT);
        if (moved >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS)) {
            return moved >= 0 ? moved : -errno;
        }
        r.no_nowait = true;
    }
    if (r.plain) {
        part.iov_len = std::min(part.iov_len, file_piece_bytes);
    } else {
        // The descriptor blocks and must stay so: ask first, then move only what cannot block.
        pollfd asked{target.fd, static_cast<short>(reads ? POLLIN : POLLOUT), 0};
        ++system_calls_;
        if (::poll(&asked, 1, 0) <= 0) {
            return -EAGAIN;
        }
        if (!reads) {
            const bool tty = ::isatty(target.fd) != 0;
            part.iov_len = std::min(part.iov_len, tty ? tty_piece_bytes : pipe_piece_bytes);
        }
    }
    ++system_calls_;
    const ssize_t moved = reads ? ::readv(target.fd, &part, 1) : ::writev(target.fd, &part, 1);
    return moved >= 0 ? moved : -errno;
}

void epoll_backend::wake() noexcept {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(wake_fd_, &one, sizeof one));
}

}  // namespace

result<std::unique_ptr<backend>> make_epoll_backend(const backend_options& options) {
    auto made = std::make_unique<epoll_backend>(options);
    if (const int failed = made->open(); failed != 0) {
        return error{errc::unavailable, "cannot create an epoll instance", -failed};
    }
    return std::unique_ptr<backend>(std::move(made));
}

}  // namespace pillion::io
