#include "io/uring_backend.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <liburing.h>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/limits.hpp"
#include "io/buffer_ring.hpp"
#include "io/receive_order.hpp"
#include "io/turn_company.hpp"
#include "io/unix_receives.hpp"
#include "io/uring_abi.hpp"
#include "io/uring_files.hpp"
#include "io/uring_probe.hpp"
#include "io/uring_send.hpp"
#include "io/uring_unread.hpp"

namespace pillion::io {

namespace {

namespace abi = uring_abi;
using abi::to_number;

// Completions that are nobody's op carry a small number instead of an address.
constexpr std::uint64_t tag_ignore = 0;
constexpr std::uint64_t tag_wake = 1;
constexpr std::uint64_t tag_last = 1;

// op::flags; receive_order and turn_company have the others.
constexpr std::uint8_t flag_cancelled = 1;  // cancel() was called: a re-arm must not undo it
constexpr std::uint8_t flag_polling = 2;    // waiting for readiness before trying again
constexpr std::uint8_t flag_unix = 4;       // a receive from a unix socket: see unix_receives

buffer_ring::use use_of_buffers(const uring_restrictions& without) noexcept {
    const bool shared =
        !without.no_shared_buffers && !without.no_defer_taskrun && completes_in_order();
    return shared ? buffer_ring::use::until_full : buffer_ring::use::one_receive;
}

class uring_backend final : public backend {
 public:
    uring_backend(const backend_options& options, const uring_restrictions& without)
        : multishot_recv_(!without.no_multishot),
          multishot_accept_(!without.no_multishot),
          buffers_(options.recv_buffers, options.recv_buffer_bytes, use_of_buffers(without)) {}
    ~uring_backend() override;

    // Returns false with the reason in `why`.
    bool open(const backend_options& options, const uring_restrictions& without, std::string& why);
    // … because this kernel has no receives that share buffers.
    bool sharing_unknown() const noexcept { return sharing_unknown_; }

    const char* name() const noexcept override { return "uring"; }
    std::int64_t now_ns() const noexcept override { return base::monotonic_now_ns(); }
    std::int64_t unix_ms() const noexcept override { return base::unix_now_ms(); }

    void accept(op& target, int listen_fd) noexcept override;
    void receive(op& target, int fd) noexcept override;
    void await_hangup(op& target, int fd) noexcept override;
    void send(transfer_op& target, int fd, const iovec* parts, std::size_t n) noexcept override {
        transfer(target, op_kind::send, fd, parts, n);
    }
    void read(transfer_op& target, int fd, char* to, std::size_t bytes) noexcept override {
        transfer(target, op_kind::read, fd, to, bytes);
    }
    void write(transfer_op& target, int fd, const char* from, std::size_t bytes) noexcept override {
        transfer(target, op_kind::write, fd, from, bytes);
    }
    void connect(transfer_op& target, int fd, const void* to, std::size_t bytes) noexcept override {
        PILLION_ASSERT(!files_.has(fd));
        transfer(target, op_kind::connect, fd, to, bytes);
    }
    void cancel(op& target) noexcept override;
    void shutdown(int fd, int how) noexcept override;
    std::size_t unread_bytes(int fd) noexcept override;
    void close(int fd) noexcept override;
    void turn(std::int64_t wait_ns, std::vector<completion>& out) noexcept override;
    void give_back(std::uint32_t buffer_id) noexcept override;
    void wake() noexcept override;
    std::size_t in_flight() const noexcept override { return in_flight_; }
    std::size_t buffers_lent() const noexcept override { return lent_; }
    // The kernel receives again only while it believes that bytes wait; an error behind the last
    // byte is then seen by nobody (its poll has fired already). Observed on 6.18.
    bool receive_may_miss_reset() const noexcept override { return true; }

