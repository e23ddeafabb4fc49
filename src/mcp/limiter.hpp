// limiter: what one shard asks before it serves: may this caller, and may anybody at present?
// What callers have used is counted for all shards together (limit_tables.hpp), load for each.
//
// Every answer is an inline look at a setting where that is off. Owned by the engine. Thread: its
// shard.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/intrusive_list.hpp"
#include "io/reactor.hpp"
#include "mcp/caller.hpp"
#include "mcp/limit_counters.hpp"
#include "mcp/limit_options.hpp"
#include "mcp/limit_tables.hpp"
#include "mcp/outcome.hpp"

namespace pillion::mcp {

struct fault;
class queued_call;

// Of all shards; see limit_tables.hpp.
struct shared_limits {
    bucket_table principals;
    bucket_table addresses;
    bucket_table handshakes;
    count_table connections;
    count_table in_flight;
};

// What is logged of a request that the limiter refused.
outcome refused_by(const fault& why) noexcept;

class limiter {
 public:
    limiter(shared_limits& shared, io::reactor& loop) noexcept : shared_(shared), loop_(loop) {}

    // Each of these is true when it may be, and has then been counted. Else `why` says what to
    // answer and the counters know.

    // A request, by the caller's rate.
    bool request(const caller& by, const limit_options& set, fault& why) noexcept {
        const caller_rate& rate = by.anonymous() ? set.address_rate : set.principal_rate;
        return !applies(by, rate) || take_request(by, rate, why);
    }
    // Somebody anonymous wants to be remembered.
    bool handshake(const caller& by, const limit_options& set, fault& why) noexcept {
        return !by.anonymous() || !applies(by, set.handshake_rate) ||
               take_handshake(by, set.handshake_rate, why);
    }
    // A request under way, until `out` is released.
    bool begin(const caller& by, const limit_options& set, count_table::hold& out,
               fault& why) noexcept {
        const caller_count& cap = by.anonymous() ? set.address_in_flight : set.principal_in_flight;
        return !applies(by, cap) || take_in_flight(by, cap.max, out, why);
    }
    // A connection, until `out` is released.
    bool connect(const caller& by, const limit_options& set, count_table::hold& out) noexcept {
        return !applies(by, set.address_connections) ||
               take_connection(by, set.address_connections.max, out);
    }

    // Whether this shard can take another request beside those `under_way`.
    bool overloaded(std::size_t under_way, const limit_options& set) const noexcept {
        return under_way >= set.requests_max ||
               (set.loop_lag_ns > 0 && loop_.lag_ns() > set.loop_lag_ns);
    }
    // Counts one that was shed for that.
    void shed(std::size_t under_way, const limit_options& set, fault& why) noexcept;

    // Fills in the refusal, and counts it.
    void refuse(limited_by kind, std::int64_t wait_ns, fault& why) noexcept;
    void refuse(shed_by kind, std::int64_t wait_ns, fault& why) noexcept;

    const limit_counters& counters() const noexcept { return counters_; }

    // ---- calls that wait for a place in their tool (tool_gate.hpp) ----

    void add(queued_call& one) noexcept;
    // Those of this shard that have been given a place go on.
    void wake_granted() noexcept;

 private:
    static bool applies(const caller& by, const caller_rate& rate) noexcept {
        return rate.rate.limited() && (!by.local || rate.local);
    }
    static bool applies(const caller& by, const caller_count& cap) noexcept {
        return cap.max > 0 && (!by.local || cap.local);
    }
    bool take_request(const caller& by, const caller_rate& rate, fault& why) noexcept;
    bool take_handshake(const caller& by, const caller_rate& rate, fault& why) noexcept;
    bool take_in_flight(const caller& by, std::size_t max, count_table::hold& out,
                        fault& why) noexcept;
    bool take_connection(const caller& by, std::size_t max, count_table::hold& out) noexcept;

    shared_limits& shared_;
    io::reactor& loop_;
    limit_counters counters_;
    base::intrusive_list<queued_call> queued_;
};

}  // namespace pillion::mcp
