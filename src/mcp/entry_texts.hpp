// entry_texts: the entries of a list as JSON for each revision, one behind the other with commas
// between them, so that a page of a list is one piece of text.
//
// Ownership: the registry's, for as long as it lives; entries are views into it. Immutable once
// published, so any thread may read.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mcp/revision.hpp"

namespace pillion::mcp {

// JSON text for each revision.
using rendered = std::array<std::string, revisions>;
// A view of each; empty where the revision cannot show it.
using rendered_entry = std::array<std::string_view, revisions>;

class entry_texts {
 public:
    void add(const rendered& entry) {
        std::array<piece, revisions> where;
        for (std::size_t i = 0; i < revisions; ++i) {
            all_[i].append(all_[i].empty() ? "" : ",");
            where[i] = {all_[i].size(), entry[i].size()};
            all_[i].append(entry[i]);
        }
        pieces_.push_back(where);
    }
    // Tells the entries of `list`, added in the same order, where they are. Call it once, last.
    template <class List>
    void publish(List& list) const {
        for (std::size_t n = 0; n < pieces_.size(); ++n) {
            for (std::size_t i = 0; i < revisions; ++i) {
                const auto& [at, bytes] = pieces_[n][i];
                list[n].entry[i] = std::string_view(all_[i]).substr(at, bytes);
            }
        }
    }

 private:
    struct piece {
        std::size_t at = 0;
        std::size_t bytes = 0;
    };
    rendered all_;
    std::vector<std::array<piece, revisions>> pieces_;
};

// The entries [from, to) of a published list, with the commas between them.
template <class List>
std::string_view entries_of(const List& list, std::size_t from, std::size_t to, revision rev) {
    if (from == to) {
        return {};
    }
    const std::string_view first = list[from].entry[static_cast<std::size_t>(rev)];
    const std::string_view last = list[to - 1].entry[static_cast<std::size_t>(rev)];
    return {first.data(), static_cast<std::size_t>(last.data() + last.size() - first.data())};
}

}  // namespace pillion::mcp
