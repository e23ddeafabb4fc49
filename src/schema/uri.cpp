#include "schema/uri.hpp"

#include <algorithm>

#include "base/ascii.hpp"

namespace pillion::schema_check {

namespace {

struct parts {
    std::string_view scheme{};
    std::string_view authority{};
    std::string_view path{};
    std::string_view query{};
    bool has_scheme = false;
    bool has_authority = false;
    bool has_query = false;
};

bool is_scheme(std::string_view text) noexcept {
    return !text.empty() && base::is_alpha(text[0]) &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return base::is_alnum(c) || c == '+' || c == '-' || c == '.';
           });
}

// RFC 3986 appendix B, without the fragment.
parts split(std::string_view uri) {
    parts out;
    uri = without_fragment(uri);
    const std::size_t colon = uri.find_first_of(":/?");
    if (colon != std::string_view::npos && uri[colon] == ':' && is_scheme(uri.substr(0, colon))) {
        out.has_scheme = true;
        out.scheme = uri.substr(0, colon);
        uri.remove_prefix(colon + 1);
    }
    const std::size_t query = uri.find('?');
    if (query != std::string_view::npos) {
        out.has_query = true;
        out.query = uri.substr(query + 1);
        uri = uri.substr(0, query);
    }
    if (uri.starts_with("//")) {
        uri.remove_prefix(2);
        const std::size_t slash = std::min(uri.find('/'), uri.size());
        out.has_authority = true;
        out.authority = uri.substr(0, slash);
        uri.remove_prefix(slash);
    }
    out.path = uri;
    return out;
}

// RFC 3986 §5.2.4.
std::string remove_dot_segments(std::string_view path) {
    std::string out;
    while (!path.empty()) {
        if (path.starts_with("../")) {
            path.remove_prefix(3);
        } else if (path.starts_with("./") || path.starts_with("/./")) {
            path.remove_prefix(2);
        } else if (path == "/.") {
            path = "/";
        } else if (path.starts_with("/../") || path == "/..") {
            path = path.size() == 3 ? std::string_view("/") : path.substr(3);
            out.erase(out.rfind('/') == std::string::npos ? 0 : out.rfind('/'));
        } else if (path == "." || path == "..") {
            path = {};
        } else {
            const std::size_t end = std::min(path.find('/', 1), path.size());
            out.append(path.substr(0, end));
            path.remove_prefix(end);
        }
    }
    return out;
}

// RFC 3986 §5.2.3.
std::string merge(const parts& base, std::string_view path) {
    if (base.has_authority && base.path.empty()) {
        return "/" + std::string(path);
    }
    const std::size_t slash = base.path.rfind('/');
    const std::string_view folder =
        slash == std::string_view::npos ? std::string_view() : base.path.substr(0, slash + 1);
    return std::string(folder) + std::string(path);
}

}  // namespace

std::string_view without_fragment(std::string_view uri) noexcept {
    return uri.substr(0, uri.find('#'));
}

std::string_view fragment_of(std::string_view uri) noexcept {
    const std::size_t hash = uri.find('#');
    return hash == std::string_view::npos ? std::string_view() : uri.substr(hash + 1);
}

std::string resolve_uri(std::string_view base, std::string_view reference) {
    const parts from = split(base);
    const parts to = split(reference);
    parts out = to;
    std::string path;
    if (to.has_scheme || to.has_authority) {
        path = remove_dot_segments(to.path);
    } else if (to.path.empty()) {
        path = from.path;
        out.has_query = to.has_query || from.has_query;
        out.query = to.has_query ? to.query : from.query;
    } else if (to.path.starts_with('/')) {
        path = remove_dot_segments(to.path);
    } else {
        path = remove_dot_segments(merge(from, to.path));
    }
    if (!to.has_scheme) {
        out.has_scheme = from.has_scheme;
        out.scheme = from.scheme;
        if (!to.has_authority) {
            out.has_authority = from.has_authority;
            out.authority = from.authority;
        }
    }
    std::string uri;
    if (out.has_scheme) {
        std::transform(out.scheme.begin(), out.scheme.end(), std::back_inserter(uri),
                       base::to_lower);
        uri += ':';
    }
    if (out.has_authority) {
        uri += "//";
        uri += out.authority;
    }
    uri += path;
    if (out.has_query) {
        uri += '?';
        uri += out.query;
    }
    return uri;
}

bool decode_percent(std::string_view text, std::string& out) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out.push_back(text[i]);
            continue;
        }
        const int high = text.size() - i > 2 ? base::hex_digit(text[i + 1]) : -1;
        const int low = text.size() - i > 2 ? base::hex_digit(text[i + 2]) : -1;
        if (high < 0 || low < 0) {
            return false;
        }
        out.push_back(static_cast<char>(high * 16 + low));
        i += 2;
    }
    return true;
}

std::string escape_token(std::string_view token) {
    std::string out;
    for (const char c : token) {
        if (c == '~') {
            out += "~0";
        } else if (c == '/') {
            out += "~1";
        } else {
            out += c;
        }
    }
    return out;
}

std::string unescape_token(std::string_view token) {
    std::string out;
    for (std::size_t i = 0; i < token.size(); ++i) {
        if (token[i] == '~' && i + 1 < token.size() &&
            (token[i + 1] == '0' || token[i + 1] == '1')) {
            out += token[++i] == '0' ? '~' : '/';
        } else {
            out += token[i];
        }
    }
    return out;
}

}  // namespace pillion::schema_check
