#include "auth/scopes.hpp"

#include <algorithm>

namespace pillion::auth {

bool is_scope(std::string_view text) noexcept {
    return !text.empty() && text.size() <= scope_bytes_max &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return c > ' ' && c < '\x7f' && c != '"' && c != '\\'; });
}

bool covers(std::string_view granted, std::string_view needed) noexcept {
    while (!granted.empty()) {
        const std::string_view one = granted.substr(0, granted.find(' '));
        granted.remove_prefix(std::min(granted.size(), one.size() + 1));
        if (one == needed) {
            return true;
        }
        // REVISIONS §14: broader scopes of a hierarchy count. Only one that says so is broader.
        if (one.ends_with(":*") && needed.starts_with(one.substr(0, one.size() - 1)) &&
            needed.size() >= one.size()) {
            return true;
        }
    }
    return false;
}

bool covers(std::string_view granted, const scope_list& needed) noexcept {
    return std::all_of(needed.begin(), needed.end(),
                       [granted](const std::string& one) { return covers(granted, one); });
}

std::string joined(const scope_list& scopes) {
    std::string all;
    for (const std::string& one : scopes) {
        all.append(all.empty() ? "" : " ").append(one);
    }
    return all;
}

void add_scopes(scope_list& to, const scope_list& more) {
    for (const std::string& one : more) {
        if (std::find(to.begin(), to.end(), one) == to.end()) {
            to.push_back(one);
        }
    }
}

}  // namespace pillion::auth
