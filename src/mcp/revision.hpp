// revision: the five protocol revisions and what differs between them (REVISIONS §1, §6).
//
// "legacy" revisions open with initialize and keep a session; the modern one carries everything in
// each request. Thread-safety: constants and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pillion::mcp {

enum class revision : std::uint8_t {
    r2024_11_05,
    r2025_03_26,
    r2025_06_18,
    r2025_11_25,
    r2026_07_28,
};

inline constexpr std::size_t revisions = 5;
inline constexpr revision latest_legacy = revision::r2025_11_25;
inline constexpr revision modern = revision::r2026_07_28;

// What an error repeats of a version that is not known: none that is known is longer.
inline constexpr std::size_t requested_bytes_max = 64;

// "2025-11-25".
std::string_view name_of(revision r) noexcept;
// The revision of that name, if it is one of the five.
std::optional<revision> find_revision(std::string_view name) noexcept;
// All five names as a JSON array, newest first (server/discover, AMBIGUITIES G4).
std::string_view all_revisions_json() noexcept;

constexpr bool is_modern(revision r) noexcept { return r == modern; }
constexpr bool is_legacy(revision r) noexcept { return r != modern; }

// Features by revision.
constexpr bool has_batches(revision r) noexcept { return r == revision::r2025_03_26; }
constexpr bool has_audio(revision r) noexcept { return r >= revision::r2025_03_26; }
constexpr bool has_tool_annotations(revision r) noexcept { return r >= revision::r2025_03_26; }
constexpr bool has_completions_flag(revision r) noexcept { return r >= revision::r2025_03_26; }
constexpr bool has_progress_message(revision r) noexcept { return r >= revision::r2025_03_26; }
constexpr bool has_titles(revision r) noexcept { return r >= revision::r2025_06_18; }
constexpr bool has_structured_output(revision r) noexcept { return r >= revision::r2025_06_18; }
constexpr bool has_resource_links(revision r) noexcept { return r >= revision::r2025_06_18; }
constexpr bool has_last_modified(revision r) noexcept { return r >= revision::r2025_06_18; }
constexpr bool has_definition_meta(revision r) noexcept { return r >= revision::r2025_06_18; }
constexpr bool has_icons(revision r) noexcept { return r >= revision::r2025_11_25; }
// Arguments against the schema: a result the model can read, or a protocol error (STANDARD 80).
constexpr bool bad_arguments_are_results(revision r) noexcept { return r >= revision::r2025_11_25; }
// An output schema whose root is no object exists only from 2026-07-28 on (AMBIGUITIES G24).
constexpr bool has_any_output_schema(revision r) noexcept { return is_modern(r); }
// Priming events, and streams that the server closes before the answer (REVISIONS §5.5).
constexpr bool can_poll(revision r) noexcept { return r == revision::r2025_11_25; }
// Calls become tasks at the client's wish (REVISIONS §12).
constexpr bool has_task_param(revision r) noexcept { return r == revision::r2025_11_25; }
// Errors without a readable id: older revisions' schemas want one (AMBIGUITIES G10).
constexpr bool error_id_optional(revision r) noexcept { return r >= revision::r2025_11_25; }

}  // namespace pillion::mcp
