#include "mcp/uri_template.hpp"

#include "base/ascii.hpp"
#include "base/utf8.hpp"

namespace pillion::mcp {

namespace {

bool name_char(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

// Percent-decodes; nullopt on a bad escape or when the outcome is not UTF-8.
std::optional<std::string_view> decode(std::string_view text, base::arena& memory) {
    char* const out = static_cast<char*>(memory.allocate(text.size(), 1));
    std::size_t n = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out[n++] = text[i];
            continue;
        }
        if (i + 2 >= text.size()) {
            return std::nullopt;
        }
        const int high = base::hex_digit(text[i + 1]);
        const int low = base::hex_digit(text[i + 2]);
        if (high < 0 || low < 0) {
            return std::nullopt;
        }
        out[n++] = static_cast<char>(high * 16 + low);
        i += 2;
    }
    const std::string_view decoded(out, n);
    return base::utf8::validate(decoded) ? std::optional(decoded) : std::nullopt;
}

}  // namespace

std::optional<uri_template> uri_template::parse(std::string_view text, std::string& fault) {
    uri_template t;
    piece current;
    bool after_variable = false;
    for (std::size_t i = 0; i < text.size();) {
        if (text[i] == '}') {
            fault = "unbalanced brace";
            return std::nullopt;
        }
        if (text[i] != '{') {
            current.literal.push_back(text[i++]);
            after_variable = false;
            continue;
        }
        const std::size_t close = text.find('}', i);
        if (close == std::string_view::npos) {
            fault = "unbalanced brace";
            return std::nullopt;
        }
        std::string_view name = text.substr(i + 1, close - i - 1);
        current.reserved = name.starts_with('+');
        if (current.reserved) {
            name.remove_prefix(1);
        }
        bool good = !name.empty();
        for (const char c : name) {
            good = good && name_char(c);
        }
        if (!good) {
            fault = "only {name} and {+name} are supported";
            return std::nullopt;
        }
        if (after_variable) {
            fault = "two variables need a literal between them";
            return std::nullopt;
        }
        if (t.names_.size() == variables_max) {
            fault = "too many variables";
            return std::nullopt;
        }
        current.has_variable = true;
        t.names_.emplace_back(name);
        t.pieces_.push_back(std::move(current));
        current = piece{};
        after_variable = true;
        i = close + 1;
    }
    if (!current.literal.empty() || t.pieces_.empty()) {
        t.pieces_.push_back(std::move(current));
    }
    return t;
}

std::optional<std::size_t> uri_template::match(std::string_view uri, base::arena& memory,
                                               template_value* out) const {
    std::size_t variable = 0;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
        const piece& p = pieces_[i];
        if (!uri.starts_with(p.literal)) {
            return std::nullopt;
        }
        uri.remove_prefix(p.literal.size());
        if (!p.has_variable) {
            break;
        }
        std::size_t length = uri.size();
        if (i + 1 < pieces_.size()) {
            const piece& next = pieces_[i + 1];
            // The literal at the very end must match there and nowhere before.
            const bool last_literal = !next.has_variable;
            length = last_literal && uri.ends_with(next.literal) ? uri.size() - next.literal.size()
                                                                 : uri.find(next.literal);
            if (length == std::string_view::npos) {
                return std::nullopt;
            }
        }
        const std::string_view raw = uri.substr(0, length);
        if (raw.empty() || (!p.reserved && raw.find_first_of("/?#") != raw.npos)) {
            return std::nullopt;
        }
        const auto value = decode(raw, memory);
        if (!value) {
            return std::nullopt;
        }
        out[variable] = {names_[variable], *value};
        ++variable;
        uri.remove_prefix(length);
    }
    return uri.empty() ? std::optional(variable) : std::nullopt;
}

}  // namespace pillion::mcp
