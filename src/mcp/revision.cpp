#include "mcp/revision.hpp"

namespace pillion::mcp {

namespace {

constexpr std::array<std::string_view, revisions> names = {
    "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28",
};

}  // namespace

std::string_view name_of(revision r) noexcept { return names[static_cast<std::size_t>(r)]; }

std::optional<revision> find_revision(std::string_view name) noexcept {
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == name) {
            return static_cast<revision>(i);
        }
    }
    return std::nullopt;
}

std::string_view all_revisions_json() noexcept {
    return R"(["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"])";
}

}  // namespace pillion::mcp
