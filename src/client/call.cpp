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
// How long a connection rests at most: less than servers keep theirs (Node: 5 s).
constexpr std::int64_t rest_ms_max = 4000;
// Of an answer that a sink takes, it is the sink that bounds it.
constexpr std::size_t boundless = std::size_t{1} << 60;

constexpr std::string_view no_name = "its host is not known";
constexpr std::string_view no_trust = "no authorities are there to verify it with";
constexpr std::string_view no_connection = "it cannot be reached";
constexpr std::string_view too_late = "it took too long";
constexpr std::string_view malformed = "its answer is no HTTP";
constexpr std::string_view ill_formed = "the request is ill-formed";

bool is_address(const url& where) { return addresses_of(where, true).count > 0; }

// Whoever made it has checked it; nothing that ends a line gets out all the same.
bool is_field_text(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) {
        return c == '\t' || (static_cast<unsigned char>(c) >= ' ' && c != '\x7f');
    });
}

bool is_well_formed(const question& what) {
    return is_field_text(what.method) && is_field_text(what.to.target) &&
           is_field_text(what.accept) && is_field_text(what.authorization) &&
           is_field_text(what.content_type) && what.method.find(' ') == std::string::npos &&
           what.to.target.find(' ') == std::string::npos &&
           std::all_of(what.headers.begin(), what.headers.end(), [](const auto& one) {
               return is_field_text(one.first) && is_field_text(one.second) &&
                      one.first.find_first_of(": \t") == std::string::npos;
           });
}

std::string method_of(const question& what) {
    return !what.method.empty() ? what.method : what.post ? "POST" : "GET";
}

// RFC 9110 §9.2.2.
bool may_repeat(const question& what) {
    const std::string method = method_of(what);
    return method == "GET" || method == "HEAD" || method == "PUT" || method == "DELETE" ||
           method == "OPTIONS";
}

std::string text_of(const question& what) {
    std::string text = method_of(what) + " ";
    text += what.to.target;
    text += " HTTP/1.1\r\nHost: ";
    text += what.to.authority;
    text += "\r\nAccept: ";
    text += what.accept;
    text += "\r\nUser-Agent: pillion\r\n";
    if (!what.authorization.empty()) {
        text += "Authorization: ";
        text += what.authorization;
        text += "\r\n";
    }
    for (const auto& [name, value] : what.headers) {
        text.append(name).append(": ").append(value).append("\r\n");
    }
    if (!what.content_type.empty()) {
        text.append("Content-Type: ").append(what.content_type).append("\r\n");
    }
    // RFC 9110 §8.6: where a method expects content, its length is sent although it is zero.
    const std::string method = method_of(what);
    if (!what.body.empty() || method == "POST" || method == "PUT" || method == "PATCH") {
        text += "Content-Length: " + std::to_string(what.body.size()) + "\r\n";
    }
    return text + "\r\n";
}

}  // namespace

// What a helper finds out. Shared with it: a call that ends meanwhile leaves it alone.
struct call::findings {
    url where;
    std::string socket;
    std::string name;                                // whom the certificate must name
    std::shared_ptr<const std::string> authorities;  // null: no context is needed, or any will do
    bool any_certificate = false;
    address_list addresses;
    std::shared_ptr<tls::client_context> context;
};

call::call(agent& of, std::uint64_t number, question what, agent::receiver then)
    : agent_(of),
      number_(number),
      what_(std::move(what)),
      then_(std::move(then)),
      reader_(of.loop_.chunks(), what_.sink != nullptr ? boundless : what_.answer_bytes_max,
              what_.method == "HEAD", what_.field) {
    agent_.all_.push_back(*this);
    ++agent_.calls_;
}

void call::start(bool may) {
    const std::int64_t now_ns = agent_.loop_.clock_ns();
    agent_.loop_.timers().arm(timer_, now_ns + (may ? what_.timeout_ms * base::ns_per_ms : 0));
    if (!may) {
        pending_ = agent::too_many;
        return;
    }
    if (!is_well_formed(what_)) {
        return fail_soon(ill_formed);
    }
    const bool verified = what_.to.secure && !what_.any_certificate;
    context_ = verified ? agent_.known(what_.peer_name()) : nullptr;
    if (!take_resting()) {
        look_up();
    }
}

bool call::take_resting() {
    connection_ = agent_.take_resting(what_, may_repeat(what_));
    if (connection_ == nullptr) {
        return false;
    }
    reused_ = true;
    stage_ = stage::talking;
    connection_->wake(*this);
    send_request();
    return true;
}

