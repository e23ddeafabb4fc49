#include "mcp/legacy_stream.hpp"

#include "json/writer.hpp"
#include "mcp/http_client.hpp"

namespace pillion::mcp {

void write_change(base::byte_buffer& out, const change_event& event) {
    json::writer w(out);
    w.fragment(R"({"jsonrpc":"2.0","method":)");
    w.string(notification_of(event.what));
    if (event.what == change::resource_updated) {
        w.fragment(R"(,"params":{"uri":)");
        w.string_lossy(event.uri);
        w.fragment("}");
    }
    w.fragment("}");
}

legacy_stream::legacy_stream(engine& e, http::exchange& ex, session_ref s)
    : engine_(e), exchange_(ex), session_(std::move(s)), number_(session_->open_stream()) {
    session_->hold();
    engine_.changes().add(*this);
    exchange_.listen(this);
}

legacy_stream::~legacy_stream() {
    session_->close_stream(number_);
    session_->release(engine_.now_ms());
    unlink();
}

void legacy_stream::open(engine& e, http::exchange& ex, session_ref s, std::string_view origin) {
    http::extra_header extra[cors_headers::room];
    ex.begin_sse(extra, cors_headers(origin).put(extra));
    if (e.draining()) {
        return ex.end_sse();
    }
    new legacy_stream(e, ex, std::move(s));
}

void legacy_stream::on_change(const change_event& event) noexcept {
    // One message goes to one stream: the newest of the session (REVISIONS §5.5).
    if (!session_->is_newest_stream(number_) || !session_->alive()) {
        return;
    }
    if (event.what == change::resource_updated && !session_->subscribed(event.uri)) {
        return;
    }
    base::byte_buffer out(engine_.loop().chunks(), http::exchange::head_gap);
    write_change(out, event);
    exchange_.send_event(std::move(out));
}

void legacy_stream::on_session_end(const session* which) noexcept {
    if (which == session_.get()) {
        end();
    }
}

void legacy_stream::end() noexcept {
    exchange_.listen(nullptr);
    exchange_.end_sse();
    delete this;
}

}  // namespace pillion::mcp
