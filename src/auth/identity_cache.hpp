// identity_cache: who the tokens of a while ago were found to be. It has a place for each token up
// to its number of places; then the one that was shown longest ago makes room. Nothing else drops
// one, so nobody is judged, and charged to the address, because of how tokens of others hash.
//
// Holds identities, which others may hold too. Allocates for a newcomer only.
// Thread: that of its owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string_view>
#include <unordered_map>

#include "auth/identity.hpp"

namespace pillion::auth {

class identity_cache {
 public:
    // REQUIRES: at least one place.
    explicit identity_cache(std::size_t places);

    // Whose token that is, if what was found out still holds; null: it has to be judged.
    identity_ref find(std::string_view token, std::int64_t now_s, credential shown_as);

    // Keeps who showed `who->token`, in the place of what it was before. REQUIRES: who != null.
    void keep(identity_ref who);

    // Forgets those whom the keys of an issuer vouched for.
    void forget_issuer(std::size_t issuer);

    std::size_t size() const noexcept { return by_age_.size(); }

 private:
    struct entry {
        std::uint64_t key;
        identity_ref who;
    };
    std::size_t places_;
    std::list<entry> by_age_;  // the one that was shown last is the first
    std::unordered_map<std::uint64_t, std::list<entry>::iterator> by_key_;
};

}  // namespace pillion::auth
