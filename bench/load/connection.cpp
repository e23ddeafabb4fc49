#include "connection.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "base/limits.hpp"
#include "base/number.hpp"

namespace pillion::load {

namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::int64_t pause_min_ns = 10 * ns_per_ms;
constexpr std::int64_t pause_max_ns = 1000 * ns_per_ms;
// Ending sessions is a courtesy.
constexpr std::int64_t farewell_ns = 500 * ns_per_ms;
// Together with the request's beginning in one piece of memory.
constexpr std::size_t copied_end_max = 2048;

fault class_of_status(std::uint16_t status) noexcept {
    return status >= 500 ? fault::http_5xx : status >= 400 ? fault::http_4xx : fault::http_other;
}

}  // namespace

connection::connection(connection_plan& plan)
    : plan_(plan), reader_(plan.loop->chunks(), plan.answer_bytes_max, *this) {}

connection::~connection() { PILLION_ASSERT(is_gone() || phase_ == phase::idle); }

void connection::open() noexcept {
    const sockaddr_storage& to = plan_.to->address;
    phase_ = phase::connecting;
    served_ = false;
    began_ns_ = now_ns();
    fd_ = ::socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd_ < 0) {
        example_bytes_ = 0;
        tell({fault::unreachable});
        return try_later(false);
    }
    if (!plan_.to->is_unix()) {
        const int on = 1;
        ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    plan_.loop->ops().connect(connect_, fd_, &to, plan_.to->address_bytes);
}

void connection::on_connect(io::op& self, const io::completion& what) noexcept {
    static_cast<connect_op&>(self).owner->connected(what.res);
}

void connection::connected(std::int32_t res) noexcept {
    const int fd = std::exchange(fd_, -1);
    if (res == 0 && !leaving_) {
        stream_.emplace(*plan_.loop, fd, io::peer_name::of_text("server"));
        stream_->start(*this);
        return shake_hands();
    }
    plan_.loop->ops().close(fd);
    if (leaving_) {
        phase_ = phase::gone;
        return;
    }
    // A unix socket whose queue is full says EAGAIN; being too many is no error of the server yet.
    if (res != -EAGAIN) {
        const bool late = res == -ECANCELED || res == -ETIMEDOUT;
        set_example(std::strerror(-res));
        tell({res == -ECONNREFUSED || res == -ENOENT ? fault::refused
              : late                                 ? fault::timeout
                                                     : fault::unreachable});
    }
    try_later(false);
}

// A session outlives its connection.
void connection::shake_hands() noexcept {
    if (plan_.what->modern()) {
        if (request_.begin.empty()) {
            request_ = render(*plan_.what, plan_.what->what, *plan_.to, {});
        }
        return become_free();
    }
    if (confirmed_) {
        return become_free();
    }
    if (introduced_) {
        return confirm();
    }
    phase_ = phase::initializing;
    asked_ = action::initialize;
    send_own(render(*plan_.what, action::initialize, *plan_.to, {}));
}

void connection::confirm() noexcept {
    phase_ = phase::confirming;
    asked_ = action::initialized;
    send_own(render(*plan_.what, action::initialized, *plan_.to, session_));
}

void connection::become_free() noexcept {
    phase_ = phase::free;
    plan_.watcher->on_free(*this);
}

void connection::ask(std::int64_t due_ns) noexcept {
    phase_ = phase::asking;
    asked_ = plan_.what->what;
    due_ns_ = due_ns;
    send(request_.begin, request_.id_at, *plan_.request_end);
}

void connection::send_own(const request_text& text) noexcept {
    send(text.begin, text.id_at, text.end);
}

// REQUIRES: an `end` longer than copied_end_max outlives the stream.
void connection::send(const std::string& begin, std::size_t id_at, std::string_view end) noexcept {
    began_ns_ = now_ns();
    heard_.reset();
    example_bytes_ = 0;
    reader_.begin();
    const bool copied = end.size() <= copied_end_max;
    const std::size_t bytes = begin.size() + (copied ? end.size() : 0);
    base::chunk* const out = plan_.loop->chunks().take(bytes);
    char* const to = out->data();
    std::memcpy(to, begin.data(), begin.size());
    if (id_at > 0) {
        id_ = plan_.next_id++;
        base::format(to + id_at, id_);
    }
    if (copied) {
        end.copy(to + begin.size(), end.size());
    }
    out->end = static_cast<std::uint32_t>(bytes);
    plan_.watcher->on_bytes(0, begin.size() + end.size());
    stream_->write(out);
    if (!copied) {
        stream_->write_static(end);
    }
}

void connection::on_data(char* data, std::size_t bytes) noexcept {
    plan_.watcher->on_bytes(bytes, 0);
    if (phase_ < phase::initializing || phase_ == phase::free || phase_ >= phase::closing) {
        // Nobody asked: often a 408 before the server closes.
        return close();
    }
    const reply_state state = reader_.feed(data, bytes);
    if (state != reply_state::need_more) {
        answered(state);
    }
}

void connection::on_eof() noexcept {
    if (phase_ < phase::initializing || phase_ == phase::free || phase_ >= phase::closing) {
        return close();
    }
    if (reader_.end() == reply_state::complete) {
        return answered(reply_state::complete);
    }
    set_example({});
    finish({fault::closed});
}

