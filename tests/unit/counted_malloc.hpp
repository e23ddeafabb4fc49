// Counts what a program of tests takes from the heap: below operator new, at malloc, which it
// replaces. For programs of their own, without sanitizers, and for one source file of each.
#pragma once

#include <cstddef>

namespace {
// This thread's.
thread_local std::size_t mallocs = 0;
}  // namespace

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* malloc(std::size_t bytes) {
    ++mallocs;
    return __libc_malloc(bytes);
}
}
