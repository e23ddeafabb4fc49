#include "sidecar/icon_check.hpp"

#include <algorithm>
#include <string>

#include "base/ascii.hpp"
#include "base/base64.hpp"
#include "client/url.hpp"

namespace pillion::sidecar {

namespace {

// "data:image/svg+xml;base64,…"; parameters of the media type are names and values without quotes.
bool is_image_in_text(std::string_view text) {
    constexpr std::string_view begin = "data:image/";
    constexpr std::string_view encoding = ";base64";
    const std::size_t comma = text.find(',');
    if (!text.starts_with(begin) || comma == text.npos) {
        return false;
    }
    std::string_view type = text.substr(begin.size(), comma - begin.size());
    if (!type.ends_with(encoding)) {
        return false;
    }
    type.remove_suffix(encoding.size());
    const bool plain = std::all_of(type.begin(), type.end(), [](char c) {
        return base::is_alnum(c) || std::string_view("+.-;=").find(c) != std::string_view::npos;
    });
    const std::string_view bytes = text.substr(comma + 1);
    std::string ignored(base::base64::decoded_size_max(bytes.size()), '\0');
    return plain && !type.empty() && base::is_alnum(type.front()) && !bytes.empty() &&
           base::base64::decode(bytes, ignored.data()).has_value();
}

bool is_length(std::string_view text) {
    return !text.empty() && text.front() != '0' &&
           std::all_of(text.begin(), text.end(), base::is_digit);
}

}  // namespace

bool is_icon_source(std::string_view text) {
    std::string ignored;
    return is_image_in_text(text) || client::parse_url(text, ignored).has_value();
}

bool is_icon_size(std::string_view text) {
    const std::size_t by = text.find('x');
    return text == "any" ||
           (by != text.npos && is_length(text.substr(0, by)) && is_length(text.substr(by + 1)));
}

bool is_icon_theme(std::string_view text) { return text == "light" || text == "dark"; }

}  // namespace pillion::sidecar