void call::look_up() {
    auto shared = std::make_shared<findings>();
    shared->where = what_.to;
    const bool needs_context = what_.to.secure && context_ == nullptr;
    if (needs_context) {
        shared->name = what_.peer_name();
        shared->any_certificate = what_.any_certificate;
        shared->authorities = what_.any_certificate ? nullptr : agent_.authorities_;
    }
    const bool local = !what_.socket.empty();
    if (!needs_context && (local || is_address(what_.to))) {
        addresses_ = local ? address_of_socket(what_.socket) : addresses_of(what_.to, true);
        return connect_next();
    }
    shared->socket = what_.socket;
    stage_ = stage::looking_up;
    const bool taken = agent_.helpers_.submit(
        agent_.loop_,
        [shared] {
            shared->addresses = shared->socket.empty() ? addresses_of(shared->where, false)
                                                       : address_of_socket(shared->socket);
            if (shared->any_certificate) {
                shared->context = context_for_anybody(shared->name);
            } else if (shared->authorities != nullptr) {
                shared->context = context_for(shared->name, *shared->authorities);
            }
        },
        [this, shared] { found(*shared); });
    if (!taken) {
        fail_soon(agent::too_many);
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
        if (!what.any_certificate && what.authorities == agent_.authorities_) {
            agent_.learn(what.name, context_);
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
        // Means nothing to a unix socket.
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
    open(fd);
}

void call::open(int fd) {
    stage_ = stage::talking;
    // It belongs to the agent.
    connection_ = new connection(agent_, fd, what_, what_.to.secure ? context_ : nullptr, *this);
    if (connection_->start()) {
        send_request();
    }
}

void call::send_request() {
    const std::string head = text_of(what_);
    base::byte_buffer all(agent_.loop_.chunks());
    all.reserve(head.size() + what_.body.size());
    all.append(head);
    all.append(what_.body);
    sent_ = true;
    connection_->write(all.take());
}

void call::on_data(char* data, std::size_t bytes) noexcept {
    heard_ = true;
    const answer_reader::state how = reader_.feed(data, bytes);
    if (what_.sink == nullptr || pass_on()) {
        take(how);
    }
}

// What has come goes to the sink. False: this is gone.
bool call::pass_on() {
    bool gone = false;
    gone_ = &gone;
    answer_sink& to = *what_.sink;
    if (reader_.in_body() && !std::exchange(head_told_, true)) {
        timer_.cancel();
        to.on_head(head_of());
    }
    if (!gone && !reader_.body().empty()) {
        const std::string piece = std::exchange(reader_.body(), {});
        to.on_piece(piece);
    }
    if (!gone) {
        gone_ = nullptr;
    }
    return !gone;
}

void call::on_eof() noexcept {
    if (!heard_ && again()) {
        return;
    }
    finish(reader_.end() == answer_reader::state::complete ? std::string_view() : agent::lost);
}

// The server has closed a connection that rested, and knows nothing of this request, or may be
// asked twice.
bool call::again() noexcept {
    if (!std::exchange(reused_, false) || !may_repeat(what_)) {
        return false;
    }
    let_go(false);
    stage_ = stage::waiting;
    look_up();
    return true;
}

void call::let_go(bool good) noexcept {
    connection* const mine = std::exchange(connection_, nullptr);
    if (mine == nullptr) {
        return;
    }
    if (!good) {
        return mine->close();
    }
    const std::int64_t kept_s = reader_.kept_s();
    mine->rest(kept_s < 0 ? rest_ms_max : std::min(rest_ms_max, 1000 * kept_s - 1000));
}

void call::take(answer_reader::state how) {
    switch (how) {
        case answer_reader::state::need_more:
            return;
        case answer_reader::state::complete:
            let_go(reader_.keep_alive());
            return finish({});
        case answer_reader::state::malformed:
            return finish(malformed);
        case answer_reader::state::too_large:
            return finish(agent::too_large);
    }
}

void call::on_lost(std::string_view fault) noexcept {
    connection_ = nullptr;
    if (heard_ || !again()) {
        finish(fault);
    }
}

void call::on_timer(io::timer&, void* owner) noexcept {
    auto& me = *static_cast<call*>(owner);
    me.finish(me.pending_.empty() ? too_late : me.pending_);
}

void call::on_attempt(io::timer&, void* owner) noexcept {
    auto& me = *static_cast<call*>(owner);
    me.agent_.loop_.ops().cancel(me.connect_);
}

answer call::head_of() {
    answer head;
    head.status = reader_.status();
    head.content_type = reader_.content_type();
    head.field = reader_.field();
    head.retry_after_s = reader_.retry_after_s();
    head.sent = sent_;
    return head;
}

// Ends what is in flight, and tells. It may be gone afterwards.
void call::finish(std::string_view fault) {
    agent::receiver then = std::exchange(then_, {});
    answer told;
    if (fault.empty()) {
        told = head_of();
        told.body = std::move(reader_.body());
    }
    told.fault = fault;
    told.sent = sent_;
    abandon();
    if (then) {
        then(std::move(told));
    }
}

void call::abandon() noexcept {
    then_ = {};
    timer_.cancel();
    attempt_.cancel();
    let_go(false);
    switch (stage_) {
        case stage::waiting:
        case stage::talking:
            return end();
        case stage::looking_up:
            return;  // found() ends it
        case stage::connecting:
            return agent_.loop_.ops().cancel(connect_);
        case stage::over:
            return;
    }
}

void call::end() noexcept {
    stage_ = stage::over;
    if (gone_ != nullptr) {
        *gone_ = true;
    }
    unlink();
    --agent_.calls_;
    delete this;
}

}  // namespace pillion::client
