#include "app/spread.hpp"

namespace pillion::app {

std::size_t spread::place(std::size_t at) noexcept {
    std::size_t fewest = at;
    for (std::size_t i = 0; i < all_.size(); ++i) {
        if (all_[i].open.load(std::memory_order_relaxed) && load(all_[i]) < load(all_[fewest])) {
            fewest = i;
        }
    }
    const std::size_t least = load(all_[fewest]);
    if (fewest == at || load(all_[at]) < least + lead_max(least)) {
        return at;
    }
    // Counted first and asked second, as a shard that closes does it the other way round: one of
    // the two sees the other, and it waits for what is coming.
    all_[fewest].coming.fetch_add(1);
    if (!all_[fewest].open.load()) {
        arrived(fewest);
        return at;
    }
    return fewest;
}

}  // namespace pillion::app
