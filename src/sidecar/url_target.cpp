#include "sidecar/url_target.hpp"

#include <algorithm>

namespace pillion::sidecar {

namespace {

constexpr std::string_view unreserved =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

bool add_encoded(std::string_view value, std::string& to) {
    append_encoded(value, to);
    return true;
}

// The operator's own text may hold what a target may; the rest would end the line or begin a query.
bool is_target_text(std::string_view text) {
    constexpr std::string_view forbidden = " ?#\\\"<>^`{|}";
    return std::all_of(text.begin(), text.end(), [&forbidden](char c) {
        return c > ' ' && c < '\x7f' && forbidden.find(c) == forbidden.npos;
    });
}

}  // namespace

void append_encoded(std::string_view text, std::string& to) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    for (const char c : text) {
        if (unreserved.find(c) != unreserved.npos) {
            to += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            to += '%';
            to += digits[byte >> 4];
            to += digits[byte & 15];
        }
    }
}

bool add_field_text(std::string_view value, std::string& to) {
    to += value;
    return std::all_of(value.begin(), value.end(), [](char c) {
        return c == '\t' || (static_cast<unsigned char>(c) >= ' ' && c != '\x7f');
    });
}

bool render(const text_template& from, json::view arguments, place_writer add, std::string& to,
            std::string& fault) {
    for (const template_part& part : from.parts()) {
        if (!part.argument) {
            to += part.text;
            continue;
        }
        bool good = false;
        const json::view value = arguments[part.text];
        const std::string_view text = plain_text(value, good);
        if (!good) {
            fault = "The argument " + part.text +
                    (value.exists() ? " must be a text, a number or a boolean" : " is missing");
            return false;
        }
        if (!add(text, to)) {
            fault = "The argument " + part.text + " holds characters that may not be there";
            return false;
        }
    }
    return true;
}

bool url_target::parse(std::string_view base, std::string_view path,
                       const std::vector<std::pair<std::string, std::string>>& query,
                       url_target& to, std::string& fault) {
    to.base_ = base == "/" ? "" : base;
    while (to.base_.ends_with('/')) {
        to.base_.pop_back();
    }
    if (!path.starts_with('/')) {
        fault = "path: must begin with /";
        return false;
    }
    for (std::size_t begin = 1; begin <= path.size();) {
        const std::size_t end = std::min(path.find('/', begin), path.size());
        text_template one;
        if (!text_template::parse(path.substr(begin, end - begin), one, fault)) {
            fault = "path: " + fault;
            return false;
        }
        for (const template_part& part : one.parts()) {
            if (!part.argument && !is_target_text(part.text)) {
                fault = "path: holds characters that a path may not hold";
                return false;
            }
        }
        to.segments_.push_back(std::move(one));
        begin = end + 1;
    }
    for (const auto& [name, text] : query) {
        text_template one;
        if (!text_template::parse(text, one, fault)) {
            fault = "query." + name + ": " + fault;
            return false;
        }
        std::string encoded;
        append_encoded(name, encoded);
        to.query_.emplace_back(std::move(encoded), std::move(one));
    }
    return true;
}

bool url_target::add_parameter(const std::string& name, const text_template& value,
                               json::view arguments, std::string& to, std::string& fault) const {
    const std::string_view alone = value.only_argument();
    const json::view given = alone.empty() ? json::view() : arguments[alone];
    if (!alone.empty() && (!given.exists() || given.is_null())) {
        return true;
    }
    const auto begin = [&to, &name] {
        to += to.find('?') == to.npos ? '?' : '&';
        to += name;
        to += '=';
    };
    if (!given.is_array()) {
        begin();
        for (const template_part& part : value.parts()) {
            if (!part.argument) {
                append_encoded(part.text, to);
                continue;
            }
            text_template place;
            text_template::parse("{" + part.text + "}", place, fault);
            if (!sidecar::render(place, arguments, &add_encoded, to, fault)) {
                return false;
            }
        }
        return true;
    }
    // One parameter for each (OpenAPI: form, exploded).
    for (const json::view one : given.elements()) {
        bool good = false;
        const std::string_view text = plain_text(one, good);
        if (!good) {
            fault = "The argument " + std::string(alone) + " must hold texts, numbers or booleans";
            return false;
        }
        begin();
        append_encoded(text, to);
    }
    return true;
}

bool url_target::render(json::view arguments, std::string& to, std::string& fault) const {
    to = base_;
    for (const text_template& one : segments_) {
        std::string segment;
        if (!sidecar::render(one, arguments, &add_encoded, segment, fault)) {
            return false;
        }
        // What servers and proxies take for another folder, or drop (RFC 3986 §5.2.4).
        if (one.has_arguments() && (segment.empty() || segment == "." || segment == "..")) {
            fault = "An argument in the path is empty, . or ..";
            return false;
        }
        to += '/';
        to += segment;
    }
    for (const auto& [name, value] : query_) {
        if (!add_parameter(name, value, arguments, to, fault)) {
            return false;
        }
    }
    if (to.size() > bytes_max) {
        fault = "The arguments are too long";
        return false;
    }
    return true;
}

}  // namespace pillion::sidecar
