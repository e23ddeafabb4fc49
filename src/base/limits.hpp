// Every cap of the server in one place. A limit is either a constant here or the default of a
// configuration key; nothing else in the tree carries a size of its own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pillion::limits {

// HTTP head: request line plus headers, RFC 9112 §3 and §5.
inline constexpr std::size_t head_bytes_max = 16 * 1024;
inline constexpr std::size_t headers_max = 64;
inline constexpr std::size_t target_bytes_max = 8 * 1024;
// What those three can be configured to; a head's table of fields has this room.
inline constexpr std::size_t head_bytes_most = 60 * 1024;
inline constexpr std::size_t headers_most = 128;
// HTTP body and one stdio line (STANDARD row 97).
inline constexpr std::size_t body_bytes_max = 1024 * 1024;
// Body bytes that are read and thrown away behind a refusal so that the client sees its status.
inline constexpr std::size_t linger_bytes_max = 2 * 1024 * 1024;
inline constexpr std::int64_t linger_ms = 2000;
// Bytes of following requests kept while one request of a connection is under way.
inline constexpr std::size_t pipelined_bytes_max = 16 * 1024;

inline constexpr std::int64_t head_timeout_ms = 10'000;
// From the begin of a connection to the end of its TLS handshake.
inline constexpr std::int64_t tls_handshake_timeout_ms = 10'000;
// Certificates are read again when nothing has happened to their files for so long.
inline constexpr std::int64_t tls_files_quiet_ms = 300;
// What TLS handshakes may take of one turn of a loop before others wait for the next one.
// After so long without a byte a connection's buffers go back to the system.
inline constexpr std::int64_t tls_rest_ms = 2000;
inline constexpr std::int64_t tls_turn_ns = 1'000'000;
inline constexpr std::int64_t body_timeout_ms = 30'000;
inline constexpr std::int64_t idle_timeout_ms = 75'000;
// Who sends a head or a body slower than this is cut, however much time the timeouts leave; not in
// the first seconds, which a lost packet may take. 0: any speed.
inline constexpr std::int64_t head_rate_min = 100;
inline constexpr std::int64_t body_rate_min = 1000;
inline constexpr std::int64_t slow_grace_ms = 5000;
inline constexpr std::int64_t slow_look_ms = 1000;
inline constexpr std::int64_t slow_apart_ms = 1000;  // the first look is later by up to so much
// An event stream whose reader has taken nothing of what waits for it this long is cut.
inline constexpr std::int64_t reader_stall_ms = 60'000;
inline constexpr std::int64_t sse_keepalive_ms = 15'000;
inline constexpr std::int64_t request_timeout_ms = 30'000;
// However far progress extends it, and whatever a tool says of itself.
inline constexpr std::int64_t request_timeout_ms_max = 60 * 60 * 1000;
// A handler that was stopped and has not ended after this time is a straggler; with so many of one
// handler on a thread, no more of its calls begin there.
inline constexpr std::int64_t grace_ms = 5000;
inline constexpr std::size_t stragglers_max = 16;
inline constexpr std::int64_t drain_timeout_ms = 10'000;
// What a half-received head may still take while the server shuts down.
inline constexpr std::int64_t drain_head_ms = 1000;
// A connection between two requests is closed by a shutdown when it has been quiet for so long
// from there on (whoever was just answered, or just connected, may have a request on its way), or
// at once when it has long been idle.
inline constexpr std::int64_t drain_quiet_ms = 100;
inline constexpr std::int64_t drain_idle_ms = 1000;
// The same for one that is accepted during a shutdown: what it sent while its listener was deaf
// (io/handshakes) is repeated after 200 ms.
inline constexpr std::int64_t drain_late_quiet_ms = 400;
// How long handshakes under way may take to be completed while no new ones are begun, from this
// machine and from others, before a listener closes. Where somebody has connected of late, some
// more may be half-way, and a virtual processor may be held up in between for tens of ms.
inline constexpr std::int64_t drain_handshake_near_ms = 10;
inline constexpr std::int64_t drain_handshake_busy_ms = 100;
inline constexpr std::int64_t drain_handshake_far_ms = 200;
// More, while the system knows of some: it repeats a lost step of a handshake after a second.
inline constexpr std::int64_t drain_handshake_ms_max = 1500;
inline constexpr std::int64_t listener_busy_ms = 100;

// How long the end of the process waits for the last lines of the log to be written.
inline constexpr std::int64_t log_patience_ms = 1000;

