#include "sidecar/text_template.hpp"

#include <algorithm>

namespace pillion::sidecar {

namespace {

bool is_name(std::string_view text) {
    constexpr std::string_view allowed =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    return !text.empty() && text.size() <= 128 &&
           text.find_first_not_of(allowed) == std::string_view::npos;
}

}  // namespace

bool text_template::parse(std::string_view text, text_template& to, std::string& fault) {
    to.parts_.clear();
    std::string plain;
    const auto end_plain = [&] {
        if (!plain.empty()) {
            to.parts_.push_back({std::move(plain), false});
            plain.clear();
        }
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const bool twice = i + 1 < text.size() && text[i + 1] == c;
        if ((c == '{' || c == '}') && twice) {
            plain += c;
            ++i;
        } else if (c == '{') {
            const std::size_t end = text.find('}', i);
            if (end == text.npos || !is_name(text.substr(i + 1, end - i - 1))) {
                fault = "a { begins a place for an argument: {name}; {{ is a brace";
                return false;
            }
            end_plain();
            to.parts_.push_back({std::string(text.substr(i + 1, end - i - 1)), true});
            i = end;
        } else if (c == '}') {
            fault = "a } without its {; }} is a brace";
            return false;
        } else {
            plain += c;
        }
    }
    end_plain();
    return true;
}

std::string_view text_template::only_argument() const noexcept {
    return parts_.size() == 1 && parts_.front().argument ? parts_.front().text : std::string_view();
}

bool text_template::has_arguments() const noexcept {
    return std::any_of(parts_.begin(), parts_.end(),
                       [](const template_part& p) { return p.argument; });
}

std::string_view plain_text(json::view value, bool& good) noexcept {
    good = true;
    switch (value.type()) {
        case json::kind::string:
            return value.str();
        case json::kind::number:
            return value.number_text();
        case json::kind::boolean:
            return value.boolean() ? "true" : "false";
        default:
            good = false;
            return {};
    }
}

}  // namespace pillion::sidecar
