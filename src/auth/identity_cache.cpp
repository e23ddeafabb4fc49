#include "auth/identity_cache.hpp"

#include <utility>

#include "base/assert.hpp"
#include "base/hash.hpp"

namespace pillion::auth {

namespace {

// Nobody can choose tokens whose hashes are the same (base/hash.hpp); their bytes are compared too.
std::uint64_t key_of(std::string_view token, credential shown_as) noexcept {
    return base::siphash13(token, base::process_hash_key()) + static_cast<std::uint64_t>(shown_as);
}

}  // namespace

identity_cache::identity_cache(std::size_t places) : places_(places) {
    // No reserve(): it rounds by ceil(), which would have libm mapped (base/number.hpp).
    PILLION_ASSERT(places > 0);
}

identity_ref identity_cache::find(std::string_view token, std::int64_t now_s, credential shown_as) {
    const auto found = by_key_.find(key_of(token, shown_as));
    if (found == by_key_.end() || !found->second->who->still_is(token, now_s, shown_as)) {
        return nullptr;
    }
    by_age_.splice(by_age_.begin(), by_age_, found->second);
    return found->second->who;
}

void identity_cache::keep(identity_ref who) {
    const std::uint64_t key = key_of(who->token, who->kind);
    const auto found = by_key_.find(key);
    if (found != by_key_.end()) {
        found->second->who = std::move(who);
        by_age_.splice(by_age_.begin(), by_age_, found->second);
        return;
    }
    by_age_.push_front({key, std::move(who)});
    by_key_.emplace(key, by_age_.begin());
    if (by_age_.size() > places_) {
        by_key_.erase(by_age_.back().key);
        by_age_.pop_back();
    }
}

void identity_cache::forget_issuer(std::size_t issuer) {
    for (auto at = by_age_.begin(); at != by_age_.end();) {
        if (at->who->issuer == issuer) {
            by_key_.erase(at->key);
            at = by_age_.erase(at);
        } else {
            ++at;
        }
    }
}

}  // namespace pillion::auth