void connection::on_message(char* text, std::size_t size) noexcept {
    answer_ns_ = now_ns();
    // The first wrong one counts.
    if (heard_ && heard_->what != fault::none) {
        return;
    }
    // Before the text is parsed in place.
    set_example({text, size});
    const bool unread = asked_ == action::initialized || is_unchecked();
    if (reader_.status() != 200 || unread || size == 0) {
        return;
    }
    const std::optional<verdict> how =
        plan_.check->judge(text, size, id_, asked_, plan_.what->modern());
    if (how) {
        // A second answer is one that nobody asked for.
        heard_ = heard_ ? verdict{fault::wrong_id} : *how;
    }
}

// What an answer that is complete amounts to.
verdict connection::judge_reply() const noexcept {
    const std::uint16_t status = reader_.status();
    if (phase_ == phase::confirming) {
        return {status >= 200 && status < 300 ? fault::none : class_of_status(status)};
    }
    if (status != 200) {
        return {class_of_status(status)};
    }
    return is_unchecked() ? verdict{} : heard_.value_or(verdict{fault::malformed});
}

void connection::answered(reply_state state) noexcept {
    if (phase_ == phase::deleting) {
        return close();
    }
    if (is_unchecked()) {
        answer_ns_ = now_ns();
    }
    const verdict how = state == reply_state::complete    ? judge_reply()
                        : state == reply_state::too_large ? verdict{fault::too_large}
                                                          : verdict{fault::malformed};
    const bool goes_on = state == reply_state::complete && reader_.keep_alive();
    served_ = state == reply_state::complete;
    if (phase_ != phase::asking) {
        return how.what == fault::none ? handshake_answered(goes_on) : finish(how);
    }
    pause_ns_ = served_ ? 0 : pause_ns_;
    // The server has forgotten the session (REVISIONS §5.4): another one is begun.
    if (reader_.status() == 404 && !session_.empty()) {
        introduced_ = confirmed_ = false;
        return finish(how);
    }
    if (!goes_on) {
        return finish(how);
    }
    tell(how);
    become_free();
}

void connection::handshake_answered(bool goes_on) noexcept {
    if (phase_ == phase::confirming) {
        confirmed_ = true;
        return goes_on ? become_free() : close();
    }
    if (plan_.check->negotiated() != name_of(plan_.what->rev)) {
        speaks_otherwise_ = true;
        return finish({fault::wrong_shape});
    }
    introduced_ = true;
    session_ = reader_.session();
    request_ = render(*plan_.what, plan_.what->what, *plan_.to, session_);
    return goes_on ? confirm() : close();
}

void connection::set_example(std::string_view text) noexcept {
    example_bytes_ = text.copy(example_, sizeof example_);
}

// Whether it was a request of the scenario or one of our own, its end is told.
void connection::tell(const verdict& how) noexcept {
    std::string_view example{example_, example_bytes_};
    char with_status[sizeof example_ + 8];
    if (how.what >= fault::http_other && how.what <= fault::http_5xx) {
        const int bytes =
            std::snprintf(with_status, sizeof with_status, "%d %.*s", int{reader_.status()},
                          static_cast<int>(example.size()), example.data());
        example = {with_status, static_cast<std::size_t>(bytes)};
    }
    if (due_ns_ >= 0) {
        plan_.watcher->on_answer(std::exchange(due_ns_, -1),
                                 how.what == fault::none ? answer_ns_ : now_ns(), how, example);
    } else if (how.what != fault::none) {
        plan_.watcher->on_failed(how, example);
    }
}

void connection::finish(const verdict& how) noexcept {
    tell(how);
    close();
}

void connection::close() noexcept {
    if (stream_ && phase_ != phase::closing) {
        phase_ = phase::closing;
        stream_->close(false);
    }
}

void connection::on_closed(int os_errno) noexcept {
    if (phase_ >= phase::initializing && phase_ < phase::deleting && phase_ != phase::free) {
        set_example(os_errno == 0 ? "" : std::strerror(os_errno));
        tell({os_errno == 0 ? fault::closed : fault::reset});
    }
    stream_.reset();
    reader_.begin();
    if (leaving_) {
        phase_ = phase::gone;
        return;
    }
    plan_.watcher->on_reconnect();
    try_later(served_);
}

// Whoever was not served waits, each time longer.
void connection::try_later(bool at_once) noexcept {
    phase_ = phase::idle;
    if (at_once) {
        return open();
    }
    pause_ns_ = std::clamp(pause_ns_ * 2, pause_min_ns, pause_max_ns);
    retry_ns_ = now_ns() + pause_ns_;
}

void connection::look_at_clock() noexcept {
    const std::int64_t now = now_ns();
    if (phase_ == phase::idle && !leaving_ && now >= retry_ns_) {
        return open();
    }
    const bool last_words = phase_ == phase::deleting;
    const bool late = now - began_ns_ >= (last_words ? farewell_ns : plan_.timeout_ns);
    if (!late || phase_ == phase::idle || phase_ == phase::free || phase_ >= phase::closing) {
        return;
    }
    if (phase_ == phase::connecting) {
        plan_.loop->ops().cancel(connect_);
    } else if (last_words) {
        close();
    } else {
        set_example({});
        finish({fault::timeout});
    }
}

void connection::leave() noexcept {
    leaving_ = true;
    if (phase_ == phase::idle) {
        phase_ = phase::gone;
    } else if (phase_ == phase::connecting) {
        plan_.loop->ops().cancel(connect_);
    } else if (phase_ == phase::free && !session_.empty()) {
        phase_ = phase::deleting;
        send_own({render_delete(*plan_.what, *plan_.to, session_), {}, 0});
    } else {
        close();
    }
}

}  // namespace pillion::load
