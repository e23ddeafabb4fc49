// upstream: a service that tools ask over HTTP: what all loops know of it, and what each loop has.
//
// Thread-safety: upstream: any thread. upstream_parts: its loop's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <pillion/task.hpp>

#include "client/agent.hpp"
#include "client/url.hpp"
#include "coro/stop.hpp"
#include "coro/sync.hpp"
#include "io/blocking_pool.hpp"
#include "io/reactor.hpp"
#include "mcp/shard_part.hpp"
#include "sidecar/breaker.hpp"
#include "sidecar/http_spec.hpp"

namespace pillion::sidecar {

struct upstream {
    std::shared_ptr<const upstream_spec> spec;
    client::url where;
    std::shared_ptr<const std::string> authorities;  // null: the system's
    breaker state;
    retry_budget retries;
    const std::uint64_t serial;  // no two have the same, ever

    upstream(std::shared_ptr<const upstream_spec> of, std::uint64_t number)
        : spec(std::move(of)), state(spec->failures_max, spec->open_ms), serial(number) {}
};

// The one of that specification: all tools that have it share it. Null with a fault.
std::shared_ptr<upstream> upstream_of(const std::shared_ptr<const upstream_spec>& spec,
                                      std::string& fault);

// What an upstream in trouble gives, and what may pass (RFC 9110 §15.6).
bool is_trouble(const client::answer& got);

// Makes a request a second time.
class second_request {
 public:
    // Nothing: it must not be sent.
    virtual std::optional<client::question> make() = 0;

 protected:
    ~second_request() = default;
};

class upstream_parts final : public mcp::shard_part {
 public:
    upstream_parts(io::reactor& loop, io::offload& helpers) : loop_(loop), helpers_(helpers) {}

    void close() noexcept override;
    bool idle() const noexcept override;

    // Sends it, when there is a place, and waits for the answer, of which the breaker that gave
    // `by` is told. Stopped before, the answer's fault says so.
    task<client::answer> fetch(std::shared_ptr<upstream> from, client::question what,
                               breaker::permit by, coro::stop_node& stop);
    // The same, but when there is no answer after `from->spec->hedge_ms` and a place is free, a
    // second request goes out beside it. The first good answer counts, and the other request is
    // closed. `second` must outlive the wait; it is asked once at most.
    task<client::answer> fetch_hedged(std::shared_ptr<upstream> from, client::question what,
                                      breaker::permit by, second_request& second,
                                      coro::stop_node& stop);
    std::int64_t now_ms() const noexcept { return loop_.now_ns() / 1'000'000; }

    static constexpr std::string_view stopped = "it was stopped";

 private:
    struct side {
        client::agent agent;
        coro::semaphore places;
        std::weak_ptr<upstream> of;
        side(io::reactor& loop, io::offload& helpers, std::size_t connections)
            : agent(loop, helpers), places(connections) {}
    };

    class race;

    void begin_second(side& at, upstream& of, second_request& from, race& to);
    side& side_of(const std::shared_ptr<upstream>& from);

    io::reactor& loop_;
    io::offload& helpers_;
    std::map<std::uint64_t, std::unique_ptr<side>> sides_;  // by serial
};

}  // namespace pillion::sidecar
