// quantity: durations and shares as people write them ("1.5ms", "10 s", "0.1%"), and figures as
// people read them.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pillion::load {

// A decimal number without sign; nullopt for anything else, infinities included.
std::optional<double> parse_number(std::string_view text);

// A number with one of the units ns, us, µs, ms, s, m and h; a blank may stand between. nullopt for
// anything else, for negative ones and for more than a week.
std::optional<std::int64_t> parse_duration_ns(std::string_view text);

// "0.1%" or "0.001".
std::optional<double> parse_share(std::string_view text);

// Three digits and a unit: "412 µs", "1.25 ms".
std::string show_duration(double ns);
// "123 456".
std::string show_count(double number);
// "1.5 MiB".
std::string show_bytes(double bytes);
// Blanks, so that what is shown fills so many columns.
std::string right_aligned(const std::string& shown, std::size_t columns);

}  // namespace pillion::load
