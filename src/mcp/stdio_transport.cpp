#include "mcp/stdio_transport.hpp"

#include <charconv>
#include <cstring>

#include "base/assert.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "http/exchange.hpp"
#include "json/parser.hpp"
#include "mcp/legacy_stream.hpp"
#include "mcp/modern_checks.hpp"
#include "rpc/errors.hpp"

namespace pillion::mcp {

namespace {

class stdio_batch final : public batch {
 public:
    stdio_batch(engine& e, request& holder, stdio_transport& pipe)
        : batch(e, holder), pipe_(pipe) {
        pipe_.batch_began();
    }

 private:
    ~stdio_batch() override = default;
    bool emit(base::byte_buffer message) noexcept override {
        return pipe_.send_line(std::move(message));
    }
    void done(base::byte_buffer all) noexcept override {
        // Nothing to return: nothing is written (REVISIONS §1).
        if (!all.empty()) {
            pipe_.send_line(std::move(all));
        }
        stdio_transport& pipe = pipe_;
        delete this;
        pipe.one_ended();
    }

    stdio_transport& pipe_;
};

}  // namespace

stdio_transport::stdio_transport(engine& e, std::unique_ptr<io::stream> pipe,
                                 base::unique_function<void()> on_end)
    : engine_(e), pipe_(std::move(pipe)), on_end_(std::move(on_end)), partial_(e.loop().chunks()) {
    engine_.changes().add(*this);
}

stdio_transport::~stdio_transport() { unlink(); }

void stdio_transport::start() noexcept { pipe_->start(*this); }

void stdio_transport::drain() noexcept {
    if (!eof_) {
        eof_ = true;
        if (!paused_) {
            paused_ = true;
            pipe_->pause_reading();
        }
    }
    close_if_done();
}

void stdio_transport::close() noexcept {
    if (!closing_) {
        closing_ = true;
        pipe_->close(true);
    }
}

void stdio_transport::close_if_done() noexcept {
    if (eof_ && open_ == 0) {
        close();
    }
}

bool stdio_transport::send_line(base::byte_buffer message) noexcept {
    if (dead_) {
        return true;
    }
    message.append('\n');
    if (!pipe_->write(message.take())) {
        slow_ = true;
        pace();
        return false;
    }
    return true;
}

// Input is taken while there is room for what it causes.
void stdio_transport::pace() noexcept {
    const std::size_t cap = limits::in_flight_per_connection_max;
    const bool want = slow_ || open_ >= (paused_ ? cap / 2 : cap);
    if (eof_ || closing_ || want == paused_) {
        return;
    }
    paused_ = want;
    if (paused_) {
        pipe_->pause_reading();
    } else {
        pipe_->resume_reading();
    }
}

void stdio_transport::one_ended() noexcept {
    PILLION_ASSERT(open_ > 0);
    --open_;
    pace();
    close_if_done();
}

bool stdio_transport::notify(request& /*r*/, base::byte_buffer message) noexcept {
    return send_line(std::move(message));
}

void stdio_transport::reply(request& r, base::byte_buffer message,
                            std::uint16_t /*http_status*/) noexcept {
    if (r.mid == method_id::initialize && r.session != nullptr) {
        session_ = r.session;
    }
    send_line(std::move(message));
    one_ended();
}

void stdio_transport::drop(request& /*r*/) noexcept { one_ended(); }

void stdio_transport::on_data(char* data, std::size_t bytes) noexcept {
    std::string_view rest(data, bytes);
    while (!rest.empty()) {
        const std::size_t end = rest.find('\n');
        const std::string_view part = rest.substr(0, end);
        keep(part);
        if (end == rest.npos) {
            break;
        }
        rest.remove_prefix(end + 1);
        if (skipping_) {
            refuse_oversize();
        } else {
            take_line(partial_.view());
        }
    }
    pace();
}

void stdio_transport::keep(std::string_view part) noexcept {
    if (!skipping_ && partial_.size() + part.size() <= limits::body_bytes_max) {
        return partial_.append(part);
    }
    if (!skipping_) {
        skipping_ = true;
        skipped_id_.reset();
        skipped_id_.feed(partial_.view());
        partial_.clear();
    }
    skipped_id_.feed(part);
}

void stdio_transport::refuse_oversize() {
    skipping_ = false;
    base::arena memory(engine_.loop().chunks());
    const std::string_view text = skipped_id_.text();
    char* copy = static_cast<char*>(memory.allocate(text.size() + limits::padding, 1));
    text.copy(copy, text.size());
    const json::parse_result parsed = json::parse(copy, text.size(), memory);
    const bool usable = parsed.ok && (parsed.root.is_string() || parsed.root.is_integer());
    error_line(rpc::too_large, "Message too large", usable ? parsed.root : json::view{});
}

void stdio_transport::take_line(std::string_view line) noexcept {
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    if (line.find_first_not_of(" \t") != line.npos) {
        handle_line(line);
    }
    partial_.clear();
}

void stdio_transport::error_line(int code, std::string_view message, json::view id) {
    base::byte_buffer out(engine_.loop().chunks());
    // Revisions before 2025-11-25 want an id, if only null (AMBIGUITIES G10).
    const bool null_id = session_ != nullptr && !error_id_optional(session_->negotiated());
    if (!id.exists()) {
        write_error_without_id(out, code, message, {}, null_id);
    } else {
        json::writer w(out);
        w.fragment(R"({"jsonrpc":"2.0","id":)");
        rpc::write_id(w, id);
        w.fragment(R"(,"error":{"code":)");
        w.integer(code);
        w.key_raw(R"("message":)");
        w.string(message);
        w.fragment("}}");
    }
    send_line(std::move(out));
}

void stdio_transport::handle_line(std::string_view line) {
    request& r = engine_.make();
    // A request id of our own for the log (STANDARD row 107).
    char text[24] = "stdio-";
    const auto end = std::to_chars(text + 6, text + sizeof text, ++next_request_);
    r.request_id = r.memory.dup({text, static_cast<std::size_t>(end.ptr - text)});
    base::chunk* input = engine_.loop().chunks().take(line.size() + limits::padding);
    std::memcpy(input->data(), line.data(), line.size());
    input->end = static_cast<std::uint32_t>(line.size());
    r.memory.adopt(input);
    const json::parse_result parsed = json::parse(input->data(), line.size(), r.memory);
    if (!parsed.ok) {
        engine_.discard(r);
        return error_line(rpc::parse_error, "Parse error");
    }
    if (parsed.root.is_array()) {
        return handle_batch(r, parsed.root);
    }
    handle_message(r, rpc::classify(parsed.root), parsed.root);
}

void stdio_transport::handle_batch(request& r, json::view root) {
    if (session_ == nullptr || !has_batches(session_->negotiated()) || root.size() == 0 ||
        root.size() > limits::batch_messages_max) {
        engine_.discard(r);
        return error_line(rpc::invalid_request, "Batches are not part of this protocol revision");
    }
    auto* all = new stdio_batch(engine_, r, *this);
    all->run(root, session_);
}

void stdio_transport::handle_message(request& r, const rpc::envelope& e, json::view root) {
    if (e.kind == rpc::message_kind::invalid) {
        error_line(e.code, e.fault, e.id);
        return engine_.discard(r);
    }
    const bool modern_era = has_modern_meta(e.params);
    if (e.kind == rpc::message_kind::notification) {
        // On a pipe cancellation is the same notification in both eras.
        if (e.method == "notifications/cancelled") {
            const json::view id = e.params["requestId"];
            if (id.is_string() || id.is_integer()) {
                engine_.cancel(nullptr, id);
                if (session_ != nullptr) {
                    engine_.cancel(session_, id);
                }
            }
        }
        return engine_.discard(r);
    }
    if (e.kind == rpc::message_kind::response) {
        engine_.take_response(session_, root);
        return engine_.discard(r);
    }
    const bool handshake = e.method == "initialize" && !modern_era;
    fault why;
    why.code = rpc::invalid_request;
    if (engine_.running(nullptr, e.id) ||
        (session_ != nullptr && engine_.running(session_.get(), e.id))) {
        why.message = "A request with this id is still running";
    } else if (handshake && session_ != nullptr) {
        why.message = "The session is initialized already";
    } else if (!modern_era && !handshake && session_ == nullptr && e.method != "ping") {
        why.message = "Server not initialized";
    }
    ++open_;
    r.channel = this;
    r.id = e.id;
    r.method = e.method;
    r.params = e.params;
    r.rev = modern_era ? modern : session_ != nullptr ? session_->negotiated() : latest_legacy;
    if (!modern_era && !handshake) {
        r.session = session_;
    }
    if (!why.message.empty()) {
        return engine_.refuse(r, why);
    }
    engine_.serve(r);
}

void stdio_transport::on_eof() noexcept {
    // A last line without its newline still counts.
    if (skipping_) {
        refuse_oversize();
    } else if (!partial_.empty()) {
        take_line(partial_.view());
    }
    eof_ = true;
    // Modern calls end with their client; earlier ones are answered first.
    const std::size_t gone = engine_.disconnect_modern();
    PILLION_ASSERT(gone <= open_);
    open_ -= gone;
    close_if_done();
}

void stdio_transport::on_drained() noexcept {
    slow_ = false;
    engine_.writable();
    pace();
}

void stdio_transport::on_closed(int os_errno) noexcept {
    dead_ = true;
    closing_ = true;
    if (os_errno != 0) {
        log::info("stdio.broken", {log::kv("errno", os_errno)});
    }
    on_end_();
}

void stdio_transport::on_change(const change_event& event) noexcept {
    if (session_ == nullptr || dead_) {
        return;
    }
    if (event.what == change::resource_updated && !session_->subscribed(event.uri)) {
        return;
    }
    base::byte_buffer out(engine_.loop().chunks());
    write_change(out, event);
    send_line(std::move(out));
}

}  // namespace pillion::mcp
