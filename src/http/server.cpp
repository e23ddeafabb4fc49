#include "http/server.hpp"

#include <utility>

#include "base/assert.hpp"
#include "base/limits.hpp"
#include "http/connection.hpp"

namespace pillion::http {

namespace {

// Connections over the cap that are told so at a time; those beyond are closed without a word, as
// an attacker could otherwise have any number of them waiting for their 503.
constexpr std::size_t rejections_max = 128;

std::uint64_t random_seed() noexcept {
    std::uint64_t seed = 0;
    base::os_random(&seed, sizeof(seed));
    return seed;
}

}  // namespace

server_limits::server_limits() noexcept
    : connections_max(limits::connections_max),
      head_timeout_ms(limits::head_timeout_ms),
      body_timeout_ms(limits::body_timeout_ms),
      idle_timeout_ms(limits::idle_timeout_ms),
      sse_keepalive_ms(limits::sse_keepalive_ms),
      reader_stall_ms(limits::reader_stall_ms),
      head_rate_min(limits::head_rate_min),
      body_rate_min(limits::body_rate_min) {}

server::server(io::reactor& loop, request_handler& handler, const server_limits& limits)
    : loop_(loop), handler_(handler), limits_(limits), random_(random_seed()) {}

server::~server() { PILLION_ASSERT(idle()); }

void server::serve(std::unique_ptr<io::stream> stream, std::uint16_t refusal) noexcept {
    auto* c = new connection(*this, std::move(stream));
    open_.push_back(*c);
    if (refusal != 0) {
        ++counts_.forbidden;
    } else if (count_ >= limits_.connections_max) {
        refusal = 503;
        ++counts_.over_cap;
    } else {
        refusal = handler_.on_open(c->first_exchange());
        counts_.unwanted += refusal != 0 ? 1U : 0U;
    }
    if (refusal == 0) {
        count(count_ + 1);
        ++counts_.opened;
    } else {
        ++rejections_;
    }
    c->start(refusal);
    if (rejections_ > rejections_max && refusal != 0) {
        c->cut();
    }
}

void server::count(std::size_t connections) noexcept {
    count_ = connections;
    if (shown_ != nullptr) {
        shown_->store(connections, std::memory_order_relaxed);
    }
}

void server::drain() noexcept {
    draining_ = true;
    for (connection& c : open_) {
        c.drain();
    }
}

void server::close_all() noexcept {
    draining_ = true;
    for (connection& c : open_) {
        c.cut();
    }
}

void server::remove(connection& c) noexcept {
    c.unlink();
    if (!c.rejected()) {
        PILLION_ASSERT(count_ > 0);
        count(count_ - 1);
        handler_.on_close();
    } else {
        --rejections_;
    }
    delete &c;
}

}  // namespace pillion::http