 private:
    void begin(op& target, op_kind kind, int fd) noexcept;
    io_uring_sqe& next_sqe(std::uint8_t opcode, int fd, std::uint64_t tag) noexcept;
    void transfer(transfer_op& target, op_kind kind, int fd, const void* memory,
                  std::size_t size) noexcept;
    void prepare(op& target, bool first) noexcept;
    void prepare_poll(op& target) noexcept;
    bool takes_multishot(const op& target) noexcept;
    void hung_up(int fd) noexcept;
    void arm_wake() noexcept;
    int enter(unsigned min_complete, std::int64_t wait_ns, bool events,
              turn_company::wait together = {}) noexcept;
    void reap(std::vector<completion>& out) noexcept;
    void complete(const io_uring_cqe& cqe, std::vector<completion>& out) noexcept;
    bool continues(op& target, std::int32_t res, completion& what) noexcept;
    void finish(op& target, completion what, std::vector<completion>& out) noexcept;
    void submit_again(std::vector<op*>& which, std::vector<completion>& out) noexcept;

    ::io_uring ring_{};
    bool ring_open_ = false;
    bool ring_registered_ = false;
    bool multishot_recv_;
    bool multishot_accept_;
    bool sharing_unknown_ = false;
    bool waits_for_company_ = false;
    int wake_fd_ = -1;
    buffer_ring buffers_;
    // One per submission slot: a msghdr must live until its submission (SUBMIT_STABLE), not longer.
    std::vector<msghdr> headers_;
    uring_files files_;
    unix_receives unix_;
    receive_order order_;
    bool closing_ = false;
    std::size_t in_flight_ = 0;
    std::size_t lent_ = 0;
    turn_company company_;
};

bool uring_backend::open(const backend_options& options, const uring_restrictions& without,
                         std::string& why) {
    uring_setup setup;
    setup.submission_entries = options.submission_entries;
    setup.completion_entries = options.completion_entries;
    setup.defer_taskrun = !without.no_defer_taskrun;
    if (const int failed = create_ring(ring_, setup); failed < 0) {
        why = explain_failure("io_uring_setup", -failed);
        return false;
    }
    ring_open_ = true;
    const char* missing = "";
    waits_for_company_ =
        options.waits_for_company && (ring_.features & abi::feature_min_timeout) != 0;
    if (!has_required_features(ring_, missing)) {
        why = std::string("io_uring lacks ") + missing;
        return false;
    }
    // One fget less per enter, when the kernel can.
    ring_registered_ = io_uring_register_ring_fd(&ring_) == 1;
    // Tools are child processes: they must not inherit our rings.
    static_cast<void>(io_uring_ring_dontfork(&ring_));
    // The indirection array stays the identity for ever; newer liburing does this itself.
    for (unsigned i = 0; i < ring_.sq.ring_entries; ++i) {
        ring_.sq.array[i] = i;
    }
    headers_.resize(ring_.sq.ring_entries);
    if (const int failed = register_buffers(ring_, setup, buffers_); failed != 0) {
        sharing_unknown_ = failed == -EINVAL && buffers_.how() == buffer_ring::use::until_full;
        why = explain_failure("io_uring buffer ring", -failed);
        return false;
    }
    if (!without.no_registered_files) {
        files_.open(ring_);
    }
    wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd_ < 0) {
        why = explain_failure("eventfd", errno);
        return false;
    }
    arm_wake();
    return true;
}

uring_backend::~uring_backend() {
    if (ring_open_) {
        // The kernel must not write into memory of ops or buffers that are about to go.
        closing_ = true;
        if (in_flight_ > 0) {
            io_uring_sqe& sqe = next_sqe(abi::op_async_cancel, -1, tag_ignore);
            constexpr std::uint32_t all_of_any = (1U << 0) | (1U << 2);
            sqe.cancel_flags = all_of_any;
        }
        std::vector<completion> rest;
        constexpr int turns_max = 100;
        constexpr std::int64_t slice_ns = 10'000'000;
        for (int i = 0; i == 0 || (i < turns_max && in_flight_ > 0); ++i) {
            turn(i == 0 ? 0 : slice_ns, rest);
            for (const completion& c : rest) {
                c.target->in_flight = c.more;
            }
            rest.clear();
        }
        io_uring_queue_exit(&ring_);
    }
    if (wake_fd_ >= 0) {
        ::close(wake_fd_);
    }
}

void uring_backend::begin(op& target, op_kind kind, int fd) noexcept {
    PILLION_ASSERT(!target.in_flight);
    target.in_flight = true;
    target.kind = static_cast<std::uint8_t>(kind);
    target.fd = fd;
    target.flags &= receive_order::flags_kept | turn_company::flags_epoch;
    ++in_flight_;
}

io_uring_sqe& uring_backend::next_sqe(std::uint8_t opcode, int fd, std::uint64_t tag) noexcept {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    for (int i = 0; sqe == nullptr; ++i) {
        // The submission queue is full. Without GETEVENTS nothing completes meanwhile, except
        // when the kernel refuses to take more before completions were fetched.
        constexpr int attempts_max = 1000;
        PILLION_ASSERT(i < attempts_max);
        enter(0, 0, i > 0);
        sqe = io_uring_get_sqe(&ring_);
    }
    std::memset(static_cast<void*>(sqe), 0, sizeof *sqe);
    sqe->opcode = opcode;
    sqe->fd = fd;
    sqe->user_data = tag;
    return *sqe;
}

void uring_backend::arm_wake() noexcept {
    // Every write to the eventfd makes one completion; the counter never needs to be read.
    io_uring_sqe& sqe = next_sqe(abi::op_poll_add, wake_fd_, tag_wake);
    io_uring_prep_poll_add(&sqe, wake_fd_, POLLIN);
    sqe.len = abi::poll_add_multi;
    sqe.user_data = tag_wake;
}

void uring_backend::prepare(op& target, bool first) noexcept {
    const std::uint64_t tag = to_number(&target);
    switch (static_cast<op_kind>(target.kind)) {
        case op_kind::accept: {
            io_uring_sqe& sqe = next_sqe(abi::op_accept, target.fd, tag);
            sqe.accept_flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
            sqe.ioprio = multishot_accept_ ? abi::accept_multishot : std::uint16_t{0};
            return;
        }
        case op_kind::receive: {
            io_uring_sqe& sqe = next_sqe(abi::op_recv, target.fd, tag);
            sqe.flags = abi::sqe_buffer_select;
            // A fresh connection is usually silent yet: do not try before it is readable.
            const std::uint16_t how = first ? abi::recv_poll_first : std::uint16_t{0};
            sqe.ioprio = takes_multishot(target)
                             ? static_cast<std::uint16_t>(how | abi::recv_multishot)
                             : how;
            return;
        }
        case op_kind::hangup: {
            io_uring_sqe& sqe = next_sqe(abi::op_poll_add, target.fd, tag);
            io_uring_prep_poll_add(&sqe, target.fd, POLLRDHUP);
            sqe.user_data = tag;
            return;
        }
        case op_kind::send: {
            io_uring_sqe& sqe = next_sqe(abi::op_send, target.fd, tag);
            msghdr& header = headers_[static_cast<std::size_t>(&sqe - ring_.sq.sqes)];
            sqe.flags = files_.has(target.fd) ? abi::sqe_fixed_file : std::uint8_t{0};
            prepare_send(sqe, static_cast<transfer_op&>(target), header);
            return;
        }
        case op_kind::read:
        case op_kind::write: {
            const bool reads = static_cast<op_kind>(target.kind) == op_kind::read;
            io_uring_sqe& sqe = next_sqe(reads ? abi::op_read : abi::op_write, target.fd, tag);
            const auto& what = static_cast<transfer_op&>(target);
            sqe.off = ~std::uint64_t{0};  // at the file's own position
            sqe.addr = what.memory;
            sqe.len = static_cast<std::uint32_t>(what.size);
            return;
        }
        case op_kind::connect: {
            io_uring_sqe& sqe = next_sqe(abi::op_connect, target.fd, tag);
            const auto& what = static_cast<transfer_op&>(target);
            sqe.addr = what.memory;
            sqe.off = what.size;
            return;
        }
    }
}

void uring_backend::accept(op& target, int listen_fd) noexcept {
    begin(target, op_kind::accept, listen_fd);
    prepare(target, true);
}

void uring_backend::receive(op& target, int fd) noexcept {
    begin(target, op_kind::receive, fd);
    int domain = 0;
    socklen_t bytes = sizeof domain;
    ++system_calls_;
    if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_UNIX) {
        target.flags |= flag_unix;
        unix_.began(target, fd);
    }
    system_calls_ += files_.add(ring_, fd) ? 1 : 0;
    prepare(target, true);
}

