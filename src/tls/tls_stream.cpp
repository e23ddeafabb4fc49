#include "tls/tls_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/ascii.hpp"
#include "base/assert.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "tls/idle_memory.hpp"
#include "tls/tls_error.hpp"

namespace pillion::tls {

tls_stream::tls_stream(loop_share& of, std::shared_ptr<context> with, int fd,
                       const io::peer_name& peer, plain_answer refusal,
                       handshake_listener* listener) noexcept
    : share_(of),
      context_(std::move(with)),
      inner_(of.loop(), fd, peer),
      listener_(listener),
      plain_refusal_(refusal),
      queue_(of.loop().chunks()) {
    mbedtls_ssl_init(&ssl_);
}

tls_stream::~tls_stream() {
    mbedtls_ssl_free(&ssl_);
    PILLION_ASSERT(held_ == nullptr);
}

void tls_stream::start(io::stream_reader& reader) noexcept {
    reader_ = &reader;
    inner_.start(*this);
    share_.loop().arm_in_ms(timer_, limits::tls_handshake_timeout_ms);
    if (!context_->is_server() && begin()) {
        take_in();
    }
}

// Makes the library's side of the connection. False when that is given up.
bool tls_stream::begin() noexcept {
    state_ = state::handshake;
    int failed = mbedtls_ssl_setup(&ssl_, &context_->config());
    if (failed == 0) {
        mbedtls_ssl_set_bio(&ssl_, this, &tls_stream::send, &tls_stream::receive, nullptr);
        failed = context_->begin(ssl_);
    }
    if (failed != 0) {
        refuse(describe(failed));
    }
    return failed == 0;
}

// ---- in ----

void tls_stream::on_data(char* data, std::size_t bytes) noexcept {
    if (state_ == state::fresh) {
        if (base::is_upper(data[0]) && plain_refusal_ != nullptr) {
            return refuse_plain();
        }
        if (!begin()) {
            return;
        }
    }
    if (!hears()) {
        return;
    }
    in_ = data;
    in_bytes_ = bytes;
    if (held_ == nullptr) {
        take_in();
    }
    hold();
}

// As far as it goes: until the library wants more than there is, or nobody wants what it has.
void tls_stream::take_in() noexcept {
    while (hears() && !blocked() && make_progress()) {
    }
    if (in_bytes_ > 0 && hears() && !blocked()) {
        // A library that neither takes bytes nor fails would have them kept without an end.
        break_off(MBEDTLS_ERR_SSL_INTERNAL_ERROR);
    }
}

// One step of the handshake, or one record. False when nothing more can be done at present.
bool tls_stream::make_progress() noexcept {
    return state_ != state::established ? step() : read_record();
}

bool tls_stream::step() noexcept {
    if (!share_.begin_step()) {
        waiting_ = true;
        inner_.pause_reading();
        share_.wait(*this);
        return false;
    }
    const int code = compat::handshake(ssl_);
    share_.end_step();
    noted_ = context_->take_note() || noted_;
    return step_ended(code);
}

bool tls_stream::step_ended(int code) noexcept {
    if (code == 0) {
        return end_handshake();
    }
    if (code == MBEDTLS_ERR_SSL_WANT_READ || code == MBEDTLS_ERR_SSL_WANT_WRITE) {
        return false;
    }
    const std::uint32_t flags = mbedtls_ssl_get_verify_result(&ssl_);
    const bool judged = code == MBEDTLS_ERR_X509_CERT_VERIFY_FAILED;
    refuse(judged ? describe_verification(flags) : describe(code));
    return false;
}

bool tls_stream::end_handshake() noexcept {
    const bool resumed = context_->is_server() == noted_;
    if (context_->wants_identity()) {
        const mbedtls_x509_crt* const of = mbedtls_ssl_get_peer_cert(&ssl_);
        // A resumed session is as old as its ticket; its certificate may have run out meanwhile.
        const bool current = of != nullptr && is_current(*of);
        if (current) {
            principal_ = identity_of(*of);
        }
        if (principal_.empty()) {
            mbedtls_ssl_send_alert_message(&ssl_, MBEDTLS_SSL_ALERT_LEVEL_FATAL,
                                           MBEDTLS_SSL_ALERT_MSG_ACCESS_DENIED);
            refuse(current ? "the client's certificate names nobody"
                           : "the client's certificate is not valid any more");
            return false;
        }
    }
    share_.loop().arm_in_ms(timer_, limits::tls_rest_ms);
    state_ = state::established;
    ++(resumed ? share_.counts().resumed : share_.counts().full);
    if (compat::brought_session(ssl_)) {
        context_->keep_session(ssl_);
    }
    if (!queue_.empty() || shut_ || flushing_) {
        share_.loop().mark_dirty(*this);
    }
    if (listener_ != nullptr) {
        listener_->on_handshake(resumed);
    }
    return true;
}

bool tls_stream::read_record() noexcept {
    note_use();
    char* const to = share_.record();
    const std::size_t before = in_bytes_;
    const int got =
        compat::read(ssl_, reinterpret_cast<unsigned char*>(to), loop_share::record_bytes_max);
    if (got > 0) {
        spared_ = 0;
        reader_->on_data(to, static_cast<std::size_t>(got));
        return true;
    }
    if (compat::is_new_ticket(got)) {
        context_->keep_session(ssl_);
        return true;
    }
    if (got == 0 || got == MBEDTLS_ERR_SSL_WANT_READ || got == MBEDTLS_ERR_SSL_WANT_WRITE) {
        // So ends a part of a record, and a record without text, too: a warning, an empty one.
        return in_bytes_ > 0 && in_bytes_ < before;
    }
    if (got == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY) {
        // "Any data received after a closure alert is ignored." (RFC 5246 §7.2.1)
        in_bytes_ = 0;
        give_held();
        eof_ = true;
        tell_eof();
        return false;
    }
    ++share_.counts().broken;
    break_off(got);
    return false;
}

int tls_stream::receive(void* self, unsigned char* to, std::size_t bytes) noexcept {
    auto& me = *static_cast<tls_stream*>(self);
    const std::size_t got = std::min(bytes, me.in_bytes_);
    if (got == 0) {
        return MBEDTLS_ERR_SSL_WANT_READ;
    }
    std::memcpy(to, me.in_, got);
    me.in_ += got;
    me.in_bytes_ -= got;
    return static_cast<int>(got);
}

// Keeps what is left of the received bytes, behind what is kept already.
void tls_stream::hold() noexcept {
    if (in_bytes_ > 0 && hears()) {
        base::chunk* const kept = share_.loop().chunks().take(in_bytes_);
        std::memcpy(kept->data(), in_, in_bytes_);
        kept->end = static_cast<std::uint32_t>(in_bytes_);
        base::chunk** last = &held_;
        while (*last != nullptr) {
            last = &(*last)->next;
        }
        *last = kept;
    }
    in_bytes_ = 0;
}

// The kept bytes and whatever the library holds, now that somebody wants them.
void tls_stream::take_held() noexcept {
    again_ = false;
    take_in();
    while (held_ != nullptr && hears() && !blocked()) {
        base::chunk* const kept = std::exchange(held_, held_->next);
        in_ = kept->data() + kept->begin;
        in_bytes_ = kept->size();
        take_in();
        if (in_bytes_ == 0 || !hears()) {
            base::chunk_pool::give(kept);
        } else {
            kept->begin = kept->end - static_cast<std::uint32_t>(in_bytes_);
            kept->next = std::exchange(held_, kept);
        }
        in_bytes_ = 0;
    }
    if (!hears()) {
        give_held();
    }
    tell_eof();
}

void tls_stream::give_held() noexcept {
    while (held_ != nullptr) {
        base::chunk_pool::give(std::exchange(held_, held_->next));
    }
}

void tls_stream::on_eof() noexcept {
    eof_ = true;
    tell_eof();
}

void tls_stream::tell_eof() noexcept {
    if (!eof_ || held_ != nullptr) {
        return;
    }
    if (state_ == state::handshake) {
        refuse("the peer left during the handshake");
    }
    if (state_ == state::refused) {
        inner_.close(true);
    } else if (state_ < state::refused && !eof_told_ && !only_sends()) {
        eof_told_ = true;
        reader_->on_eof();
    }
}

void tls_stream::handshake_turn() noexcept {
    waiting_ = false;
    let_in();
    take_held();
}

void tls_stream::pause_reading() noexcept {
    paused_ = true;
    inner_.pause_reading();
}

void tls_stream::resume_reading() noexcept {
    paused_ = false;
    again_ = true;
    let_in();
    // What is kept comes from flush(): never from inside this call.
    share_.loop().mark_dirty(*this);
}

void tls_stream::let_in() noexcept {
    if (!blocked()) {
        inner_.resume_reading();
    }
}

// ---- out ----

bool tls_stream::write(base::chunk* bytes) noexcept {
    if (state_ >= state::refused || shut_ || flushing_ || output_ended_) {
        base::chunk_pool::give(bytes);
        return true;
    }
    queue_.push(bytes);
    return wrote();
}

bool tls_stream::write_static(std::string_view bytes) noexcept {
    if (state_ >= state::refused || shut_ || flushing_ || output_ended_) {
        return true;
    }
    queue_.push_static(bytes);
    return wrote();
}

bool tls_stream::wrote() noexcept {
    // As without TLS (io/tcp_stream): one large message may pass the cap by itself.
    const std::size_t hard = share_.loop().output().hard;
    if (queued_bytes() > hard && queued_bytes() - queue_.largest() > hard) {
        fault_ = "too much is unread";
        leave(state::closed);
        inner_.close(false);
        return true;
    }
    if (state_ != state::established) {
        return !congested();
    }
    if (queue_.bytes() >= loop_share::record_bytes_max) {
        encrypt();
    } else {
        share_.loop().mark_dirty(*this);
    }
    return !congested();
}

void tls_stream::flush() noexcept {
    if (again_) {
        take_held();
    }
    send_on();
}

void tls_stream::on_drained() noexcept {
    send_on();
    if (!congested() && state_ < state::refused && !only_sends()) {
        reader_->on_drained();
    }
}

void tls_stream::send_on() noexcept {
    if (state_ != state::established) {
        return;
    }
    encrypt();
    if ((shut_ || flushing_) && queue_.empty() && !congested()) {
        end_output();
    }
}

// As much as the peer takes: what is encrypted lies in memory once more, and counts there piece by
// piece.
void tls_stream::encrypt() noexcept {
    iovec parts[io::out_queue::gather_max];
    while (state_ == state::established && !queue_.empty() && !congested()) {
        std::size_t taken = 0;
        note_use();
        const std::size_t count = queue_.gather(parts);
        for (std::size_t i = 0; i < count; ++i) {
            const auto* from = static_cast<const unsigned char*>(parts[i].iov_base);
            for (std::size_t left = parts[i].iov_len; left > 0 && !congested();) {
                // send() takes everything, so the library never asks to be called again.
                const int done = mbedtls_ssl_write(&ssl_, from, left);
                if (done <= 0) {
                    return break_off(done);
                }
                from += done;
                left -= static_cast<std::size_t>(done);
                taken += static_cast<std::size_t>(done);
            }
        }
        queue_.sent(taken);
    }
}

int tls_stream::send(void* self, const unsigned char* from, std::size_t bytes) noexcept {
    auto& me = *static_cast<tls_stream*>(self);
    base::chunk* const to = me.share_.loop().chunks().take(bytes);
    std::memcpy(to->data(), from, bytes);
    to->end = static_cast<std::uint32_t>(bytes);
    me.inner_.write(to);
    return static_cast<int>(bytes);
}

// ---- rest ----

void tls_stream::note_use() noexcept {
    used_ = true;
    if (resting_) {
        resting_ = false;
        share_.loop().arm_in_ms(timer_, limits::tls_rest_ms);
    }
}

// A connection that is in use is looked at again, as is one with a part of a record.
void tls_stream::rest() noexcept {
    resting_ = !std::exchange(used_, false) && held_ == nullptr && queue_.empty() &&
               drop_idle_memory(ssl_) > 0;
    if (resting_) {
        ++share_.counts().rested;
    } else {
        share_.loop().arm_in_ms(timer_, limits::tls_rest_ms);
    }
}

// ---- the end ----

// Where it was. The timer of an established connection is for its rest alone.
tls_stream::state tls_stream::leave(state to) noexcept {
    if (state_ == state::established) {
        timer_.cancel();
    }
    return std::exchange(state_, to);
}

// Everything has been encrypted: what waited for that happens now.
void tls_stream::end_output() noexcept {
    if (!std::exchange(output_ended_, true)) {
        mbedtls_ssl_close_notify(&ssl_);
    }
    if (flushing_) {
        leave(state::closed);
        inner_.close(true);
    } else {
        inner_.shutdown_write();
    }
}

void tls_stream::shutdown_write() noexcept {
    if (state_ < state::refused && !shut_) {
        shut_ = true;
        if (state_ == state::established) {
            share_.loop().mark_dirty(*this);
        }
    }
}

void tls_stream::close(bool flush) noexcept {
    if (flush && state_ < state::refused && (state_ == state::established || !queue_.empty())) {
        // Without a handshake the queue waits for it, or for its timeout.
        flushing_ = true;
        return send_on();
    }
    // A refusal that is on its way gets there.
    const bool refused = leave(state::closed) == state::refused;
    inner_.close(refused && flush);
}

bool tls_stream::close_if_quiet() noexcept {
    // What begins there is a request; for as long as the rest of a head is waited for.
    constexpr std::int64_t spared_max = limits::drain_head_ms / limits::drain_quiet_ms;
    if (state_ == state::established && spared_ < spared_max && compat::buffers_of(ssl_).used) {
        ++spared_;
        return false;
    }
    if (held_ != nullptr || !inner_.close_if_quiet()) {
        return false;
    }
    leave(state::closed);
    return true;
}

void tls_stream::refuse_plain() noexcept {
    ++share_.counts().plain;
    const std::string answer = plain_refusal_();
    send(this, reinterpret_cast<const unsigned char*>(answer.data()), answer.size());
    refuse("plain HTTP on a port of TLS");
}

// The library has queued its alert; whoever is told so must not meet a reset before.
void tls_stream::refuse(std::string why) noexcept {
    ++share_.counts().failed;
    fault_ = std::move(why);
    log::debug("tls.refused", {log::kv("peer", peer()), log::kv("reason", fault_)});
    state_ = state::refused;
    inner_.shutdown_write();
    share_.loop().arm_in_ms(timer_, limits::linger_ms);
}

// An established connection that cannot go on.
void tls_stream::break_off(int code) noexcept {
    fault_ = describe(code);
    log::debug("tls.broken", {log::kv("peer", peer()), log::kv("reason", fault_)});
    leave(state::refused);
    inner_.close(true);
}

void tls_stream::on_timer(io::timer&, void* owner) noexcept {
    auto& me = *static_cast<tls_stream*>(owner);
    if (me.state_ == state::established) {
        return me.rest();
    }
    if (me.state_ < state::established) {
        ++me.share_.counts().late;
        me.fault_ = "the handshake took too long";
    }
    me.state_ = state::closed;
    me.inner_.close(false);
}

void tls_stream::on_closed(int os_errno) noexcept {
    state_ = state::closed;
    timer_.cancel();
    share_.loop().unmark_dirty(*this);
    if (waiting_) {
        unlink();
    }
    queue_.clear();
    give_held();
    reader_->on_closed(os_errno == 0 && !fault_.empty() ? EPROTO : os_errno);  // may destroy this
}

}  // namespace pillion::tls
