// name_table: positions in a list by name: what every call looks up once.
//
// Open addressing with linear probing, at most half full, a power of two: one multiplication for
// eight bytes of the name, no division and no chain. Names belong to the caller. Filled before it
// is shared; then immutable, so any thread may read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.hpp"

namespace pillion::mcp {

class name_table {
 public:
    static constexpr std::size_t none = SIZE_MAX;

    // False when the name is there already.
    bool add(std::string_view name, std::size_t position) {
        if (2 * (count_ + 1) > places_.size()) {
            grow();
        }
        place& p = find_place(name);
        if (p.position != none) {
            return false;
        }
        p = {name, position};
        ++count_;
        return true;
    }

    // The position of `name`, or none.
    std::size_t find(std::string_view name) const noexcept {
        return places_.empty() ? none : find_place(name).position;
    }

 private:
    struct place {
        std::string_view name;
        std::size_t position = none;
    };
    const place& find_place(std::string_view name) const noexcept {
        const std::size_t mask = places_.size() - 1;
        std::size_t at = base::name_hash()(name) & mask;
        while (places_[at].position != none && places_[at].name != name) {
            at = (at + 1) & mask;
        }
        return places_[at];
    }
    place& find_place(std::string_view name) noexcept {
        return const_cast<place&>(static_cast<const name_table&>(*this).find_place(name));
    }
    void grow() {
        const std::vector<place> before = std::move(places_);
        places_ = std::vector<place>(std::max<std::size_t>(8, 2 * before.size()));
        for (const place& p : before) {
            if (p.position != none) {
                find_place(p.name) = p;
            }
        }
    }

    std::vector<place> places_;
    std::size_t count_ = 0;
};

}  // namespace pillion::mcp
