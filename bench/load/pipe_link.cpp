#include "pipe_link.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/limits.hpp"

namespace pillion::load {

namespace {

constexpr std::int64_t look_ms = 2;
// A server goes when its input ends; who does not is told to, and then made to.
constexpr std::int64_t patience_ns = 300'000'000;
constexpr std::int64_t last_patience_ns = 800'000'000;

}  // namespace

pipe_link::pipe_link(io::reactor& loop, const target& to, std::size_t answer_bytes_max,
                     link_user& user)
    : loop_(loop), to_(to), user_(user), bytes_max_(answer_bytes_max), line_(loop.chunks()) {}

void pipe_link::open() noexcept {
    failure_ = child_.start(to_.command);
    if (failure_ != 0) {
        return user_.on_open(failure_);
    }
    input_ = child_.take_input();
    output_ = child_.take_output();
    broke_ = 0;
    closing_ = waiting_ = left_ = false;
    fault_text_.clear();
    stream_.emplace(loop_, output_, input_);
    stream_->start(*this);
    user_.on_open(0);
}

// There is nothing to wait for.
void pipe_link::cancel_open() noexcept {}

bool pipe_link::send(std::string_view begin, std::size_t id_at, std::uint64_t id,
                     std::string_view end) noexcept {
    waiting_ = id_at > 0;
    user_.on_bytes(0, begin.size() + end.size());
    write_message(*stream_, loop_.chunks(), begin, id_at, id, end);
    return waiting_;
}

void pipe_link::answer(std::string_view text) noexcept {
    if (!closing_) {
        user_.on_bytes(0, text.size() + 1);
        write_message(*stream_, loop_.chunks(), text, 0, 0, "\n");
    }
}

void pipe_link::on_data(char* data, std::size_t bytes) noexcept {
    user_.on_bytes(bytes, 0);
    while (bytes > 0 && !closing_) {
        char* const end = static_cast<char*>(std::memchr(data, '\n', bytes));
        const std::size_t size = end == nullptr ? bytes : static_cast<std::size_t>(end - data);
        if (line_.size() + size > bytes_max_) {
            waiting_ = false;
            return user_.on_reply({reply_state::too_large, 200, false});
        }
        if (end != nullptr && line_.empty()) {
            take_line(data, size);
        } else {
            line_.reserve(size + limits::padding);
            line_.append({data, size});
            if (end != nullptr) {
                take_line(line_.data(), line_.size());
                line_.clear();
            }
        }
        const std::size_t used = size + (end == nullptr ? 0 : 1);
        data += used;
        bytes -= used;
    }
    if (line_.empty()) {
        base::chunk_pool::give(line_.take());
    }
}

void pipe_link::take_line(char* text, std::size_t size) noexcept {
    while (size > 0 && (text[size - 1] == '\r' || text[size - 1] == ' ')) {
        --size;
    }
    // Also when nobody waits: a message that was not asked for.
    if (size > 0 && user_.on_message(text, size) && waiting_) {
        waiting_ = false;
        user_.on_reply({});
    }
}

void pipe_link::on_eof() noexcept {
    if (!waiting_) {
        return user_.on_lost();
    }
    // Whoever waits is told when it is known how the child ended.
    left_ = true;
    close();
}

void pipe_link::close() noexcept {
    if (!std::exchange(closing_, true)) {
        stream_->close(false);
    }
}

void pipe_link::on_closed(int os_errno) noexcept {
    if (!std::exchange(closing_, true)) {
        // A broken pipe, where the child went before it read: as above.
        left_ = waiting_;
        if (!left_) {
            broke_ = os_errno;
            user_.on_lost();
        }
    }
    stream_.reset();
    base::chunk_pool::give(line_.take());
    loop_.ops().close(std::exchange(input_, -1));
    loop_.ops().close(std::exchange(output_, -1));
    ended_ns_ = loop_.now_ns();
    loop_.arm_in_ms(again_, 0);
}

void pipe_link::on_timer(io::timer&, void* owner) noexcept {
    static_cast<pipe_link*>(owner)->reap();
}

void pipe_link::reap() noexcept {
    const std::int64_t since = loop_.now_ns() - ended_ns_;
    if (child_.has_ended()) {
        if (left_) {
            fault_text_ = since < patience_ns ? "the command " + child_.end_text()
                                              : "the command closed its input or output";
        }
        return user_.on_closed(broke_);
    }
    if (since >= patience_ns) {
        child_.signal(since >= last_patience_ns ? SIGKILL : SIGTERM);
    }
    loop_.arm_in_ms(again_, look_ms);
}

}  // namespace pillion::load
