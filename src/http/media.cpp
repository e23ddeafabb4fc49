#include "http/media.hpp"

#include "base/ascii.hpp"

namespace pillion::http {

namespace {

using base::equals_ignore_case;

// Cuts `text` at the first `mark` outside of quoted strings (RFC 9110 §5.6.4); returns the trimmed
// front and leaves the rest.
std::string_view next_piece(std::string_view& text, char mark) noexcept {
    bool quoted = false;
    std::size_t at = 0;
    for (; at < text.size() && (quoted || text[at] != mark); ++at) {
        if (text[at] == '"') {
            quoted = !quoted;
        } else if (quoted && text[at] == '\\') {
            ++at;
        }
    }
    const std::string_view front = base::trim_ows(text.substr(0, at));
    text = at < text.size() ? text.substr(at + 1) : std::string_view{};
    return front;
}

struct parameter {
    std::string_view name;
    std::string_view value;  // without quotes
};

// Splits "name=value"; the name is empty when the text is nothing of the kind.
parameter split_parameter(std::string_view text) noexcept {
    const std::size_t equal = text.find('=');
    if (equal == std::string_view::npos || !base::is_token(text.substr(0, equal))) {
        return {};
    }
    std::string_view value = text.substr(equal + 1);
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
        value = value.substr(1, value.size() - 2);
    }
    return {text.substr(0, equal), value};
}

// weight = "q=" 0[.000] is the only one that excludes (RFC 9110 §12.4.2).
bool is_zero_weight(std::string_view value) noexcept {
    return value.starts_with('0') &&
           value.find_first_not_of("0", value.starts_with("0.") ? 2 : 0) == std::string_view::npos;
}

// The verdict on one of our types and how specific the range was that gave it.
struct verdict {
    bool taken = false;
    int rank = 0;

    void consider(bool matches, int range_rank, bool wanted) noexcept {
        if (matches && range_rank >= rank) {
            taken = range_rank > rank ? wanted : (taken || wanted);
            rank = range_rank;
        }
    }
};

struct accept_reader {
    verdict json;
    verdict sse;

    void take(std::string_view element) noexcept {
        const std::string_view range = next_piece(element, ';');
        bool wanted = true;
        while (!element.empty()) {
            const parameter p = split_parameter(next_piece(element, ';'));
            if (equals_ignore_case(p.name, "q")) {
                wanted = !is_zero_weight(p.value);
            }
        }
        const bool any = range == "*/*";
        json.consider(any, 1, wanted);
        sse.consider(any, 1, wanted);
        json.consider(equals_ignore_case(range, "application/*"), 2, wanted);
        sse.consider(equals_ignore_case(range, "text/*"), 2, wanted);
        json.consider(equals_ignore_case(range, "application/json"), 3, wanted);
        sse.consider(equals_ignore_case(range, "text/event-stream"), 3, wanted);
    }

    void take_list(std::string_view list) noexcept {
        while (!list.empty()) {
            take(next_piece(list, ','));
        }
    }
};

}  // namespace

bool is_json_content_type(std::string_view value) noexcept {
    if (!equals_ignore_case(next_piece(value, ';'), "application/json")) {
        return false;
    }
    while (!value.empty()) {
        const std::string_view text = next_piece(value, ';');
        if (text.empty()) {  // RFC 9110 §5.6.6 allows empty parameters
            continue;
        }
        const parameter p = split_parameter(text);
        if (p.name.empty() ||
            (equals_ignore_case(p.name, "charset") && !equals_ignore_case(p.value, "utf-8"))) {
            return false;
        }
    }
    return true;
}

accepts parse_accept(std::string_view value) noexcept {
    if (base::trim_ows(value).empty()) {
        return {true, true};
    }
    accept_reader reader;
    reader.take_list(value);
    return {reader.json.taken, reader.sse.taken};
}

accepts parse_accept(const head_fields& fields) noexcept {
    if (fields.count(header_id::accept) <= 1) {
        return parse_accept(fields.get(header_id::accept));
    }
    accept_reader reader;
    for (const header h : fields.headers()) {
        if (h.name == header_name(header_id::accept)) {
            reader.take_list(h.value);
        }
    }
    return {reader.json.taken, reader.sse.taken};
}

}  // namespace pillion::http
