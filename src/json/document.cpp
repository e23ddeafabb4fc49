#include "json/document.hpp"

#include <string>
#include <utility>

#include "base/arena.hpp"
#include "base/chunk.hpp"

namespace pillion::json {

// The pool outlives the arena that draws from it.
struct document::storage {
    base::chunk_pool pool;
    base::arena memory{pool};
    std::string text;
};

document::document(std::unique_ptr<storage> owned) noexcept : owned_(std::move(owned)) {}
document::document(document&& other) noexcept
    : owned_(std::move(other.owned_)), root_(std::exchange(other.root_, view())) {}
document& document::operator=(document&& other) noexcept {
    owned_ = std::move(other.owned_);
    root_ = std::exchange(other.root_, view());
    return *this;
}
document::~document() = default;

result<document> document::parse(std::string_view text, std::size_t* error_offset,
                                 const parse_limits& bounds) {
    if (text.size() > UINT32_MAX) {
        return error(errc::too_large, "JSON text is too large");
    }
    auto owned = std::make_unique<storage>();
    owned->text.reserve(text.size() + limits::padding);
    owned->text.assign(text);
    owned->text.append(limits::padding, '\0');
    const parse_result parsed = json::parse(owned->text.data(), text.size(), owned->memory, bounds);
    if (!parsed.ok) {
        if (error_offset != nullptr) {
            *error_offset = parsed.error.offset;
        }
        return error(errc::invalid, parsed.error.text);
    }
    document made(std::move(owned));
    made.root_ = parsed.root;
    return made;
}

}  // namespace pillion::json
