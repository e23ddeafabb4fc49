#include "client/call.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "io/socket.hpp"

namespace pillion::client {

namespace {

// How long one address of several is tried before the next one is.
constexpr std::int64_t attempt_ms = 2000;

constexpr std::string_view too_many = "too many requests are under way";
constexpr std::string_view no_name = "its host is not known";
constexpr std::string_view no_trust = "no authorities are there to verify it with";
constexpr std::string_view no_connection = "it cannot be reached";
constexpr std::string_view no_tls = "TLS failed";
constexpr std::string_view no_certificate = "its certificate is not trusted";
constexpr std::string_view too_late = "it took too long";
constexpr std::string_view lost = "it closed the connection";
constexpr std::string_view malformed = "its answer is no HTTP";
constexpr std::string_view too_large = "its answer is too large";

bool is_address(const url& where) { return addresses_of(where, true).count > 0; }

std::string text_of(const question& what) {
    std::string text(what.post ? "POST " : "GET ");
    text += what.to.target;
    text += " HTTP/1.1\r\nHost: ";
    text += what.to.authority;
    text += "\r\nAccept: ";
    text += what.accept;
    text += "\r\nUser-Agent: pillion\r\nConnection: close\r\n";
    if (!what.authorization.empty()) {
        text += "Authorization: ";
        text += what.authorization;
        text += "\r\n";
    }
    if (what.post) {
        text += "Content-Type: ";
        text += what.content_type;
        text += "\r\nContent-Length: " + std::to_string(what.body.size()) + "\r\n";
    }
    return text + "\r\n";
}

}  // namespace

// What a helper finds out. Shared with it: a call that ends meanwhile leaves it alone.
struct call::findings {
    url where;
    std::shared_ptr<const std::string> authorities;  // null: no context is needed
    address_list addresses;
    std::shared_ptr<tls::client_context> context;
};

call::call(agent& of, question what, agent::receiver then)
    : agent_(of),
      what_(std::move(what)),
      then_(std::move(then)),
      reader_(of.loop_.chunks(), what_.answer_bytes_max) {
    agent_.all_.push_back(*this);
    ++agent_.calls_;
}

void call::start(bool may) {
    const std::int64_t now_ns = agent_.loop_.clock_ns();
    agent_.loop_.timers().arm(timer_, now_ns + (may ? what_.timeout_ms * base::ns_per_ms : 0));
    if (!may) {
        pending_ = too_many;
        return;
    }
    context_ = what_.to.secure ? agent_.known(what_.to.host) : nullptr;
    look_up();
}

void call::look_up() {
    auto shared = std::make_shared<findings>();
    shared->where = what_.to;
    const bool needs_context = what_.to.secure && context_ == nullptr;
    if (needs_context) {
        shared->authorities = agent_.authorities_;
    }
    if (!needs_context && is_address(what_.to)) {
        addresses_ = addresses_of(what_.to, true);
        return connect_next();
    }
    stage_ = stage::looking_up;
    const bool taken = agent_.helpers_.submit(
        agent_.loop_,
        [shared] {
            shared->addresses = addresses_of(shared->where, false);
            if (shared->authorities != nullptr) {
                shared->context = context_for(shared->where.host, *shared->authorities);
            }
        },
        [this, shared] { found(*shared); });
    if (!taken) {
        fail_soon(too_many);
    }
}

void call::found(findings& what) {
    stage_ = stage::waiting;
    if (!then_) {
        return end();
    }
    addresses_ = what.addresses;
    if (what_.to.secure && context_ == nullptr) {
        context_ = std::move(what.context);
        if (context_ == nullptr) {
            return fail_soon(no_trust);
        }
        // Unless others are trusted since.
        if (what.authorities == agent_.authorities_) {
            agent_.learn(what_.to.host, context_);
        }
    }
    if (addresses_.count == 0) {
        return fail_soon(no_name);
    }
    connect_next();
}

void call::connect_next() noexcept {
    while (next_address_ < addresses_.count) {
        const address& to = addresses_.all[next_address_++];
        fd_ = ::socket(to.to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd_ < 0) {
            continue;
        }
        const int on = 1;
        ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        stage_ = stage::connecting;
        if (next_address_ < addresses_.count) {
            agent_.loop_.timers().arm(attempt_,
                                      agent_.loop_.clock_ns() + attempt_ms * base::ns_per_ms);
        }
        return agent_.loop_.ops().connect(connect_, fd_, &to.to, to.bytes);
    }
    fail_soon(no_connection);
}

// By the timer, since ask() may not have returned.
void call::fail_soon(std::string_view fault) noexcept {
    stage_ = stage::waiting;
    pending_ = fault;
    agent_.loop_.timers().arm(timer_, agent_.loop_.clock_ns());
}

void call::on_connect(io::op& self, const io::completion& what) noexcept {
    static_cast<connect_op&>(self).owner->connected(what.res);
}

void call::connected(std::int32_t res) noexcept {
    attempt_.cancel();
    stage_ = stage::waiting;
    const int fd = std::exchange(fd_, -1);
    if (res != 0 || !then_) {
        agent_.loop_.ops().close(fd);
        return then_ ? connect_next() : end();
    }
    open_stream(fd);
}

void call::open_stream(int fd) {
    stage_ = stage::talking;
    const io::peer_name name = io::peer_name::of_text("upstream");
    if (!what_.to.secure) {
        plain_.emplace(agent_.loop_, fd, name);
        stream_ = &*plain_;
        stream_->start(*this);
        return send_request();
    }
    shaking_ = true;
    tls::handshake_listener& me = *this;
    secure_.emplace(agent_.share_, context_, fd, name, nullptr, &me);
    stream_ = &*secure_;
    stream_->start(*this);
}

void call::on_handshake(bool) noexcept {
    shaking_ = false;
    send_request();
}

void call::send_request() {
    const std::string head = text_of(what_);
    base::byte_buffer all(agent_.loop_.chunks());
    all.reserve(head.size() + what_.body.size());
    all.append(head);
    all.append(what_.body);
    stream_->write(all.take());
}

void call::on_data(char* data, std::size_t bytes) noexcept {
    if (then_) {
        take(reader_.feed(data, bytes));
    }
}

void call::on_eof() noexcept {
    if (shaking_ || !then_) {
        return stream_->close(false);
    }
    finish(reader_.end() == answer_reader::state::complete ? std::string_view() : lost);
}

void call::take(answer_reader::state how) {
    switch (how) {
        case answer_reader::state::need_more:
            return;
        case answer_reader::state::complete:
            return finish({});
        case answer_reader::state::malformed:
            return finish(malformed);
        case answer_reader::state::too_large:
            return finish(too_large);
    }
}

void call::on_closed(int) noexcept {
    std::string_view why = lost;
    if (std::exchange(shaking_, false)) {
        why = secure_->fault().find("certificate") != std::string::npos ? no_certificate : no_tls;
    }
    stream_ = nullptr;
    plain_.reset();
    secure_.reset();
    stage_ = stage::waiting;
    if (then_) {
        return finish(why);
    }
    end();
}

void call::on_timer(io::timer&, void* owner) noexcept {
    auto& me = *static_cast<call*>(owner);
    me.finish(me.pending_.empty() ? too_late : me.pending_);
}

void call::on_attempt(io::timer&, void* owner) noexcept {
    auto& me = *static_cast<call*>(owner);
    me.agent_.loop_.ops().cancel(me.connect_);
}

// Ends what is in flight, and tells. It may be gone afterwards.
void call::finish(std::string_view fault) {
    agent::receiver then = std::exchange(then_, {});
    answer told;
    told.fault = fault;
    if (fault.empty()) {
        told.status = reader_.status();
        told.body = std::move(reader_.body());
    }
    abandon();
    if (then) {
        then(std::move(told));
    }
}

void call::abandon() noexcept {
    then_ = {};
    timer_.cancel();
    attempt_.cancel();
    switch (stage_) {
        case stage::waiting:
            return end();
        case stage::looking_up:
            return;  // found() ends it
        case stage::connecting:
            return agent_.loop_.ops().cancel(connect_);
        case stage::talking:
            // TLS says goodbye (RFC 8446 §6.1); on_closed() ends it.
            return stream_->close(what_.to.secure && !shaking_ && !agent_.closed_);
        case stage::over:
            return;
    }
}

void call::end() noexcept {
    stage_ = stage::over;
    unlink();
    --agent_.calls_;
    delete this;
}

}  // namespace pillion::client
