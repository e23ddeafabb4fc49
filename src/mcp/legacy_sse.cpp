#include "mcp/legacy_sse.hpp"

#include <algorithm>

#include "mcp/http_client.hpp"

namespace pillion::mcp {

namespace {

// What a small message takes beside its text.
constexpr std::size_t chunk_bytes = 512;

}  // namespace

legacy_sse::legacy_sse(engine& e, http::exchange& ex, const caller& from)
    : message_pipe(e, "sse-", false, from, true),
      exchange_(&ex),
      id_(session_table::new_id(e.shard())) {
    engine_.shared().sse_streams().add(id_, from.name);
    engine_.add_sse(*this);
    engine_.tokens().watch(*this, from.ends_s);
    exchange_->listen(this);
}

legacy_sse::~legacy_sse() = default;

void engine::add_sse(legacy_sse& stream) { sse_.emplace(stream.id(), &stream); }

void engine::remove_sse(legacy_sse& stream) noexcept { sse_.erase(stream.id()); }

void engine::sse_message(std::string_view id, std::string_view message, const granted& rights) {
    const auto at = sse_.find(id);
    if (at != sse_.end()) {
        at->second->receive(message, rights);
    }
}

void legacy_sse::receive(std::string_view message, const granted& rights) {
    if (too_much_waits()) {
        return cut();
    }
    engine_.tokens().watch(*this, std::max(token_ends_s(), rights.ends_s));
    take_rights(rights);
    take_message(message);
}

void legacy_sse::open(engine& e, http::exchange& ex, std::string_view message_path,
                      std::string_view origin, const caller& from) {
    http::extra_header extra[cors_headers::room];
    ex.begin_sse(extra, cors_headers(origin).put(extra));
    if (e.draining()) {
        return ex.end_sse();
    }
    auto* stream = new legacy_sse(e, ex, from);
    // Relative, so that it is right behind any proxy that keeps the path's depth.
    std::string address(message_path);
    address.append("?sessionId=").append(stream->id_);
    ex.send_named_event("endpoint", address);
}

bool legacy_sse::send(base::byte_buffer message) noexcept {
    if (exchange_ == nullptr) {
        return true;
    }
    if (slow_) {
        waiting_bytes_ += message.size() + chunk_bytes;
        waiting_.push_back(std::move(message));
        return false;
    }
    slow_ = !exchange_->send_named_event("message", message.view());
    return !slow_;
}

void legacy_sse::on_drained() noexcept {
    slow_ = false;
    while (!slow_ && !waiting_.empty()) {
        const base::byte_buffer next(std::move(waiting_.front()));
        waiting_.pop_front();
        waiting_bytes_ -= next.size() + chunk_bytes;
        slow_ = !exchange_->send_named_event("message", next.view());
    }
    if (slow_) {
        return;
    }
    engine_.writable();
    catch_up();
    end_if_done();
}

// Nothing can be sent any more; calls that still run end without a reply.
void legacy_sse::stream_ended() noexcept {
    exchange_ = nullptr;
    waiting_.clear();
    engine_.shared().sse_streams().remove(id_);
    engine_.remove_sse(*this);
    // One more than are under way: the object must survive the calls that end in here.
    batch_began();
    if (current_session() != nullptr) {
        current_session()->kill();
        engine_.session_ended(current_session().get());
    }
    one_ended();
}

void legacy_sse::on_one_ended() noexcept {
    if (exchange_ != nullptr) {
        return too_much_waits() ? cut() : end_if_done();
    }
    if (under_way() == 0) {
        delete this;
    }
}

void legacy_sse::on_drain() noexcept {
    draining_ = true;
    if (exchange_ != nullptr) {
        end_if_done();
    }
}

void legacy_sse::end_if_done() noexcept {
    if (waiting_.empty() && (eof_ || (draining_ && under_way() == 0))) {
        end_stream();
    }
}

// Who says that nothing more comes may still read what has been answered.
void legacy_sse::on_peer_eof() noexcept {
    eof_ = true;
    end_if_done();
}

bool legacy_sse::still_let_in() const noexcept {
    return exchange_ == nullptr || http_client::still_let_in(*exchange_);
}

// Calls under way are answered first.
void legacy_sse::on_token_end() noexcept {
    if (exchange_ != nullptr) {
        log_token_end(exchange_->peer());
        on_drain();
    }
}

void legacy_sse::end_stream() noexcept {
    http::exchange& ex = *exchange_;
    ex.listen(nullptr);
    exchange_ = nullptr;
    ex.end_sse();
    stream_ended();
}

// A call under way may have queued much and be waited for: only who has none is cut.
void legacy_sse::on_stalled() noexcept {
    if (under_way() == 0 || eof_) {
        cut();
    }
}

bool legacy_sse::too_much_waits() const noexcept {
    return waiting_bytes_ > engine_.options().request_memory_bytes_max;
}

void legacy_sse::cut() noexcept {
    exchange_->listen(nullptr);
    exchange_->abort();
    stream_ended();
}

void legacy_sse::on_gone() noexcept { stream_ended(); }

}  // namespace pillion::mcp