// One that goes on while there are bytes and buffers may leave none to the others.
bool uring_backend::takes_multishot(const op& target) noexcept {
    if (order_.is_greedy(target)) {
        return false;
    }
    if ((target.flags & flag_unix) == 0) {
        return multishot_recv_;
    }
    const unix_receives::entry& s = *unix_.at(target.fd);
    return multishot_recv_ && s.watched && !s.ending;
}

void uring_backend::await_hangup(op& target, int fd) noexcept {
    begin(target, op_kind::hangup, fd);
    if (auto* const s = unix_.at(fd)) {
        s->watched = true;
    }
    prepare(target, true);
}

// The peer has hung up, or nobody waits for that any more.
void uring_backend::hung_up(int fd) noexcept {
    unix_receives::entry* const s = unix_.at(fd);
    if (s == nullptr) {
        return;
    }
    s->watched = false;
    s->ending = true;
    if (s->receive != nullptr && (s->receive->flags & flag_cancelled) == 0) {
        // It comes back with -ECANCELED and goes on in single shots.
        io_uring_sqe& sqe = next_sqe(abi::op_async_cancel, -1, tag_ignore);
        sqe.addr = to_number(s->receive);
        sqe.flags = abi::sqe_cqe_skip_success;
    }
}

void uring_backend::transfer(transfer_op& target, op_kind kind, int fd, const void* memory,
                             std::size_t size) noexcept {
    begin(target, kind, fd);
    target.memory = to_number(memory);
    target.size = size;
    prepare(target, true);
}

