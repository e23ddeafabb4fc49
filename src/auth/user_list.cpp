#include "auth/user_list.hpp"

#include <algorithm>
#include <utility>

namespace pillion::auth {

namespace {

constexpr std::string_view blanks = " \t";

std::string_view trimmed(std::string_view text) noexcept {
    const std::size_t begin = std::min(text.find_first_not_of(blanks), text.size());
    text.remove_prefix(begin);
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

}  // namespace

bool user_list::is_name(std::string_view text) noexcept {
    return !text.empty() && text.size() <= name_bytes_max && text.front() != '#' &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return c > ' ' && c < '\x7f' && c != ':'; });
}

std::optional<user_list> user_list::parse(std::string_view text, std::string& fault) {
    user_list made;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        line = trimmed(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line);
        if (line.empty() || line.front() == '#') {
            continue;
        }
        const std::size_t blank = std::min(line.find_first_of(blanks), line.size());
        const std::string_view name = line.substr(0, blank);
        const auto password = crypto::password_hash::parse(trimmed(line.substr(blank)));
        const bool twin = std::any_of(made.all_.begin(), made.all_.end(),
                                      [&](const user& other) { return other.name == name; });
        const char* const wrong = made.all_.size() == users_max ? "there are more than 1000 users"
                                  : !is_name(name) ? "the name is too long, or not of visible "
                                                     "ASCII without a colon"
                                  : !password      ? "behind the name stands nothing that token "
                                                     "password has made"
                                  : twin           ? "the same name stands above"
                                                   : nullptr;
        if (wrong != nullptr) {
            fault = "line " + std::to_string(number) + ": " + wrong;
            return std::nullopt;
        }
        made.all_.push_back({std::string(name), *password});
    }
    if (made.all_.empty()) {
        fault = "there is no user in it";
        return std::nullopt;
    }
    return made;
}

bool user_list::knows(std::string_view name, std::string_view password) const {
    const auto found = std::find_if(all_.begin(), all_.end(),
                                    [name](const user& one) { return one.name == name; });
    const bool there = found != all_.end();
    const bool good = (there ? *found : all_.front()).password.is_of(password);
    return there && good;
}

}  // namespace pillion::auth
