#include "sse_link.hpp"

#include <cerrno>
#include <optional>
#include <utility>

namespace pillion::load {

namespace {

// What came of the request for the stream where none began.
std::string no_stream(const reply_end& how) {
    if (how.state == reply_state::malformed) {
        return "its answer to GET is not HTTP, or was cut off";
    }
    if (how.state == reply_state::too_large || how.status == 200) {
        return "its answer to GET has no endpoint event";
    }
    return "GET was answered " + std::to_string(how.status) + ", not with a stream of events" +
           (how.status == 404 || how.status == 405 ? "; mostly that is at /sse" : "");
}

}  // namespace

sse_link::sse_link(io::reactor& loop, const target& to, std::string opening,
                   std::size_t answer_bytes_max, link_user& user)
    : to_(to),
      user_(user),
      opening_(std::move(opening)),
      stream_(loop, to, answer_bytes_max, stream_user_),
      post_(loop, to, answer_bytes_max, post_user_) {
    stream_.tell_all_events();
}

void sse_link::open() noexcept {
    usable_ = leaving_ = waiting_ = unsent_ = false;
    failure_ = 0;
    path_.clear();
    fault_text_.clear();
    stream_is_ = state::opening;
    stream_.open();
}

void sse_link::cancel_open() noexcept { give_up(ECANCELED); }

void sse_link::opened(bool stream, int os_errno) noexcept {
    state& is = stream ? stream_is_ : post_is_;
    is = os_errno == 0 ? state::open : state::none;
    if (leaving_) {
        return close_both();
    }
    if (os_errno != 0) {
        return give_up(os_errno);
    }
    if (stream) {
        stream_.send(opening_, 0, 0, {});
    } else if (!usable_) {
        usable_ = true;
        user_.on_open(0);
    } else if (unsent_) {
        post();
    }
}

bool sse_link::heard(char* text, std::size_t size) noexcept {
    if (leaving_) {
        return false;
    }
    if (stream_.event_type() == "endpoint" && path_.empty()) {
        const std::optional<std::string> path = path_of_endpoint(to_, {text, size});
        if (!path) {
            give_up("its endpoint event names no path of this server");
            return false;
        }
        path_ = *path;
        post_is_ = state::opening;
        post_.open();
        return false;
    }
    if (!usable_ || !stream_.is_message() || !user_.on_message(text, size) || !waiting_) {
        return false;
    }
    answered_ = true;
    if (accepted_) {
        end_reply({});
    }
    return true;
}

bool sse_link::send(std::string_view begin, std::size_t id_at, std::uint64_t id,
                    std::string_view end) noexcept {
    begin_ = begin;
    id_at_ = id_at;
    id_ = id;
    end_ = end;
    waiting_ = true;
    accepted_ = false;
    // Nothing answers a notification.
    answered_ = id_at == 0;
    unsent_ = true;
    if (post_is_ == state::open) {
        post();
    } else if (post_is_ == state::none) {
        post_is_ = state::opening;
        post_.open();
    }
    return true;
}

void sse_link::post() noexcept {
    unsent_ = false;
    post_.send(begin_, id_at_, id_, end_);
}

void sse_link::replied(bool stream, const reply_end& how) noexcept {
    if (leaving_) {
        return;
    }
    if (stream) {
        // The stream has ended, or is none.
        return usable_ ? user_.on_lost() : give_up(no_stream(how));
    }
    if (!how.goes_on) {
        post_is_ = state::closing;
        post_.close();
    }
    const bool taken = how.state == reply_state::complete && how.status / 100 == 2;
    accepted_ = true;
    if (waiting_ && (answered_ || !taken)) {
        end_reply({how.state, taken ? std::uint16_t{200} : how.status, true});
    }
}

void sse_link::end_reply(const reply_end& how) noexcept {
    waiting_ = false;
    user_.on_reply(how);
}

void sse_link::lost(bool stream) noexcept {
    if (leaving_) {
        return;
    }
    if (!stream) {
        post_is_ = state::closing;
        post_.close();
        // Cut off before its reply.
        return waiting_ && !accepted_ && !unsent_ ? user_.on_lost() : void();
    }
    usable_ ? user_.on_lost() : give_up(ECONNRESET);
}

void sse_link::closed(bool stream, int os_errno) noexcept {
    (stream ? stream_is_ : post_is_) = state::none;
    if (leaving_) {
        return close_both();
    }
    if (!stream && unsent_) {
        post_is_ = state::opening;
        return post_.open();
    }
    if (stream || (waiting_ && !accepted_)) {
        usable_ ? user_.on_lost() : give_up(os_errno != 0 ? os_errno : ECONNRESET);
    }
}

void sse_link::close() noexcept {
    leaving_ = true;
    waiting_ = unsent_ = false;
    close_both();
}

// While it is opening.
void sse_link::give_up(int os_errno) noexcept {
    failure_ = os_errno;
    leaving_ = true;
    close_both();
}

void sse_link::give_up(std::string why) noexcept {
    fault_text_ = std::move(why);
    give_up(EPROTO);
}

// Tells the user when nothing is open any more.
void sse_link::close_both() noexcept {
    for (const auto& [is, connection] : {std::pair{&stream_is_, &stream_}, {&post_is_, &post_}}) {
        if (*is == state::opening) {
            connection->cancel_open();
        } else if (*is == state::open) {
            *is = state::closing;
            connection->close();
        }
    }
    if (stream_is_ == state::none && post_is_ == state::none && std::exchange(leaving_, false)) {
        usable_ ? user_.on_closed(0) : user_.on_open(failure_ != 0 ? failure_ : ECANCELED);
    }
}

}  // namespace pillion::load
