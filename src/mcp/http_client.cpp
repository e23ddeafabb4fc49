#include "mcp/http_client.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "mcp/call_stream.hpp"
#include "mcp/http_transport.hpp"
#include "mcp/replies.hpp"

namespace pillion::mcp {

// See http/connection.cpp.
static_assert(sizeof(http_client) <= 168);

cors_headers::cors_headers(std::string_view origin) noexcept : origin_(origin) {}

std::size_t cors_headers::put(http::extra_header* to) const noexcept {
    if (origin_.empty()) {
        return 0;
    }
    to[0] = {"Access-Control-Allow-Origin", origin_};
    to[1] = {"Vary", "Origin"};
    to[2] = {"Access-Control-Expose-Headers",
             "Mcp-Session-Id, X-Request-Id, WWW-Authenticate, Retry-After"};
    return room;
}

void http_client::set_origin(std::string_view now) {
    if (origin() == now) {
        return;
    }
    if (origin_ == nullptr) {
        origin_ = std::make_unique<std::string>();
    }
    origin_->assign(now);
}

bool http_client::still_let_in(const http::exchange& ex) noexcept {
    const auto& client = *static_cast<const http_client*>(ex.tag());
    return client.way_.still_lets_in(client);
}

void http_client::attach(http::exchange& ex, request& r) noexcept {
    PILLION_ASSERT(exchange_ == nullptr);
    exchange_ = &ex;
    live_ = &r;
    r.channel = this;
    r.charge(from);
    ex.listen(this);
}

http::exchange& http_client::detach() noexcept {
    http::exchange& ex = *exchange_;
    exchange_ = nullptr;
    live_ = nullptr;
    ex.listen(nullptr);
    return ex;
}

bool http_client::notify(request& r, base::byte_buffer message) noexcept {
    if (r.session != nullptr) {
        // In a session the stream outlives this connection: it gets an object of its own.
        http::exchange& ex = detach();
        return call_stream::open(way_.shard_engine(), ex, r, origin())
            .notify(r, std::move(message));
    }
    if (!exchange_->streaming()) {
        http::extra_header extra[cors_headers::room];
        exchange_->begin_sse(extra, cors_headers(origin()).put(extra));
    }
    return exchange_->send_event(std::move(message));
}

void http_client::reply(request& r, base::byte_buffer message, std::uint16_t http_status) noexcept {
    // Detached first: the connection may start the next pipelined request inside respond().
    http::exchange& ex = detach();
    if (ex.streaming()) {
        ex.send_event(std::move(message));
        return ex.end_sse();
    }
    http::extra_header extra[cors_headers::room + 2];
    std::size_t count = cors_headers(origin()).put(extra);
    std::string challenge;
    if (!r.lacking.empty()) {
        challenge = way_.challenge(ex, "insufficient_scope", {}, r.lacking);
        extra[count++] = {"WWW-Authenticate", challenge};
    }
    if (r.mid == method_id::initialize && r.session != nullptr) {
        extra[count++] = {"Mcp-Session-Id", r.session->id()};
        last_session = r.session;
    }
    char seconds[16];
    if (http_status == 429 || http_status == 503) {
        // At least a second (STANDARD row 100).
        extra[count++] = {"Retry-After", write_seconds(std::max(r.retry_after_s, 1U), seconds)};
    }
    ex.respond(http_status, "application/json", std::move(message), extra, count);
}

void http_client::reply_shared(request& r, base::byte_buffer message, base::chunk& rest,
                               std::uint16_t http_status) noexcept {
    if (exchange_->streaming() || http_status != 200) {
        return reply_channel::reply_shared(r, std::move(message), rest, http_status);
    }
    http::exchange& ex = detach();
    http::extra_header extra[cors_headers::room];
    const std::size_t count = cors_headers(origin()).put(extra);
    ex.respond(http_status, "application/json", std::move(message), rest, extra, count);
}

bool http_client::release(request& r, std::int64_t retry_ms) noexcept {
    if (r.session == nullptr || !can_poll(r.rev)) {
        return false;
    }
    http::exchange& ex = detach();
    return call_stream::open(way_.shard_engine(), ex, r, origin()).release(r, retry_ms);
}

http::exchange* http_client::hand_over(request& r) noexcept {
    http::exchange& ex = detach();
    r.channel = nullptr;
    http::extra_header extra[cors_headers::room];
    ex.begin_sse(extra, cors_headers(origin()).put(extra));
    return &ex;
}

void http_client::drop(request& /*r*/) noexcept {
    // A cancelled call gets no response; over HTTP a stream that ends empty says so (G20).
    http::exchange& ex = detach();
    if (!ex.streaming()) {
        http::extra_header extra[cors_headers::room];
        ex.begin_sse(extra, cors_headers(origin()).put(extra));
    }
    ex.end_sse();
}

void http_client::on_peer_eof() noexcept {
    // Clients of earlier revisions may have closed only their sending side, and their calls go on
    // in any case.
    if (live_ != nullptr && live_->ends_with_client()) {
        request& r = *live_;
        http::exchange& ex = detach();
        way_.shard_engine().disconnected(r);
        ex.abandon();
    }
}

void http_client::on_drained() noexcept {
    if (live_ != nullptr) {
        live_->drained.set();
    }
}

void http_client::on_gone() noexcept {
    exchange_ = nullptr;
    if (live_ != nullptr) {
        request& r = *live_;
        live_ = nullptr;
        way_.shard_engine().disconnected(r);
    }
}

}  // namespace pillion::mcp
