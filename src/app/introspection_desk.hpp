// introspection_desk: asks an authorization server about tokens (RFC 7662), for the transports of
// one shard. One connection for each question; TLS sessions are kept, so that it costs no full
// handshake.
//
// Thread: its shard's.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "app/settings.hpp"
#include "client/agent.hpp"
#include "mcp/http_waiting.hpp"

namespace pillion::app {

class introspection_desk final : public mcp::introspector {
 public:
    introspection_desk(io::reactor& loop, io::offload& helpers, const settings& set);

    // From the next question on.
    void change(const settings& to) { agent_.trust(to.authorities); }
    bool ask(std::shared_ptr<const auth::introspection_rules> rules, std::string_view token,
             told then) override;

    // Gives up; nobody hears any more. It may go when it is idle.
    void close() noexcept;
    bool idle() const noexcept { return agent_.idle(); }

 private:
    void note_failure(std::string_view reason, std::uint16_t status);

    io::reactor& loop_;
    client::agent agent_;
    std::int64_t quiet_until_ns_ = INT64_MIN;  // failures are told once a second
    bool closed_ = false;
};

}  // namespace pillion::app
