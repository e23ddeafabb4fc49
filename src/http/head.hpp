// What a parsed HTTP head looks like: the table of its fields, and the request head on top of it.
//
// Nothing is copied: names and values are 16-bit ranges from `base`, the first byte of the head
// (limits::head_bytes_most fits them). When the owner of the bytes moves them it calls rebase() and
// every view is good again. Field names have been lower-cased in place by the parser.
//
// Views are valid while the bytes at base live. Thread-safety: plain values, no hidden state.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "base/limits.hpp"

namespace pillion::http {

enum class method : std::uint8_t {
    get,
    head,
    post,
    put,
    delete_,
    options,
    patch,
    trace,
    connect,
    other,  // a valid token that is none of these
};

// Fields with a slot of their own, found without searching.
enum class header_id : std::uint8_t {
    host,
    content_length,
    transfer_encoding,
    connection,
    content_type,
    content_encoding,
    accept,
    expect,
    origin,
    authorization,
    upgrade,
    user_agent,
    x_request_id,
    x_api_key,
    x_forwarded_for,
    traceparent,
    tracestate,
    mcp_session_id,
    mcp_protocol_version,
    mcp_method,
    mcp_name,
    last_event_id,
    x_request_timeout_ms,
    access_control_request_method,
    access_control_request_headers,
    count,
};

inline constexpr std::size_t header_ids = static_cast<std::size_t>(header_id::count);

// The slot of a lower-case field name; header_id::count when it has none.
header_id find_header_id(std::string_view lower_name) noexcept;

// The lower-case name of a slot. REQUIRES: id < header_id::count.
std::string_view header_name(header_id id) noexcept;

// What a parser says. `status` and `reason` are meant for the reply and are set on `failed` only;
// `reason` is a constant text, safe to show to a peer.
enum class parse_state : std::uint8_t { complete, need_more, failed };

struct parse_outcome {
    parse_state state = parse_state::need_more;
    std::uint16_t status = 0;
    const char* reason = "";

    static constexpr parse_outcome done() noexcept { return {parse_state::complete, 0, ""}; }
    static constexpr parse_outcome more() noexcept { return {parse_state::need_more, 0, ""}; }
    static constexpr parse_outcome fail(std::uint16_t status, const char* reason) noexcept {
        return {parse_state::failed, status, reason};
    }
};

// One field: the lower-cased name and the value without surrounding blanks.
struct header {
    std::string_view name;
    std::string_view value;
};

// Offsets from the base of a head. Without initialisers, so that a table of them costs nothing.
struct text_range {
    std::uint16_t at;
    std::uint16_t len;
};
static_assert(limits::head_bytes_most <= UINT16_MAX);

// The fields of a head in the order they came.
class head_fields {
 public:
    class iterator {
     public:
        using iterator_category = std::input_iterator_tag;
        using value_type = header;
        using difference_type = std::ptrdiff_t;
        using pointer = const header*;
        using reference = header;

        iterator(const head_fields* owner, std::size_t index) noexcept
            : owner_(owner), index_(index) {}
        header operator*() const noexcept { return owner_->at(index_); }
        iterator& operator++() noexcept {
            ++index_;
            return *this;
        }
        bool operator==(const iterator& other) const noexcept { return index_ == other.index_; }

     private:
        const head_fields* owner_;
        std::size_t index_;
    };

    struct range {
        const head_fields* owner;
        iterator begin() const noexcept { return {owner, 0}; }
        iterator end() const noexcept { return {owner, owner->size()}; }
    };

    // Leaves the table of ranges unset on purpose: only the first size() entries are ever read.
    head_fields() noexcept {}  // NOLINT(modernize-use-equals-default)

    // The value of the first field of that name, trimmed; empty when absent.
    std::string_view get(header_id id) const noexcept {
        const std::uint8_t slot = first_[static_cast<std::size_t>(id)];
        return slot == 0 ? std::string_view{} : view(values_[slot - 1U]);
    }
    bool has(header_id id) const noexcept { return first_[static_cast<std::size_t>(id)] != 0; }
    // How many fields of that name came.
    std::uint8_t count(header_id id) const noexcept {
        return counts_[static_cast<std::size_t>(id)];
    }

