// limit_options: the configurable limits of callers and sessions, with their defaults.
//
// Thread-safety: a value; a part of service_options.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/limits.hpp"
#include "json/parser.hpp"
#include "mcp/token_bucket.hpp"

namespace pillion::mcp {

// A limit of each caller. Defaults spare callers on this machine; what was configured does not.
struct caller_rate {
    bucket_rate rate;
    bool local = false;
};
struct caller_count {
    std::size_t max = 0;  // 0: no limit
    bool local = false;
};

// Of one session (those up to 2025-11-25); counts from the session's birth.
struct session_limits {
    std::size_t events_max = limits::session_events_max;
    std::size_t event_bytes_max = limits::session_event_bytes_max;
    std::size_t streams_max = limits::session_streams_max;
    std::size_t subscriptions_max = limits::session_subscriptions_max;
};

struct limit_options {
    caller_rate principal_rate{
        bucket_rate::of(limits::principal_rate, limits::burst_seconds* limits::principal_rate)};
    caller_rate address_rate{
        bucket_rate::of(limits::address_rate, limits::burst_seconds* limits::address_rate)};
    // Anonymous initialize, subscriptions/listen and GET /sse.
    caller_rate handshake_rate{
        bucket_rate::of(limits::handshake_rate, limits::burst_seconds* limits::handshake_rate)};
    caller_count address_connections{limits::connections_per_address_max};
    caller_count address_in_flight{limits::in_flight_per_address_max};
    caller_count principal_in_flight{limits::in_flight_per_principal_max};
    // Of a shard: requests under way, and how long the turns of its loop may take.
    std::size_t requests_max = limits::requests_max;
    std::int64_t loop_lag_ns = limits::loop_lag_ms * 1'000'000;  // 0: any

    json::parse_limits json;
    session_limits session;

    limit_options() noexcept {}  // NOLINT(modernize-use-equals-default): no aggregate
};

}  // namespace pillion::mcp
