#include "client/connection.hpp"

#include <utility>

#include "base/clock.hpp"
#include "base/limits.hpp"

namespace pillion::client {

namespace {

// What must not happen twice goes only over connections that were in use so recently…
constexpr std::int64_t fresh_ms = 1000;
// … and, the first time, that their server has not closed in so long.
constexpr std::int64_t proof_ms = 50;

constexpr std::string_view no_tls = "TLS failed";
constexpr std::string_view no_certificate = "its certificate is not trusted";

}  // namespace

connection::connection(agent& of, int fd, const question& what,
                       std::shared_ptr<tls::client_context> with, connection_user& user)
    : agent_(of),
      user_(&user),
      authority_(what.to.authority),
      socket_(what.socket),
      context_(std::move(with)) {
    const io::peer_name name = io::peer_name::of_text("upstream");
    if (context_ == nullptr) {
        plain_.emplace(agent_.loop_, fd, name);
        stream_ = &*plain_;
    } else {
        tls::handshake_listener& me = *this;
        secure_.emplace(agent_.share_, context_, fd, name, nullptr, &me);
        stream_ = &*secure_;
        shaking_ = true;
    }
    ++agent_.connections_;
}

connection::~connection() { --agent_.connections_; }

bool connection::start() {
    stream_->start(*this);
    return !shaking_;
}

bool connection::leads_to(const question& what) const noexcept {
    // Authorities that changed make another context, and one that believes anybody is never known.
    return authority_ == what.to.authority && socket_ == what.socket &&
           what.to.secure == (context_ != nullptr) &&
           (context_ == nullptr || context_ == agent_.known(what.peer_name()));
}

bool connection::takes(bool repeatable, std::int64_t now_ns) const noexcept {
    const std::int64_t rested_ms = (now_ns - rests_since_ns_) / base::ns_per_ms;
    return repeatable || (rested_ms < fresh_ms && (answers_ > 1 || rested_ms >= proof_ms));
}

void connection::rest(std::int64_t rest_ms) noexcept {
    user_ = nullptr;
    ++answers_;
    if (rest_ms <= 0 || !agent_.keep(*this)) {
        return close();
    }
    rests_since_ns_ = agent_.loop_.clock_ns();
    agent_.loop_.timers().arm(timer_, rests_since_ns_ + rest_ms * base::ns_per_ms);
}

void connection::wake(connection_user& user) noexcept {
    timer_.cancel();
    user_ = &user;
}

void connection::close() noexcept {
    user_ = nullptr;
    timer_.cancel();
    agent_.drop(*this);
    // TLS says goodbye (RFC 8446 §6.1). A server that has not read all of a request does not get
    // the rest of it for that, and one that reads no more is not waited for.
    parting_ = context_ != nullptr && !shaking_ && !agent_.closed_ && stream_->queued_bytes() == 0;
    if (parting_) {
        agent_.parting_.push_back(*this);
        agent_.loop_.arm_in_ms(timer_, limits::linger_ms);
    }
    stream_->close(parting_);
}

void connection::cut() noexcept {
    timer_.cancel();
    agent_.drop(*this);
    stream_->close(false);
}

void connection::on_data(char* data, std::size_t bytes) noexcept {
    if (user_ != nullptr) {
        return user_->on_data(data, bytes);
    }
    // Nobody has asked anything.
    close();
}

void connection::on_eof() noexcept {
    if (user_ != nullptr && !shaking_) {
        return user_->on_eof();
    }
    // Whoever waits for the handshake hears of the end.
    cut();
}

void connection::on_handshake(bool) noexcept {
    shaking_ = false;
    if (user_ != nullptr) {
        user_->on_ready();
    }
}

void connection::on_closed(int) noexcept {
    std::string_view why = agent::lost;
    if (shaking_) {
        why = secure_->fault().find("certificate") != std::string::npos ? no_certificate : no_tls;
    }
    timer_.cancel();
    agent_.drop(*this);
    connection_user* const user = std::exchange(user_, nullptr);
    plain_.reset();
    secure_.reset();
    delete this;
    if (user != nullptr) {
        user->on_lost(why);
    }
}

void connection::on_timer(io::timer&, void* owner) noexcept {
    auto& self = *static_cast<connection*>(owner);
    if (self.parting_) {
        return self.cut();
    }
    self.close();
}

}  // namespace pillion::client
