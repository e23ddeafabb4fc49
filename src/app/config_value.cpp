#include "app/config_value.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/cpu.hpp"

namespace pillion::app {

namespace {

constexpr std::size_t expanded_bytes_max = 64 * 1024;

struct unit {
    std::string_view name;
    std::int64_t factor;
    std::size_t digits;  // at most, so that every duration fits
};
constexpr unit durations[] = {{"ms", 1, 11}, {"s", 1000, 8}, {"m", 60'000, 6}, {"h", 3'600'000, 4}};
constexpr unit sizes[] = {
    {"", 1, 12}, {"B", 1, 12}, {"KiB", 1024, 9}, {"MiB", 1 << 20, 6}, {"GiB", 1 << 30, 3}};

// Digits without needless zeros, then one of the units.
template <std::size_t N>
std::optional<std::int64_t> parse_quantity(std::string_view text, const unit (&units)[N]) {
    std::int64_t number = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    const auto digits = static_cast<std::size_t>(end - text.data());
    if (fault != std::errc{} || number < 0 || text.front() == '-' ||
        (text.front() == '0' && digits > 1)) {
        return std::nullopt;
    }
    for (const unit& u : units) {
        if (text.substr(digits) == u.name && digits <= u.digits) {
            return number * u.factor;
        }
    }
    return std::nullopt;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto got = std::from_chars(text.data(), end, number);
    return got.ec == std::errc{} && got.ptr == end ? std::optional(number) : std::nullopt;
}

bool is_name(std::string_view text) noexcept {
    const auto good = [](char c) {
        return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
               c == '_';
    };
    return !text.empty() && !(text.front() >= '0' && text.front() <= '9') &&
           std::all_of(text.begin(), text.end(), good);
}

std::optional<std::int64_t> parse_number(const config_key& key, std::string_view text) {
    switch (key.type) {
        case value_type::boolean:
            return text == "true"    ? std::optional<std::int64_t>(1)
                   : text == "false" ? std::optional<std::int64_t>(0)
                                     : std::nullopt;
        case value_type::duration:
            return parse_duration_ms(text);
        case value_type::bytes:
            return parse_bytes(text);
        case value_type::count_or_auto:
            if (text == "auto") {
                return static_cast<std::int64_t>(base::usable_cpus());
            }
            [[fallthrough]];
        default:
            return parse_integer(text);
    }
}

}  // namespace

environment process_environment() {
    return [](const std::string& name) -> std::optional<std::string> {
        const char* const value = std::getenv(name.c_str());
        return value == nullptr ? std::nullopt : std::optional<std::string>(value);
    };
}

config_values read_environment(const config_table& keys, const environment& from) {
    config_values out(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto value = keys[i].variable.empty() ? std::nullopt : from(keys[i].variable);
        if (value && !value->empty()) {
            out[i].given = true;
            out[i].from_flag = true;
            out[i].from_environment = true;
            out[i].texts.push_back(*value);
        }
    }
    return out;
}

std::optional<std::int64_t> parse_duration_ms(std::string_view text) {
    return parse_quantity(text, durations);
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
    return parse_quantity(text, sizes);
}

bool has_variable(std::string_view text) noexcept { return text.find("${") != text.npos; }

bool substitute(std::string_view text, const environment& from, std::string& out,
                std::string& fault) {
    out.clear();
    while (!text.empty()) {
        const std::size_t at = text.find('$');
        out += text.substr(0, at);
        if (at == text.npos) {
            break;
        }
        text.remove_prefix(at + 1);
        if (text.starts_with('$')) {
            out += '$';
            text.remove_prefix(1);
        } else if (!text.starts_with('{')) {
            out += '$';
        } else {
            const std::size_t end = text.find('}');
            const std::string_view inside = text.substr(1, end == text.npos ? 0 : end - 1);
            const std::size_t colon = inside.find(":-");
            const std::string name(inside.substr(0, colon));
            if (end == text.npos || !is_name(name)) {
                fault = "a variable is ${NAME} or ${NAME:-default}, and $$ a dollar sign";
                return false;
            }
            const std::optional<std::string> value = from(name);
            if (value && !(value->empty() && colon != inside.npos)) {
                out += *value;
            } else if (colon != inside.npos) {
                out += inside.substr(colon + 2);
            } else {
                fault = "the variable " + name + " is not set";
                return false;
            }
            text.remove_prefix(end + 1);
        }
        if (out.size() > expanded_bytes_max) {
            fault = "longer than 64 KiB with its variables";
            return false;
        }
    }
    return true;
}

bool parse_value(const config_key& key, std::string_view text, config_value& out) {
    switch (key.type) {
        case value_type::text:
        case value_type::text_list:
        case value_type::secret:
            if (text.size() < static_cast<std::size_t>(key.min) ||
                (key.is_valid != nullptr && !key.is_valid(text))) {
                return false;
            }
            break;
        case value_type::choice:
            if (std::find(key.words.begin(), key.words.end(), text) == key.words.end()) {
                return false;
            }
            break;
        default: {
            const std::optional<std::int64_t> number = parse_number(key, text);
            const bool ranged = key.type != value_type::boolean && key.type != value_type::duration;
            if (!number || (key.type == value_type::duration && *number < key.min) ||
                (ranged && (*number < key.min || *number > key.max))) {
                return false;
            }
            out.number = *number;
        }
    }
    out.given = true;
    out.texts.emplace_back(text);
    return true;
}

}  // namespace pillion::app
