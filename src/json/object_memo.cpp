#include "json/object_memo.hpp"

#include <cstring>

#include "base/swar.hpp"
#include "base/wipe.hpp"

namespace pillion::json {

namespace {

constexpr std::size_t step_bytes = 32;
static_assert(object_memo::bytes_min >= step_bytes);

bool has_text(const node& n) noexcept { return n.type == kind::string || n.type == kind::number; }

// Bits in which a step differs.
std::uint64_t difference(const char* a, const char* b) noexcept {
    namespace swar = base::swar;
    std::uint64_t differs = 0;
    for (std::size_t at = 0; at < step_bytes; at += sizeof(std::uint64_t)) {
        differs |= swar::load<std::uint64_t>(a + at) ^ swar::load<std::uint64_t>(b + at);
    }
    return differs;
}

}  // namespace

object_memo::~object_memo() {
    for (entry& kept : entries_) {
        base::wipe(kept.text, kept.bytes);
    }
}

static_assert(sizeof(const char*) == sizeof(std::uint64_t));

node* object_memo::entry::put(const char* at, node* out) const noexcept {
    const auto place = reinterpret_cast<std::uintptr_t>(at);
    const std::size_t count = nodes;  // what is written might be it, for all the compiler knows
    for (std::size_t i = 0; i < count; ++i) {
        out[i] = made[i];
        out[i].skip += is_text[i] & place;
    }
    return out + count;
}

// Without a branch that depends on the bytes. The last step overlaps the one before.
bool object_memo::same(const entry& kept, const char* at) noexcept {
    const std::size_t last = kept.bytes - step_bytes;
    std::uint64_t differs = difference(kept.text + last, at + last);
    for (std::size_t done = 0; done < last; done += step_bytes) {
        differs |= difference(kept.text + done, at + done);
    }
    return differs == 0;
}

const object_memo::entry* object_memo::find(const char* at, const char* end) noexcept {
    const bool strange = strangers_ >= strangers_max;
    // Among strangers those that are kept take turns.
    const std::size_t first = strange ? strangers_ : recent_;
    for (std::size_t i = 0; i < (strange ? 1 : entries); ++i) {
        const std::size_t index = (first + i) % entries;
        const entry& kept = entries_[index];
        if (kept.bytes != 0 && end - at >= kept.bytes && at[kept.bytes - 1] == '}' &&
            same(kept, at)) {
            recent_ = index;
            strangers_ = 0;
            return &kept;
        }
    }
    return nullptr;
}

void object_memo::add(std::string_view text, const node* first, const node* last) noexcept {
    const auto nodes = static_cast<std::size_t>(last - first);
    if (text.size() < bytes_min || text.size() > bytes_max || nodes > nodes_max) {
        return;
    }
    if (++strangers_ > strangers_max && strangers_ % strangers_max != 0) {
        return;
    }
    // Whoever comes again and again is not driven out by those that never do.
    next_ = (next_ + 1) % entries;
    next_ = next_ == recent_ ? (next_ + 1) % entries : next_;
    entry& kept = entries_[next_];
    if (kept.bytes > text.size()) {
        base::wipe(kept.text + text.size(), kept.bytes - text.size());
    }
    kept.bytes = static_cast<std::uint16_t>(text.size());
    kept.nodes = static_cast<std::uint16_t>(nodes);
    kept.containers = 0;
    const auto place = reinterpret_cast<std::uintptr_t>(text.data());
    std::memcpy(kept.text, text.data(), text.size());
    for (std::size_t i = 0; i < nodes; ++i) {
        kept.made[i] = first[i];
        kept.is_text[i] = has_text(first[i]) ? ~std::uint64_t{0} : 0;
        kept.made[i].skip -= kept.is_text[i] & place;
        if (is_container(first + i)) {
            ++kept.containers;
        }
    }
}

}  // namespace pillion::json
