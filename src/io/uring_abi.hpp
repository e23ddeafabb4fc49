// uring_abi: the kernel's io_uring numbers and layouts that we use, in our own names.
//
// The kernel ABI never changes, the constants a given liburing header knows do. What the running
// kernel really supports is found out by trying (uring_probe, uring_backend), never by #ifdef.
// The numbers are compared with the installed header in uring_probe.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pillion::io::uring_abi {

// An address as it stands in entries.
inline std::uint64_t to_number(const void* p) noexcept {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(p));
}

// io_uring_setup flags.
inline constexpr std::uint32_t setup_cqsize = 1U << 3;
inline constexpr std::uint32_t setup_clamp = 1U << 4;
inline constexpr std::uint32_t setup_submit_all = 1U << 7;
inline constexpr std::uint32_t setup_coop_taskrun = 1U << 8;
inline constexpr std::uint32_t setup_taskrun_flag = 1U << 9;
inline constexpr std::uint32_t setup_single_issuer = 1U << 12;
inline constexpr std::uint32_t setup_defer_taskrun = 1U << 13;

// Features reported by io_uring_setup.
inline constexpr std::uint32_t feature_nodrop = 1U << 1;
inline constexpr std::uint32_t feature_submit_stable = 1U << 2;
inline constexpr std::uint32_t feature_fast_poll = 1U << 5;
inline constexpr std::uint32_t feature_ext_arg = 1U << 8;
inline constexpr std::uint32_t feature_cqe_skip = 1U << 11;
inline constexpr std::uint32_t feature_min_timeout = 1U << 15;  // Linux 6.12

// io_uring_enter flags.
inline constexpr std::uint32_t enter_getevents = 1U << 0;
inline constexpr std::uint32_t enter_ext_arg = 1U << 3;
inline constexpr std::uint32_t enter_registered_ring = 1U << 4;

// Operations.
inline constexpr std::uint8_t op_poll_add = 6;
inline constexpr std::uint8_t op_sendmsg = 9;
inline constexpr std::uint8_t op_accept = 13;
inline constexpr std::uint8_t op_async_cancel = 14;
inline constexpr std::uint8_t op_connect = 16;
inline constexpr std::uint8_t op_close = 19;
inline constexpr std::uint8_t op_read = 22;
inline constexpr std::uint8_t op_write = 23;
inline constexpr std::uint8_t op_send = 26;
inline constexpr std::uint8_t op_recv = 27;

// Submission entry flags.
inline constexpr std::uint8_t sqe_fixed_file = 1U << 0;
inline constexpr std::uint8_t sqe_buffer_select = 1U << 5;
inline constexpr std::uint8_t sqe_cqe_skip_success = 1U << 6;

// Per-operation flags.
inline constexpr std::uint16_t accept_multishot = 1U << 0;  // in ioprio
inline constexpr std::uint16_t recv_poll_first = 1U << 0;   // in ioprio
inline constexpr std::uint16_t recv_multishot = 1U << 1;    // in ioprio
inline constexpr std::uint32_t poll_add_multi = 1U << 0;    // in len

// Completion flags.
inline constexpr std::uint32_t cqe_buffer = 1U << 0;
inline constexpr std::uint32_t cqe_more = 1U << 1;
inline constexpr std::uint32_t cqe_socket_nonempty = 1U << 2;
inline constexpr std::uint32_t cqe_buffer_more = 1U << 4;
inline constexpr unsigned cqe_buffer_shift = 16;

// struct io_uring_getevents_arg (enter with EXT_ARG).
struct getevents_arg {
    std::uint64_t sigmask = 0;
    std::uint32_t sigmask_bytes = 0;
    std::uint32_t min_wait_us = 0;
    std::uint64_t timeout = 0;
};
static_assert(sizeof(getevents_arg) == 24);

// struct __kernel_timespec.
struct kernel_timespec {
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
};

// struct io_uring_buf: one entry of a provided-buffer ring. The ring's tail lies over `reserved`
// of entry 0.
struct ring_buffer {
    std::uint64_t address;
    std::uint32_t bytes;
    std::uint16_t id;
    std::uint16_t reserved;
};
static_assert(sizeof(ring_buffer) == 16 && offsetof(ring_buffer, reserved) == 14);

// struct io_uring_buf_reg; headers before 2.8 have no name for the flags.
struct buffer_registration {
    std::uint64_t address;
    std::uint32_t entries;
    std::uint16_t group;
    std::uint16_t flags;
    std::uint64_t reserved[3];
};
static_assert(sizeof(buffer_registration) == 40);
inline constexpr std::uint16_t buffers_until_full = 1U << 1;

}  // namespace pillion::io::uring_abi
