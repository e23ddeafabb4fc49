#include "fault.hpp"

#include <array>

namespace pillion::load {

std::string_view name_of(fault what) noexcept {
    static constexpr std::array<std::string_view, faults> names = {
        "none",        "refused",    "unreachable", "tls",        "reset",
        "closed",      "timeout",    "unsent",      "http_other", "http_4xx",
        "http_5xx",    "malformed",  "too_large",   "wrong_id",   "rpc_error",
        "wrong_shape", "tool_error", "unexpected",  "incomplete"};
    return names[static_cast<std::size_t>(what)];
}

}  // namespace pillion::load
