#include "http/head_memo.hpp"

#include <cstring>
#include <string_view>

#include "base/ascii.hpp"
#include "base/swar.hpp"
#include "base/wipe.hpp"
#include "http/scan.hpp"

namespace pillion::http {

namespace {

constexpr char letter_case = 0x20;

// Most of the heads that are kept have another length, which is no secret.
bool ends_at(const char* data, std::size_t bytes) noexcept {
    return std::memcmp(data + bytes - 4, "\r\n\r\n", 4) == 0;
}

}  // namespace

// Without a branch that depends on the bytes.
bool head_memo::same(const entry& kept, const char* data) noexcept {
    namespace swar = base::swar;
    std::uint64_t differs = 0;
    for (std::size_t at = 0; at < kept.bytes; at += step_bytes) {
        for (std::size_t word = at; word < at + step_bytes; word += sizeof(std::uint64_t)) {
            differs |= (swar::load<std::uint64_t>(data + word) ^
                        swar::load<std::uint64_t>(kept.text + word)) &
                       swar::load<std::uint64_t>(kept.matters + word);
        }
    }
    return differs == 0;
}

// Takes over what may differ; nullptr if the parser would not have found just that there.
request_head* head_memo::recall(entry& kept, const char* data) noexcept {
    for (const text_range& one : kept.values) {
        if (one.len > 0) {
            const char* const value = data + one.at;
            if (find_control(value, one.len) != one.len || base::is_ows(value[0]) ||
                base::is_ows(value[one.len - 1])) {
                return nullptr;
            }
            std::memcpy(kept.text + one.at, value, one.len);
        }
    }
    if (kept.length.len > 0) {
        const char* const digits = data + kept.length.at;
        std::uint64_t value = 0;
        if (!base::parse_decimal({digits, kept.length.len}, value)) {
            return nullptr;
        }
        kept.head.content_length = value;
        std::memcpy(kept.text + kept.length.at, digits, kept.length.len);
    }
    return &kept.head;
}

request_head* head_memo::find(const char* data, std::size_t size) noexcept {
    for (std::size_t i = 0; i < entries; ++i) {
        const std::size_t at = (recent_ + i) % entries;
        entry& kept = entries_[at];
        if (kept.bytes != 0 && kept.bytes <= size && ends_at(data, kept.bytes) &&
            same(kept, data)) {
            recent_ = at;
            strangers_ = 0;
            return recall(kept, data);
        }
    }
    return nullptr;
}

// Where its value is, which from now on does not matter; empty unless there is one such field.
text_range head_memo::let_differ(entry& kept, header_id id) noexcept {
    const std::string_view value = kept.head.get(id);
    if (kept.head.count(id) != 1 || value.empty()) {
        return {};
    }
    const auto at = static_cast<std::size_t>(value.data() - kept.text);
    std::memset(kept.matters + at, 0, value.size());
    return {static_cast<std::uint16_t>(at), static_cast<std::uint16_t>(value.size())};
}

request_head* head_memo::add(const request_head& parsed) noexcept {
    // With an expectation, what the head says depends on its Content-Length being 0.
    if (parsed.bytes > bytes_max || parsed.has(header_id::expect)) {
        return nullptr;
    }
    if (strangers_ < strangers_max) {
        ++strangers_;
    } else if (++strangers_ % strangers_kept_every != 0) {
        return nullptr;
    }
    // Whoever comes again and again is not driven out by those that never do.
    next_ = next_ == recent_ ? (next_ + 1) % entries : next_;
    entry& kept = entries_[next_];
    next_ = (next_ + 1) % entries;
    if (kept.bytes > parsed.bytes) {
        base::wipe(kept.text + parsed.bytes, kept.bytes - parsed.bytes);
    }
    kept.bytes = parsed.bytes;
    kept.head = parsed;
    kept.head.rebase(kept.text);
    std::memcpy(kept.text, parsed.base(), parsed.bytes);
    std::memset(kept.matters, '\xff', parsed.bytes);
    std::memset(kept.matters + parsed.bytes, 0, step_bytes);
    for (const header h : parsed.headers()) {
        char* const name = kept.matters + (h.name.data() - parsed.base());
        for (std::size_t i = 0; i < h.name.size(); ++i) {
            if (h.name[i] >= 'a' && h.name[i] <= 'z') {
                name[i] = static_cast<char>(~letter_case);
            }
        }
    }
    kept.length = let_differ(kept, header_id::content_length);
    kept.values[0] = let_differ(kept, header_id::x_request_id);
    kept.values[1] = let_differ(kept, header_id::traceparent);
    return &kept.head;
}

void head_memo::clear() noexcept {
    for (entry& kept : entries_) {
        base::wipe(kept.text, kept.bytes);
        kept.bytes = 0;
    }
    recent_ = entries;
}

}  // namespace pillion::http