    // The same by lower-case name, for fields without a slot. O(number of fields).
    std::string_view find(std::string_view lower_name) const noexcept;
    std::uint8_t count(std::string_view lower_name) const noexcept;

    // Number of fields; the field at `index` < size(); all of them for a range-for.
    std::size_t size() const noexcept { return size_; }
    header at(std::size_t index) const noexcept {
        return {view(names_[index]), view(values_[index])};
    }
    range headers() const noexcept { return {this}; }

    // Tells that the bytes of the head now live at `new_base`.
    void rebase(const char* new_base) noexcept { base_ = new_base; }
    const char* base() const noexcept { return base_; }

    // For parsers: empties the table, which may then take so many fields (at most headers_most);
    // adds a field (false when that many are there already);
    // replaces the value of the first field of a slot. REQUIRES for the last: has(id).
    void reset_fields(const char* base, std::size_t most = limits::headers_max) noexcept;
    bool add(text_range name, text_range value) noexcept {
        if (size_ == most_) {
            return false;
        }
        names_[size_] = name;
        values_[size_] = value;
        ++size_;
        const auto slot = static_cast<std::size_t>(find_header_id(view(name)));
        // The slot behind the last one collects the names without a slot, so that no branch is
        // needed here.
        first_[slot] = first_[slot] == 0 ? size_ : first_[slot];
        ++counts_[slot];
        return true;
    }
    void replace(header_id id, text_range value) noexcept {
        values_[first_[static_cast<std::size_t>(id)] - 1U] = value;
    }

 protected:
    std::string_view view(text_range r) const noexcept { return {base_ + r.at, r.len}; }

 private:
    const char* base_ = nullptr;
    std::uint8_t size_ = 0;
    std::uint8_t most_ = limits::headers_max;
    std::array<std::uint8_t, header_ids + 1> first_{};  // 1 + index of the first one; 0: absent
    std::array<std::uint8_t, header_ids + 1> counts_{};
    text_range names_[limits::headers_most];
    text_range values_[limits::headers_most];
    static_assert(limits::headers_most < UINT8_MAX);
};

// The head of a request (RFC 9112 §3). Filled by parse_request_head.
struct request_head : head_fields {
    request_head() noexcept {}  // NOLINT(modernize-use-equals-default): keeps the tables unset

    // The request target as sent; its path ("/" for an absolute target without one, "*" for the
    // asterisk form); what follows the first '?' (empty when there is none).
    std::string_view target() const noexcept { return view(target_range); }
    std::string_view path() const noexcept {
        return path_range.len == 0 ? std::string_view{"/"} : view(path_range);
    }
    std::string_view query() const noexcept { return view(query_range); }
    std::string_view method_text() const noexcept { return view(method_range); }

    // The authority the request is for: that of an absolute target, which overrides the Host field
    // (RFC 9112 §3.2.2; get(header_id::host) agrees), else the Host field. Empty only in HTTP/1.0.
    std::string_view host() const noexcept { return view(host_range); }

    text_range target_range{};
    text_range path_range{};
    text_range query_range{};
    text_range method_range{};
    text_range host_range{};

    std::uint64_t content_length = 0;  // 0 unless has_content_length
    std::uint32_t bytes = 0;           // length of the head with its blank line
    method m = method::other;
    std::uint8_t minor_version = 1;  // 0 or 1; a higher minor is spoken to as 1 (RFC 9110 §2.5)
    bool keep_alive = true;
    bool chunked = false;
    bool has_content_length = false;
    // The client waits for "100 Continue": HTTP/1.1, and a body is announced (RFC 9110 §10.1.1).
    bool expect_continue = false;

    // What the handler makes of the text of this head alone, in its own terms; 0 at first. It stays
    // with a head that comes again (http/head_memo).
    mutable std::uint32_t verdict = 0;
};

}  // namespace pillion::http
