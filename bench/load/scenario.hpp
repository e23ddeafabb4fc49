// scenario: what is asked, and the bytes of asking: HTTP heads and JSON-RPC bodies by revision,
// rendered once. Only the request id differs from one request to the next, and it has always the
// same length.
//
// Thread-safety: immutable once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "target.hpp"

namespace pillion::load {

enum class revision : std::uint8_t { r2025_03_26, r2025_06_18, r2025_11_25, r2026_07_28 };
std::string_view name_of(revision r) noexcept;
std::optional<revision> parse_revision(std::string_view text) noexcept;

enum class action : std::uint8_t { ping, tools_list, tools_call, initialize, initialized };

struct scenario {
    revision rev = revision::r2026_07_28;
    action what = action::ping;
    std::string tool;
    std::string arguments = "{}";      // a JSON object
    std::vector<std::string> headers;  // "Name: value", checked

    bool modern() const noexcept { return rev == revision::r2026_07_28; }
};

// Ids of requests: ten digits each.
inline constexpr std::uint64_t first_id = 1'000'000'000;
inline constexpr std::size_t id_digits = 10;

// One request: `begin` with the id at `id_at`, and `end`, which is the same for all connections.
struct request_text {
    std::string begin;
    std::string end;
    std::size_t id_at = 0;  // 0: a notification, which has none
};

// Renders a request of `how`. `session` may be empty.
request_text render(const scenario& how, action what, const target& to, std::string_view session);
// The request that ends a session.
std::string render_delete(const scenario& how, const target& to, std::string_view session);

// "Name: value" as a header of one's own; false for what would break a head or is ours to say.
bool is_extra_header(std::string_view text) noexcept;

}  // namespace pillion::load