void uring_backend::cancel(op& target) noexcept {
    if (!target.in_flight || (target.flags & flag_cancelled) != 0) {
        return;
    }
    target.flags |= flag_cancelled;
    // Its own result says nothing we need: the target's completion comes in any case.
    io_uring_sqe& sqe = next_sqe(abi::op_async_cancel, -1, tag_ignore);
    sqe.addr = to_number(&target);
    sqe.flags = abi::sqe_cqe_skip_success;
}

void uring_backend::shutdown(int fd, int how) noexcept {
    ++system_calls_;
    ::shutdown(fd, how);
}

std::size_t uring_backend::unread_bytes(int fd) noexcept {
    ++system_calls_;
    return unread_in(ring_, fd, static_cast<std::uint8_t>(op_kind::receive), tag_last);
}

void uring_backend::close(int fd) noexcept {
    unix_.closed(fd);
    if (files_.forget(fd)) {
        io_uring_sqe& sqe = next_sqe(abi::op_close, 0, tag_ignore);
        sqe.file_index = static_cast<std::uint32_t>(fd) + 1;
        sqe.flags = abi::sqe_cqe_skip_success;
    }
    io_uring_sqe& sqe = next_sqe(abi::op_close, fd, tag_ignore);
    sqe.flags = abi::sqe_cqe_skip_success;
}