inline constexpr std::size_t connections_max = 10'000;
inline constexpr std::size_t connections_per_address_max = 256;
// Requests under way on a shard, in front of which others are shed; those that wait for a user's
// answer and tasks do not count. Likewise when two turns of its loop in a row take this long.
inline constexpr std::size_t requests_max = 10'000;
inline constexpr std::int64_t loop_lag_ms = 1000;
inline constexpr std::size_t in_flight_per_address_max = 256;
inline constexpr std::size_t in_flight_per_principal_max = 256;
// Requests a second of callers from other machines: of one principal, of one anonymous address, and
// of what makes the server remember somebody anonymous. Bursts are what these seconds give.
inline constexpr std::int64_t principal_rate = 200;
inline constexpr std::int64_t address_rate = 200;
inline constexpr std::int64_t handshake_rate = 20;
inline constexpr std::int64_t burst_seconds = 2;
// Addresses and principals whose rates are remembered at a time.
inline constexpr std::size_t rate_buckets = 16 * 1024;
// Calls that wait for a place in a tool with a cap, where the tool does not say.
inline constexpr std::size_t tool_queue_max = 64;
// What may wait for a slow peer in front of the system's own buffer, and when it may be filled up
// again: enough for a full pipe, little enough for thousands of peers that never read.
inline constexpr std::size_t out_queue_bytes_high = 64 * 1024;
inline constexpr std::size_t out_queue_bytes_low = 16 * 1024;
// A stream whose peer does not read is cut when this much waits for it.
inline constexpr std::size_t out_queue_bytes_hard = 4 * 1024 * 1024;

// Who listens for changes and has out_queue_bytes_high unread is told nothing more until it has
// read, and is cut when it has still not read after this time and another change comes.
inline constexpr std::int64_t listener_behind_ms = 5000;

// What telling many listeners of a change may add to a turn of the loop that has nothing else to
// do.
inline constexpr std::int64_t telling_ns_min = 50'000;

inline constexpr std::size_t json_depth_max = 128;
inline constexpr std::size_t json_nodes_max = 512 * 1024;

inline constexpr std::size_t sessions_max = 10'000;
inline constexpr std::int64_t session_idle_ms = 30 * 60 * 1000;
inline constexpr std::size_t session_subscriptions_max = 1024;
// Events kept for clients that come back, and the streams they belong to.
inline constexpr std::size_t session_events_max = 1000;
inline constexpr std::size_t session_event_bytes_max = 2 * 1024 * 1024;
inline constexpr std::size_t session_streams_max = 256;
inline constexpr std::size_t page_size = 50;
inline constexpr std::size_t batch_messages_max = 100;
inline constexpr std::size_t in_flight_per_connection_max = 128;
inline constexpr std::size_t request_id_bytes_max = 128;
inline constexpr std::size_t rpc_id_bytes_max = 512;
// What a call with questions to its user takes along (requestState), and how long it is good.
inline constexpr std::size_t request_state_bytes_max = 48 * 1024;
inline constexpr std::int64_t request_state_ms = 60 * 60 * 1000;
// Answers that count once (elicit_request::single_use) of the last hour.
inline constexpr std::size_t spent_nonces_max = 64 * 1024;
// Progress of one request: after a burst, one message per interval.
inline constexpr std::int64_t progress_interval_ms = 50;
inline constexpr std::int64_t progress_burst = 16;
// Results (STANDARD row 98); those that were cut are kept whole for a while.
inline constexpr std::size_t result_bytes_max = 10 * 1024 * 1024;
inline constexpr std::size_t kept_result_bytes_max = 64 * 1024 * 1024;
inline constexpr std::int64_t kept_result_ms = 10 * 60 * 1000;
// What one request may hold: its input, its DOM, its results.
inline constexpr std::size_t request_memory_bytes_max = 64 * 1024 * 1024;
// Tasks: how many are kept, in all and for one client, and their results together (a new one is
// refused beyond; each that runs may add one result). How long they are kept, at most and when the
// tool does not say; how often their message may change.
inline constexpr std::size_t tasks_max = 10'000;
inline constexpr std::size_t tasks_per_owner_max = 1'000;
inline constexpr std::size_t task_bytes_max = 256 * 1024 * 1024;
inline constexpr std::int64_t task_ttl_ms = 60 * 60 * 1000;
inline constexpr std::int64_t task_ttl_ms_max = 24 * 60 * 60 * 1000;
inline constexpr std::int64_t task_poll_ms = 1000;
inline constexpr std::int64_t task_message_ms = 250;
// Between two looks whether a tasks/result that another one has followed is still heard.
inline constexpr std::int64_t overtaken_look_ms = 250;
inline constexpr std::size_t task_message_bytes_max = 1024;
inline constexpr std::size_t task_ids_per_listen_max = 1024;

// Metrics: tools, and prompts, that are counted by name (the rest together as "_other"); how many
// may ask at a time, and how long they wait for a thread that does not answer.
inline constexpr std::size_t metered_names_max = 1024;
inline constexpr std::size_t metrics_connections_max = 16;
inline constexpr std::int64_t scrape_timeout_ms = 1000;

// Log lines that wait for their reader; more are dropped and counted.
inline constexpr std::size_t log_bytes_max = 1024 * 1024;

// Receive buffers of a shard: they fit the cache (measured: 5.18 us a request against 5.42 with
// 4096 of them). The last `padding` bytes of each are never filled, so scanners may read past.
inline constexpr std::size_t recv_buffers = 256;
inline constexpr std::size_t recv_buffer_bytes = 4096;
// Where receives may share a buffer, that is so many times the size, and what one receive may take.
inline constexpr std::size_t recv_large_factor = 16;
inline constexpr std::size_t padding = 64;

}  // namespace pillion::limits
