#include "app/yaml_scalar.hpp"

#include <charconv>
#include <cmath>

namespace pillion::app {

namespace {

bool is_made_of(std::string_view text, std::string_view allowed) {
    return !text.empty() && text.find_first_not_of(allowed) == text.npos;
}

plain_kind kind_of(std::string_view text) {
    for (const char* const word : {"true", "True", "TRUE", "false", "False", "FALSE"}) {
        if (text == word) {
            return plain_kind::boolean;
        }
    }
    constexpr std::string_view digits = "0123456789";
    if ((text.starts_with("0x") && is_made_of(text.substr(2), "0123456789abcdefABCDEF")) ||
        (text.starts_with("0o") && is_made_of(text.substr(2), "01234567"))) {
        return plain_kind::integer;
    }
    if (text.starts_with('-') || text.starts_with('+')) {
        text.remove_prefix(1);
    }
    if (is_made_of(text, digits)) {
        return plain_kind::integer;
    }
    for (const char* const word : {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"}) {
        if (text == word) {
            return plain_kind::real;
        }
    }
    double ignored = 0;
    const char* const end = text.data() + text.size();
    const auto got = std::from_chars(text.data(), end, ignored);
    const bool number = (got.ec == std::errc{} || got.ec == std::errc::result_out_of_range) &&
                        got.ptr == end && !text.empty() && text.front() != '-' &&
                        is_made_of(text, "0123456789.eE+-");
    return number ? plain_kind::real : plain_kind::text;
}

bool number_to_json(const yaml_node& node, plain_kind kind, json::builder& to) {
    const std::string whole = integer_text(node.text, kind);
    if (is_integer_text(whole)) {
        to.raw(whole);
        return true;
    }
    std::string_view text = node.text;
    text.remove_prefix(text.starts_with('+') ? 1 : 0);
    double value = 0;
    const auto got = std::from_chars(text.data(), text.data() + text.size(), value);
    if (got.ec != std::errc{} || !std::isfinite(value)) {
        return false;
    }
    to.value(value);
    return true;
}

bool scalar_to_json(const yaml_node& node, json::builder& to) {
    const plain_kind kind = type_of(node);
    switch (kind) {
        case plain_kind::boolean:
            to.value(node.text.front() == 't' || node.text.front() == 'T');
            return true;
        case plain_kind::integer:
        case plain_kind::real:
            return number_to_json(node, kind, to);
        default:
            to.value(node.text);
            return true;
    }
}

}  // namespace

plain_kind type_of(const yaml_node& node) {
    return node.plain ? kind_of(node.text) : plain_kind::text;
}

bool is_integer_text(std::string_view text) { return kind_of(text) == plain_kind::integer; }

std::string integer_text(std::string_view text, plain_kind kind) {
    if (kind == plain_kind::integer && text.starts_with('0') && text.size() > 2 &&
        (text[1] == 'x' || text[1] == 'o')) {
        std::int64_t value = 0;
        const char* const end = text.data() + text.size();
        const auto got = std::from_chars(text.data() + 2, end, value, text[1] == 'x' ? 16 : 8);
        return got.ec == std::errc{} ? std::to_string(value) : std::string(text);
    }
    if (text.starts_with('+')) {
        text.remove_prefix(1);
    }
    double value = 0;
    constexpr double exact = 9007199254740992.0;
    const auto got = std::from_chars(text.data(), text.data() + text.size(), value);
    if (got.ec == std::errc{} && std::abs(value) <= exact) {
        const auto whole = static_cast<std::int64_t>(value);
        if (static_cast<double>(whole) == value) {
            return std::to_string(whole);
        }
    }
    return std::string(text);
}

// The tree's own bound on depth is the bound of this recursion.
// NOLINTNEXTLINE(misc-no-recursion)
bool yaml_to_json(const yaml_tree& tree, const yaml_node& node, json::builder& to) {
    bool good = true;
    switch (node.what) {
        case yaml_node::kind::null:
            to.value(nullptr);
            return true;
        case yaml_node::kind::scalar:
            return scalar_to_json(node, to);
        case yaml_node::kind::list:
            to.begin_array();
            for (const std::size_t item : node.items) {
                good = good && yaml_to_json(tree, tree.at(item), to);
            }
            to.end_array();
            return good;
        case yaml_node::kind::map:
            break;
    }
    to.begin_object();
    for (const yaml_node::member& m : node.members) {
        to.key(m.name);
        good = good && yaml_to_json(tree, tree.at(m.value), to);
    }
    to.end_object();
    return good;
}

}  // namespace pillion::app
