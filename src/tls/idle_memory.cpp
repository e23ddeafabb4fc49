#include "tls/idle_memory.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdint>

namespace pillion::tls {

namespace {

// In front of the incoming buffer stands the number of the next record.
constexpr std::size_t kept_bytes = 64;

std::size_t drop_pages(unsigned char* buffer) noexcept {
    static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<std::uintptr_t>(buffer);
    const std::uintptr_t from = (begin + kept_bytes + page - 1) / page * page;
    const std::uintptr_t to = (begin + ::malloc_usable_size(buffer)) / page * page;
    if (to <= from) {
        return 0;
    }
    // Pages that hold nothing but this buffer.
    unsigned char* const first = buffer + (from - begin);
    return ::madvise(first, to - from, MADV_DONTNEED) == 0 ? to - from : 0;
}

}  // namespace

std::size_t drop_idle_memory(mbedtls_ssl_context& of) noexcept {
    const compat::record_buffers buffers = compat::buffers_of(of);
    if (buffers.in == nullptr || buffers.out == nullptr || buffers.used) {
        return 0;
    }
    return drop_pages(buffers.in) + drop_pages(buffers.out);
}

}  // namespace pillion::tls
