#include "link.hpp"

#include <cstring>

#include "base/number.hpp"

namespace pillion::load {

void write_message(io::stream& to, base::chunk_pool& pool, std::string_view begin,
                   std::size_t id_at, std::uint64_t id, std::string_view end) noexcept {
    const bool copied = end.size() <= link::copied_end_max;
    const std::size_t bytes = begin.size() + (copied ? end.size() : 0);
    base::chunk* const out = pool.take(bytes);
    char* const text = out->data();
    std::memcpy(text, begin.data(), begin.size());
    if (id_at > 0) {
        base::format(text + id_at, id);
    }
    if (copied) {
        end.copy(text + begin.size(), end.size());
    }
    out->end = static_cast<std::uint32_t>(bytes);
    to.write(out);
    if (!copied) {
        to.write_static(end);
    }
}

}  // namespace pillion::load
