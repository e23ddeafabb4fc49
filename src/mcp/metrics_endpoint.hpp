// metrics_endpoint: GET /metrics on a listener of its own. Shard 0 serves it: it asks every shard
// for its numbers, adds up what comes back and answers; a shard that does not answer in time is
// left out, and the page says so.
//
// Numbers are the same to anybody who may connect and, where users are configured, knows a
// password; nothing in them was sent by a client. Thread: its shard.
#pragma once

#include <string>
#include <string_view>

#include "http/exchange.hpp"
#include "http/origin.hpp"
#include "mcp/engine.hpp"
#include "mcp/metrics_guard.hpp"

namespace pillion::mcp {

class metrics_endpoint final : public http::request_handler {
 public:
    // The rules for Host and Origin; a unix socket has no address to be rebound (`check_host`).
    metrics_endpoint(engine& e, http::origin_policy origins, bool check_host);
    // From the next request on.
    void change(http::origin_policy to) noexcept { origins_ = std::move(to); }
    // Who may read it; null: whoever can reach the address.
    void change_users(std::shared_ptr<const auth::user_list> to) { guard_.change(std::move(to)); }

    http::admission admit(const http::exchange& ex) noexcept override;
    void handle(http::exchange& ex) noexcept override;
    std::string_view refuse(const http::request_head* head, std::uint16_t status,
                            std::string_view reason, std::string_view request_id,
                            base::byte_buffer& body, http::extra_header* extra,
                            std::size_t& extra_count) noexcept override;

 private:
    http::origin_policy origins_;
    bool check_host_;
    metrics_guard guard_;
};

}  // namespace pillion::mcp
