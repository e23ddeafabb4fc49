// metrics_guard: who may read /metrics where users are configured: Basic credentials (RFC 7617,
// STANDARD row 44). What was found good is remembered by its digest, so that a scrape costs a
// comparison; anything else is looked at by a helper thread, one at a time and at a slow rate for
// each address, since that takes a tenth of a second and more.
//
// Outlives the exchanges of its endpoint; looks that are under way when it goes come to nothing.
// Thread: its shard.
#pragma once

#include <functional>
#include <memory>

#include "auth/user_list.hpp"
#include "http/exchange.hpp"
#include "mcp/engine.hpp"

namespace pillion::mcp {

class metrics_guard {
 public:
    explicit metrics_guard(engine& e);
    metrics_guard(const metrics_guard&) = delete;
    metrics_guard& operator=(const metrics_guard&) = delete;

    // Other users, from the next request on; null: whoever can reach the address.
    void change(std::shared_ptr<const auth::user_list> users);

    // Runs `go_on` with the exchange, now or later, or refuses it.
    using next = void (*)(engine&, http::exchange&);
    void admit(http::exchange& ex, next go_on);

 private:
    struct state;
    class look;
    static void refuse(http::exchange& ex, const char* reason);
    static void put_off(http::exchange& ex, std::uint16_t status, std::int64_t wait_ns);

    engine& engine_;
    std::shared_ptr<state> state_;
};

}  // namespace pillion::mcp
