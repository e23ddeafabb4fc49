#include "mcp/listen_stream.hpp"

#include "base/log.hpp"
#include "mcp/http_client.hpp"

namespace pillion::mcp {

listen_stream::listen_stream(http::exchange& ex, const request& r)
    : paced_listener(r.engine), exchange_(ex), started_ns_(r.started_ns), wanted_(r, *this) {
    engine_.changes().add(*this);
    engine_.tokens().watch(*this, r.payer.ends_s);
    ex.listen(this);
}

void listen_stream::open(http::exchange& ex, const request& r) {
    auto* stream = new listen_stream(ex, r);
    base::byte_buffer out = stream->new_message();
    stream->wanted_.write_acknowledgement(out);
    ex.send_event(std::move(out));
    // What happened to them before this began would else never be heard of.
    stream->wanted_.tell_tasks();
    if (r.engine.draining()) {
        stream->on_drain();
    }
}

base::byte_buffer listen_stream::new_message() const noexcept {
    return base::byte_buffer(engine_.loop().chunks(), http::exchange::event_gap);
}

bool listen_stream::tell(const change_event& event) noexcept {
    if (!wanted_.wants(event)) {
        return true;
    }
    base::byte_buffer out = new_message();
    wanted_.write_change(out, event);
    return exchange_.send_event(std::move(out));
}

void listen_stream::send_task(base::byte_buffer message) noexcept {
    if (!exchange_.send_event(std::move(message))) {
        fall_behind();
    }
}

void listen_stream::on_drained() noexcept {
    catch_up();
    wanted_.tell_tasks();
}

void listen_stream::on_stalled() noexcept {
    log::info("mcp.listener_cut", {log::kv("peer", exchange_.peer())});
    cut();
}

void listen_stream::on_drain() noexcept {
    base::byte_buffer out = new_message();
    wanted_.write_result(out);
    exchange_.send_event(std::move(out));
    exchange_.listen(nullptr);
    exchange_.end_sse();
    end({});
}

bool listen_stream::still_let_in() const noexcept { return http_client::still_let_in(exchange_); }

// Said properly: who has a new token subscribes again.
void listen_stream::on_token_end() noexcept {
    log_token_end(exchange_.peer());
    on_drain();
}

void listen_stream::on_peer_eof() noexcept {
    exchange_.listen(nullptr);
    exchange_.abandon();
    end("disconnected");
}

void listen_stream::cut() noexcept {
    exchange_.listen(nullptr);
    exchange_.abort();
    end("disconnected");
}

// It counts as the request it was.
void listen_stream::end(outcome how) noexcept {
    engine_.counted().ended(method_id::subscriptions_listen, meters::other, how,
                            engine_.loop().now_ns() - started_ns_);
    delete this;
}

}  // namespace pillion::mcp
