#include "sidecar/large_text.hpp"

#include <malloc.h>

namespace pillion::sidecar {

void give_back(std::string& text) noexcept {
    const std::size_t bytes = text.capacity();
    if (bytes > kept_text_bytes) {
        std::string().swap(text);
        freed(bytes);
    }
}

void freed(std::size_t bytes) noexcept {
    if (bytes > kept_text_bytes) {
        ::malloc_trim(0);
    }
}

}  // namespace pillion::sidecar
