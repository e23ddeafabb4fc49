#include "http_link.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <cerrno>
#include <utility>

#include "tls_dial.hpp"

namespace pillion::load {

http_link::http_link(io::reactor& loop, const target& to, std::size_t answer_bytes_max,
                     link_user& user)
    : loop_(loop), to_(to), user_(user), reader_(loop.chunks(), answer_bytes_max, *this) {}

void http_link::open() noexcept {
    tls_fault_.clear();
    resumed_ = false;
    const sockaddr_storage& to = to_.address;
    fd_ = ::socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd_ < 0) {
        return user_.on_open(errno);
    }
    if (!to_.is_unix()) {
        const int on = 1;
        ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    loop_.ops().connect(connect_, fd_, &to, to_.address_bytes);
}

void http_link::on_connect(io::op& self, const io::completion& what) noexcept {
    static_cast<connect_op&>(self).owner->connected(what.res);
}

void http_link::connected(std::int32_t res) noexcept {
    const int fd = std::exchange(fd_, -1);
    if (res != 0) {
        loop_.ops().close(fd);
        return user_.on_open(-res);
    }
    const io::peer_name name = io::peer_name::of_text("server");
    if (to_.secure) {
        shaking_ = true;
        shaking_fault_ = ECONNRESET;
        tls::handshake_listener& me = *this;
        secure_.emplace(to_.dial->share(), to_.dial->context(), fd, name, nullptr, &me);
        stream_ = &*secure_;
        return stream_->start(*this);
    }
    plain_.emplace(loop_, fd, name);
    stream_ = &*plain_;
    stream_->start(*this);
    user_.on_open(0);
}

void http_link::on_handshake(bool resumed) noexcept {
    shaking_ = false;
    resumed_ = resumed;
    user_.on_open(0);
}

bool http_link::can_resume() const noexcept {
    return to_.secure && to_.dial->context()->can_resume();
}

void http_link::cancel_open() noexcept {
    if (shaking_) {
        shaking_fault_ = ECANCELED;
        stream_->close(false);
    } else {
        loop_.ops().cancel(connect_);
    }
}

bool http_link::send(std::string_view begin, std::size_t id_at, std::uint64_t id,
                     std::string_view end) noexcept {
    reader_.begin();
    waiting_ = true;
    answered_ = false;
    user_.on_bytes(0, begin.size() + end.size());
    write_message(*stream_, loop_.chunks(), begin, id_at, id, end);
    return true;
}

void http_link::on_data(char* data, std::size_t bytes) noexcept {
    user_.on_bytes(bytes, 0);
    if (!waiting_) {
        // Nobody asked: often a 408 before the server closes.
        return user_.on_lost();
    }
    const reply_state state = reader_.feed(data, bytes);
    if (state != reply_state::need_more) {
        replied(state);
    } else if (answered_ && waiting_) {
        user_.on_unended();
    }
}

void http_link::on_eof() noexcept {
    if (shaking_) {
        return stream_->close(false);
    }
    if (waiting_ && reader_.end() == reply_state::complete) {
        return replied(reply_state::complete);
    }
    user_.on_lost();
}

void http_link::on_message(char* text, std::size_t size) noexcept {
    if (all_events_) {
        user_.on_message(text, size);
    } else if (is_message() && user_.on_message(text, size)) {
        answered_ = true;
    }
}

void http_link::replied(reply_state how) noexcept {
    waiting_ = false;
    user_.on_reply({how, reader_.status(), how == reply_state::complete && reader_.keep_alive()});
}

void http_link::close() noexcept {
    // TLS says goodbye (RFC 8446 §6.1), but not behind a request that the server may never take.
    const bool again = std::exchange(closing_, true);
    stream_->close(to_.secure && !waiting_ && !again);
    waiting_ = false;
}

void http_link::on_closed(int os_errno) noexcept {
    waiting_ = closing_ = false;
    if (secure_) {
        tls_fault_ = secure_->fault();
    }
    stream_ = nullptr;
    plain_.reset();
    secure_.reset();
    reader_.begin();
    if (std::exchange(shaking_, false)) {
        user_.on_open(os_errno != 0 ? os_errno : shaking_fault_);
    } else {
        user_.on_closed(os_errno);
    }
}

}  // namespace pillion::load
