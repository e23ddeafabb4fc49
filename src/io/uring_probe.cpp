#include "io/uring_probe.hpp"

#include <sys/utsname.h>
#include <time.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <liburing.h>

#include "io/buffer_ring.hpp"
#include "io/uring_abi.hpp"

namespace pillion::io {

namespace abi = uring_abi;

// Our numbers against the installed header's, where it has them as macros.
static_assert(abi::setup_cqsize == IORING_SETUP_CQSIZE);
static_assert(abi::setup_clamp == IORING_SETUP_CLAMP);
static_assert(abi::setup_submit_all == IORING_SETUP_SUBMIT_ALL);
static_assert(abi::setup_coop_taskrun == IORING_SETUP_COOP_TASKRUN);
static_assert(abi::setup_taskrun_flag == IORING_SETUP_TASKRUN_FLAG);
static_assert(abi::setup_single_issuer == IORING_SETUP_SINGLE_ISSUER);
static_assert(abi::setup_defer_taskrun == IORING_SETUP_DEFER_TASKRUN);
static_assert(abi::feature_ext_arg == IORING_FEAT_EXT_ARG);
static_assert(abi::feature_cqe_skip == IORING_FEAT_CQE_SKIP);
static_assert(abi::enter_registered_ring == IORING_ENTER_REGISTERED_RING);
static_assert(abi::recv_multishot == IORING_RECV_MULTISHOT);
static_assert(abi::sqe_fixed_file == 1U << IOSQE_FIXED_FILE_BIT);
static_assert(abi::accept_multishot == IORING_ACCEPT_MULTISHOT);
static_assert(abi::cqe_more == IORING_CQE_F_MORE);
static_assert(abi::cqe_socket_nonempty == IORING_CQE_F_SOCK_NONEMPTY);
static_assert(abi::op_recv == IORING_OP_RECV && abi::op_send == IORING_OP_SEND);
static_assert(abi::op_close == IORING_OP_CLOSE && abi::op_connect == IORING_OP_CONNECT);
static_assert(abi::op_read == IORING_OP_READ && abi::op_write == IORING_OP_WRITE);
static_assert(abi::op_accept == IORING_OP_ACCEPT && abi::op_sendmsg == IORING_OP_SENDMSG);
static_assert(abi::op_async_cancel == IORING_OP_ASYNC_CANCEL);
static_assert(abi::op_poll_add == IORING_OP_POLL_ADD);

static_assert(sizeof(abi::buffer_registration) == sizeof(io_uring_buf_reg));

namespace {

constexpr unsigned submission_floor = 64;
constexpr unsigned completion_floor = 256;

int try_flags(::io_uring& ring, const uring_setup& setup, std::uint32_t extra) noexcept {
    io_uring_params params{};
    params.flags = abi::setup_cqsize | abi::setup_clamp | abi::setup_submit_all | extra;
    params.cq_entries = setup.completion_entries;
    return io_uring_queue_init_params(setup.submission_entries, &ring, &params);
}

// One walk down the ladder of flags; -EINVAL means the kernel does not know one of them.
int try_ladder(::io_uring& ring, uring_setup& setup) noexcept {
    constexpr std::uint32_t steps[] = {
        abi::setup_single_issuer | abi::setup_defer_taskrun,
        abi::setup_coop_taskrun | abi::setup_taskrun_flag,
        0,
    };
    int failed = -EINVAL;
    for (const std::uint32_t flags : steps) {
        if ((flags & abi::setup_defer_taskrun) != 0 && !setup.defer_taskrun) {
            continue;
        }
        failed = try_flags(ring, setup, flags);
        if (failed == 0) {
            setup.flags = flags;
        }
        if (failed != -EINVAL) {
            break;
        }
    }
    return failed;
}

}  // namespace

int create_ring(::io_uring& ring, uring_setup& setup) noexcept {
    constexpr int retries = 5;
    constexpr timespec pause{0, 20'000'000};
    int failed = try_ladder(ring, setup);
    for (int i = 0; i < retries && failed == -ENOMEM; ++i) {
        ::nanosleep(&pause, nullptr);
        failed = try_ladder(ring, setup);
    }
    while (failed == -ENOMEM && (setup.submission_entries > submission_floor ||
                                 setup.completion_entries > completion_floor)) {
        setup.submission_entries = std::max(setup.submission_entries / 2, submission_floor);
        setup.completion_entries = std::max(setup.completion_entries / 2, completion_floor);
        failed = try_ladder(ring, setup);
    }
    return failed;
}

bool has_required_features(::io_uring& ring, const char*& missing) noexcept {
    struct named {
        std::uint32_t bit;
        const char* name;
    };
    constexpr named features[] = {
        {abi::feature_nodrop, "IORING_FEAT_NODROP"},
        {abi::feature_submit_stable, "IORING_FEAT_SUBMIT_STABLE"},
        {abi::feature_fast_poll, "IORING_FEAT_FAST_POLL"},
        {abi::feature_ext_arg, "IORING_FEAT_EXT_ARG"},
        {abi::feature_cqe_skip, "IORING_FEAT_CQE_SKIP"},
    };
    for (const named& f : features) {
        if ((ring.features & f.bit) == 0) {
            missing = f.name;
            return false;
        }
    }
    constexpr int operations[] = {
        abi::op_poll_add, abi::op_sendmsg, abi::op_accept, abi::op_async_cancel, abi::op_connect,
        abi::op_close,    abi::op_read,    abi::op_write,  abi::op_send,         abi::op_recv};
    io_uring_probe* probe = io_uring_get_probe_ring(&ring);
    bool all = probe != nullptr;
    for (const int operation : operations) {
        all = all && io_uring_opcode_supported(probe, operation) != 0;
    }
    if (probe != nullptr) {
        io_uring_free_probe(probe);
    }
    missing = all ? "" : "a required operation";
    return all;
}

int register_buffers(::io_uring& ring, const uring_setup& setup,
                     const buffer_ring& buffers) noexcept {
    if (!buffers.ok()) {
        return -ENOMEM;
    }
    abi::buffer_registration wanted{};
    wanted.address = buffers.address();
    wanted.entries = buffers.entries();
    if (buffers.how() == buffer_ring::use::until_full) {
        if ((setup.flags & abi::setup_defer_taskrun) == 0) {
            return -EINVAL;  // see buffer_ring
        }
        wanted.flags = abi::buffers_until_full;
    }
    return io_uring_register_buf_ring(&ring, reinterpret_cast<io_uring_buf_reg*>(&wanted), 0);
}

bool completes_in_order() noexcept {
    utsname system{};
    int major = 0;
    int minor = 0;
    if (::uname(&system) != 0 || std::sscanf(system.release, "%d.%d", &major, &minor) != 2) {
        return false;
    }
    return major > 6 || (major == 6 && minor >= 15);
}

std::string explain_failure(const char* step, int os_errno) {
    const char* name = ::strerrorname_np(os_errno);
    std::string line = std::string(step) + ": " + (name != nullptr ? name : "unknown error");
    switch (os_errno) {
        case EPERM:
            line += "; likely the container's seccomp profile or kernel.io_uring_disabled";
            break;
        case ENOSYS:
            line += "; this kernel (or sandbox) has no io_uring";
            break;
        case EACCES:
            line += "; a security module denies it";
            break;
        case ENOMEM:
            line += "; the limit of locked memory is used up (ulimit -l)";
            break;
        case EINVAL:
            line += "; this kernel is too old";
            break;
        default:
            break;
    }
    return line;
}

}  // namespace pillion::io
