// http_batch: a batch that came in one POST. Thread: its shard.
#pragma once

#include <string>

#include "http/exchange.hpp"
#include "mcp/batch.hpp"
#include "mcp/http_client.hpp"

namespace pillion::mcp {

class http_batch final : public batch, private http::exchange_listener {
 public:
    http_batch(engine& e, request& holder, http::exchange& ex, std::string_view origin)
        : batch(e, holder, true, true), exchange_(&ex), origin_(origin) {
        ex.listen(this);
    }

 private:
    ~http_batch() override = default;

    bool emit(base::byte_buffer message) noexcept override {
        if (exchange_ == nullptr) {
            return true;
        }
        if (!exchange_->streaming()) {
            http::extra_header extra[cors_headers::room];
            exchange_->begin_sse(extra, cors_headers(origin_).put(extra));
        }
        return exchange_->send_event(std::move(message));
    }
    void done(base::byte_buffer all) noexcept override {
        if (exchange_ != nullptr) {
            http::exchange& ex = *exchange_;
            ex.listen(nullptr);
            http::extra_header extra[cors_headers::room];
            const std::size_t count = cors_headers(origin_).put(extra);
            if (ex.streaming()) {
                ex.end_sse();
            } else if (all.empty()) {
                ex.respond_empty(202, extra, count);
            } else {
                ex.respond(200, "application/json", std::move(all), extra, count);
            }
        }
        delete this;
    }
    void on_peer_eof() noexcept override {}
    void on_drained() noexcept override {
        engine& e = engine_;
        unblocked();
        e.writable();
    }
    void on_gone() noexcept override {
        engine& e = engine_;
        exchange_ = nullptr;
        abandon();
        // Nobody reads: no member needs to wait.
        e.writable();
    }

    http::exchange* exchange_;
    std::string origin_;
};

}  // namespace pillion::mcp
