#include "base/glob.hpp"

#include <cstddef>
#include <vector>

namespace pillion::base {

namespace {

// reached[i]: what has been read of the pattern is like the first i characters of the text.
using places = std::vector<bool>;

// One character of the pattern.
void take_one(places& reached, std::string_view text, char wanted, bool slashes) {
    for (std::size_t i = text.size(); i > 0; --i) {
        const char c = text[i - 1];
        const bool same = wanted == '?' ? slashes || c != '/' : c == wanted;
        reached[i] = reached[i - 1] && same;
    }
    reached[0] = false;
}

void take_run(places& reached, std::string_view text, bool slashes) {
    for (std::size_t i = 1; i <= text.size(); ++i) {
        reached[i] = reached[i] || (reached[i - 1] && (slashes || text[i - 1] != '/'));
    }
}

// Nothing, or any run that ends in a slash.
void take_folders(places& reached, std::string_view text) {
    bool before = false;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        const bool here = reached[i];
        reached[i] = here || (before && text[i - 1] == '/');
        before = before || here;
    }
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view text, glob_of what) {
    places reached(text.size() + 1, false);
    reached[0] = true;
    const bool name = what == glob_of::name;
    for (std::size_t i = 0; i < pattern.size();) {
        if (pattern[i] != '*') {
            take_one(reached, text, pattern[i++], name);
            continue;
        }
        const std::size_t begin = i;
        while (i < pattern.size() && pattern[i] == '*') {
            ++i;
        }
        const bool first = begin == 0 || pattern[begin - 1] == '/';
        if (!name && i - begin > 1 && first && i < pattern.size() && pattern[i] == '/') {
            take_folders(reached, text);
            ++i;
        } else {
            take_run(reached, text, name || i - begin > 1);
        }
    }
    return reached[text.size()];
}

}  // namespace pillion::base
