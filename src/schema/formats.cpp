#include "schema/formats.hpp"

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "json/pointer.hpp"
#include "schema/ecma_pattern.hpp"
#include "schema/format_checks.hpp"

namespace pillion::schema_check {

namespace formats {

bool is_ipv4(std::string_view text) noexcept {
    for (int i = 0; i < 4; ++i) {
        const std::size_t end = i < 3 ? text.find('.') : text.size();
        if (end == std::string_view::npos || end == 0 || end > 3 || (text[0] == '0' && end > 1)) {
            return false;
        }
        int value = 0;
        for (const char c : text.substr(0, end)) {
            value = value * 10 + (c - '0');
            if (!base::is_digit(c)) {
                return false;
            }
        }
        if (value > 255) {
            return false;
        }
        text.remove_prefix(i < 3 ? end + 1 : end);
    }
    return true;
}

bool is_ipv6(std::string_view text) noexcept {
    int groups = 0;
    bool gap = false;
    if (text.starts_with("::")) {
        gap = true;
        text.remove_prefix(2);
    }
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(':'), text.size());
        const std::string_view group = text.substr(0, end);
        if (group.find('.') != std::string_view::npos) {
            groups += 2;
            return end == text.size() && is_ipv4(group) && (gap ? groups < 8 : groups == 8);
        }
        const auto is_hex = [](char c) { return base::hex_digit(c) >= 0; };
        if (end == 0 || end > 4 || !std::all_of(group.begin(), group.end(), is_hex)) {
            return false;
        }
        ++groups;
        text.remove_prefix(end);
        if (text.starts_with("::")) {
            if (gap) {
                return false;
            }
            gap = true;
            text.remove_prefix(2);
        } else if (text.size() == 1) {
            return false;
        } else if (!text.empty()) {
            text.remove_prefix(1);
        }
    }
    return gap ? groups < 8 : groups == 8;
}

bool is_uuid(std::string_view text) noexcept {
    if (text.size() != 36) {
        return false;
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text[i] != '-' : base::hex_digit(text[i]) < 0) {
            return false;
        }
    }
    return true;
}

bool is_json_pointer(std::string_view text) noexcept { return json::is_pointer(text); }

bool is_relative_json_pointer(std::string_view text) noexcept {
    std::size_t digits = 0;
    while (digits < text.size() && base::is_digit(text[digits])) {
        ++digits;
    }
    if (digits == 0 || (text[0] == '0' && digits > 1)) {
        return false;
    }
    text.remove_prefix(digits);
    return text == "#" || json::is_pointer(text);
}

bool is_regex(std::string_view text) noexcept { return is_ecma_pattern(text); }

}  // namespace formats

format_check find_format(std::string_view name) noexcept {
    static constexpr std::pair<std::string_view, format_check> known[] = {
        {"date-time", &formats::is_date_time},
        {"date", &formats::is_date},
        {"time", &formats::is_time},
        {"duration", &formats::is_duration},
        {"email", &formats::is_email},
        {"idn-email", &formats::is_idn_email},
        {"hostname", &formats::is_hostname},
        {"idn-hostname", &formats::is_idn_hostname},
        {"ipv4", &formats::is_ipv4},
        {"ipv6", &formats::is_ipv6},
        {"uri", &formats::is_uri},
        {"uri-reference", &formats::is_uri_reference},
        {"iri", &formats::is_iri},
        {"iri-reference", &formats::is_iri_reference},
        {"uri-template", &formats::is_uri_template},
        {"uuid", &formats::is_uuid},
        {"json-pointer", &formats::is_json_pointer},
        {"relative-json-pointer", &formats::is_relative_json_pointer},
        {"regex", &formats::is_regex},
    };
    for (const auto& [one, check] : known) {
        if (one == name) {
            return check;
        }
    }
    return nullptr;
}

}  // namespace pillion::schema_check
