// find_object: where the unwinding tables of the code at an address are, for libgcc's unwinder in
// portable programs (meson option `portable`). Its static half asks glibc by _dl_find_object(),
// which came with 2.35, and would keep the programs from starting with 2.34; this one answers in
// its place by what every glibc has. Exceptions cost some microseconds more.
//
// Thread: any; no state, no memory. Not in other builds.
#include <dlfcn.h>
#include <link.h>
#include <cstddef>
#include <cstdint>

extern "C" [[gnu::visibility("hidden")]] int _dl_find_object(void* at,
                                                             dl_find_object* found) noexcept;

namespace {

struct search {
    std::uintptr_t at;
    dl_find_object* found;
};

// 1 ends the search: the object holds the address.
int look_into(dl_phdr_info* object, std::size_t, void* of) {
    auto& wanted = *static_cast<search*>(of);
    const ElfW(Phdr)* tables = nullptr;
    std::uintptr_t begin = UINTPTR_MAX;
    std::uintptr_t end = 0;
    bool holds = false;
    for (std::size_t i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = object->dlpi_phdr[i];
        const std::uintptr_t from = object->dlpi_addr + part.p_vaddr;
        if (part.p_type == PT_GNU_EH_FRAME) {
            tables = &part;
        } else if (part.p_type == PT_LOAD) {
            begin = from < begin ? from : begin;
            end = from + part.p_memsz > end ? from + part.p_memsz : end;
            holds = holds || (wanted.at >= from && wanted.at < from + part.p_memsz);
        }
    }
    if (!holds) {
        return 0;
    }
    *wanted.found = {};
    wanted.found->dlfo_map_start = reinterpret_cast<void*>(begin);
    wanted.found->dlfo_map_end = reinterpret_cast<void*>(end);
    if (tables != nullptr) {
        wanted.found->dlfo_eh_frame = reinterpret_cast<void*>(object->dlpi_addr + tables->p_vaddr);
    }
    return tables != nullptr ? 1 : -1;
}

}  // namespace

// glibc's contract: 0 when it was found.
int _dl_find_object(void* at, dl_find_object* found) noexcept {
    search wanted{reinterpret_cast<std::uintptr_t>(at), found};
    return ::dl_iterate_phdr(&look_into, &wanted) == 1 ? 0 : -1;
}
