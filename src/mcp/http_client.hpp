// http_client: what the MCP layer keeps of one HTTP connection: the way back of the request under
// way on it, and the session seen last. Lives as the connection's tag.
//
// Thread: its shard.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "auth/authenticator.hpp"
#include "http/exchange.hpp"
#include "mcp/engine.hpp"
#include "mcp/http_waiting.hpp"
#include "mcp/reply_channel.hpp"

namespace pillion::mcp {

class http_transport;

// Headers that let a page of an allowed origin read an answer. Holds at most `room` of them.
class cors_headers {
 public:
    static constexpr std::size_t room = 3;
    // `origin` empty: none are needed.
    explicit cors_headers(std::string_view origin) noexcept;
    std::size_t put(http::extra_header* to) const noexcept;

 private:
    std::string_view origin_;
};

class http_client final : public reply_channel, private http::exchange_listener {
 public:
    http_client(const caller& peer, const http_transport& way) noexcept : from(peer), way_(way) {}

    // Ties the exchange to a request: replies go there from now on.
    void attach(http::exchange& ex, request& r) noexcept;

    bool notify(request& r, base::byte_buffer message) noexcept override;
    void reply(request& r, base::byte_buffer message, std::uint16_t http_status) noexcept override;
    void reply_shared(request& r, base::byte_buffer message, base::chunk& rest,
                      std::uint16_t http_status) noexcept override;
    void drop(request& r) noexcept override;
    bool release(request& r, std::int64_t retry_ms) noexcept override;
    http::exchange* hand_over(request& r) noexcept override;
    bool has_status() const noexcept override { return !exchange_->streaming(); }

    // The Origin of its current request ("" for none), good until the next one.
    std::string_view origin() const noexcept {
        return origin_ != nullptr ? std::string_view(*origin_) : std::string_view();
    }
    void set_origin(std::string_view now);

    // Whether whoever has opened the stream of `ex` is still let in, to the same.
    static bool still_let_in(const http::exchange& ex) noexcept;

    // The session this connection used last.
    session_ref last_session;
    // Who is charged, and this connection among those of its address.
    caller from;
    count_table::hold connection;
    // Who sent the token of the last request, by which authenticator's word. Scopes and name of
    // `from` live with it.
    auth::identity_ref identity;
    std::uint32_t access = 0;
    // Where it waits, or has waited, for what others say of it; null once the request is judged.
    std::unique_ptr<token_wait> waiting;

 private:
    void on_peer_eof() noexcept override;
    void on_drained() noexcept override;
    void on_gone() noexcept override;
    http::exchange& detach() noexcept;

    const http_transport& way_;
    // Programs send none: made with the first one.
    std::unique_ptr<std::string> origin_;
    http::exchange* exchange_ = nullptr;
    request* live_ = nullptr;
};

}  // namespace pillion::mcp
