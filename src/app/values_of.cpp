#include "app/values_of.hpp"

#include <string_view>

#include "base/hash.hpp"

namespace pillion::app {

std::uint64_t fingerprint_of(std::string_view text, std::uint64_t seed) {
    return base::hash_bytes(text) ^ (seed * 0x9e3779b97f4a7c15U + text.size() + 1);
}

// NOLINTNEXTLINE(misc-no-recursion)
std::uint64_t fingerprint_of(const std::vector<config_value>& values, std::uint64_t seed) {
    const auto add = [&seed](std::string_view text) { seed = fingerprint_of(text, seed); };
    for (const config_value& value : values) {
        add(value.given ? "+" : "-");
        add(std::to_string(value.number));
        for (const auto* const list : {&value.names, &value.texts}) {
            add(std::to_string(list->size()));
            for (const std::string& one : *list) {
                add(one);
            }
        }
        seed = fingerprint_of(value.inside, seed);
    }
    return seed;
}

}  // namespace pillion::app