// `together`: wait for so many receives beside what is submitted, but only so long for them.
int uring_backend::enter(unsigned min_complete, std::int64_t wait_ns, bool events,
                         turn_company::wait together) noexcept {
    // Publish what was prepared; everything the kernel has not taken yet is submitted (again).
    std::atomic_ref<unsigned>(*ring_.sq.ktail).store(ring_.sq.sqe_tail, std::memory_order_release);
    const unsigned taken =
        std::atomic_ref<unsigned>(*ring_.sq.khead).load(std::memory_order_acquire);
    std::uint32_t flags = events ? abi::enter_getevents : 0;
    if (ring_registered_) {
        flags |= abi::enter_registered_ring;
    }
    abi::kernel_timespec timeout{wait_ns / 1'000'000'000, wait_ns % 1'000'000'000};
    abi::getevents_arg extended;
    extended.timeout = wait_ns >= 0 ? to_number(&timeout) : 0;
    const unsigned unsubmitted = ring_.sq.sqe_tail - taken;
    if (together.receives > 0) {
        // Most of what is submitted is sends, which complete at once.
        min_complete = unsubmitted + together.receives;
        extended.min_wait_us = together.us;
    }
    const bool timed = min_complete > 0 && (wait_ns >= 0 || together.receives > 0);
    if (timed) {
        flags |= abi::enter_ext_arg;
    }
    ++system_calls_;
    return io_uring_enter2(static_cast<unsigned>(ring_.enter_ring_fd), unsubmitted, min_complete,
                           flags, timed ? reinterpret_cast<sigset_t*>(&extended) : nullptr,
                           timed ? sizeof extended : 0);
}

void uring_backend::turn(std::int64_t wait_ns, std::vector<completion>& out) noexcept {
    buffers_.publish();
    submit_again(order_.starved, out);
    submit_again(order_.fed, out);
    // -EINTR, -ETIME, and -EBUSY/-EAGAIN (too many completions unfetched) all mean: look at what
    // is there and come again. Unsubmitted entries stay queued.
    const bool waits = wait_ns != 0 && out.empty();
    const bool together = waits && waits_for_company_;
    static_cast<void>(enter(waits ? 1 : 0, wait_ns, true,
                            together ? company_.next(wait_ns) : turn_company::wait{}));
    const std::size_t lent_before = lent_;
    reap(out);
    company_.turned(lent_ - lent_before, waits);
}

void uring_backend::reap(std::vector<completion>& out) noexcept {
    unsigned head = *ring_.cq.khead;
    const unsigned tail =
        std::atomic_ref<unsigned>(*ring_.cq.ktail).load(std::memory_order_acquire);
    for (; head != tail; ++head) {
        complete(ring_.cq.cqes[head & ring_.cq.ring_mask], out);
    }
    std::atomic_ref<unsigned>(*ring_.cq.khead).store(head, std::memory_order_release);
    order_.sort(out);
}

void uring_backend::complete(const io_uring_cqe& cqe, std::vector<completion>& out) noexcept {
    if (cqe.user_data <= tag_last) {
        if (cqe.user_data == tag_wake && (cqe.flags & abi::cqe_more) == 0) {
            arm_wake();
        }
        return;
    }
    op& target = *reinterpret_cast<op*>(static_cast<std::uintptr_t>(cqe.user_data));
    completion what;
    what.target = &target;
    what.res = cqe.res;
    what.more = (cqe.flags & abi::cqe_more) != 0;
    buffers_.look_at(cqe.res);
    if ((cqe.flags & abi::cqe_buffer) != 0) {
        what.buffer_id = cqe.flags >> abi::cqe_buffer_shift;
        const auto received = static_cast<std::size_t>(std::max(cqe.res, 0));
        const bool same_again = (cqe.flags & abi::cqe_buffer_more) != 0;
        what.data = buffers_.took(what.buffer_id, received, same_again);
        if (received > 0) {
            ++lent_;
            company_.heard(target);
        }
        receive_order::received(target, (cqe.flags & abi::cqe_socket_nonempty) == 0);
    } else if (static_cast<op_kind>(target.kind) == op_kind::accept && cqe.res >= 0) {
        PILLION_ASSERT(!files_.has(cqe.res));  // or answers would go to whom the number was before
    }
    if (what.more) {
        out.push_back(what);
        return;
    }
    if (continues(target, cqe.res, what)) {
        return;
    }
    finish(target, what, out);
}

// Whether the op goes on under the hood: nothing is to be reported now. A completion that is to be
// reported while the op stays armed gets `more`.
bool uring_backend::continues(op& target, std::int32_t res, completion& what) noexcept {
    const bool cancelled = (target.flags & flag_cancelled) != 0;
    switch (static_cast<op_kind>(target.kind)) {
        case op_kind::accept:
        case op_kind::receive: {
            const bool accepts = static_cast<op_kind>(target.kind) == op_kind::accept;
            bool& multishot = accepts ? multishot_accept_ : multishot_recv_;
            if (res == -EINVAL && multishot && !cancelled) {
                // This kernel is older than the multishot form: single shots from now on.
                multishot = false;
                prepare(target, true);
                return true;
            }
            if (res == -ENOBUFS && !accepts) {
                order_.starved.push_back(&target);
                return true;
            }
            const unix_receives::entry* const s = accepts ? nullptr : unix_.at(target.fd);
            if (res == -ECANCELED && !cancelled && s != nullptr && s->ending) {
                prepare(target, false);
                return true;
            }
            // Single shots, and multishots that the kernel ended for its own reasons.
            if (accepts ? res >= 0 : res > 0) {
                what.more = true;
            }
            return false;
        }
        case op_kind::hangup:
            if (res != -ECANCELED) {
                hung_up(target.fd);
            }
            return false;
        case op_kind::read:
        case op_kind::write:
            if ((target.flags & flag_polling) != 0 && !cancelled && res >= 0) {
                target.flags = static_cast<std::uint8_t>(target.flags & ~flag_polling);
                prepare(target, false);
                return true;
            }
            // A descriptor that somebody made non-blocking is not polled by the kernel for us.
            if (res == -EAGAIN && !cancelled) {
                prepare_poll(target);
                return true;
            }
            return false;
        default:
            return false;
    }
}

void uring_backend::prepare_poll(op& target) noexcept {
    target.flags |= flag_polling;
    const bool reads = static_cast<op_kind>(target.kind) == op_kind::read;
    io_uring_sqe& sqe = next_sqe(abi::op_poll_add, target.fd, to_number(&target));
    io_uring_prep_poll_add(&sqe, target.fd, reads ? POLLIN : POLLOUT);
    sqe.user_data = to_number(&target);
}

void uring_backend::finish(op& target, completion what, std::vector<completion>& out) noexcept {
    out.push_back(what);
    if (what.more) {
        order_.fed.push_back(&target);
        return;
    }
    unix_.ended(target);
    --in_flight_;
}

// Those cancelled meanwhile end: the kernel does not know of them.
void uring_backend::submit_again(std::vector<op*>& which, std::vector<completion>& out) noexcept {
    for (op* const one : which) {
        if (!closing_ && (one->flags & flag_cancelled) == 0) {
            prepare(*one, false);
            continue;
        }
        finish(*one, {.target = one, .res = -ECANCELED}, out);
    }
    which.clear();
}

void uring_backend::give_back(std::uint32_t buffer_id) noexcept {
    --lent_;
    buffers_.give(buffer_id);
}

void uring_backend::wake() noexcept {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(wake_fd_, &one, sizeof one));
}

}  // namespace

result<std::unique_ptr<backend>> make_uring_backend(const backend_options& options,
                                                    const uring_restrictions& without,
                                                    std::string& why) {
    auto made = std::make_unique<uring_backend>(options, without);
    if (made->open(options, without, why)) {
        return std::unique_ptr<backend>(std::move(made));
    }
    if (made->sharing_unknown()) {
        uring_restrictions less = without;
        less.no_shared_buffers = true;
        return make_uring_backend(options, less, why);
    }
    return error{errc::unsupported, "io_uring is not available"};
}

}  // namespace pillion::io
