#include "mcp/stdio_transport.hpp"

#include "base/assert.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "json/parser.hpp"
#include "rpc/errors.hpp"

namespace pillion::mcp {

stdio_transport::stdio_transport(engine& e, std::unique_ptr<io::stream> pipe,
                                 base::unique_function<void()> on_end)
    : message_pipe(e, "stdio-", true, caller::at({}), false),
      pipe_(std::move(pipe)),
      on_end_(std::move(on_end)),
      partial_(e.loop().chunks()) {}

stdio_transport::~stdio_transport() = default;

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
    if (eof_ && under_way() == 0) {
        close();
    }
}

bool stdio_transport::send(base::byte_buffer message) noexcept {
    if (dead_) {
        return true;
    }
    message.append('\n');
    if (!pipe_->write(message.take())) {
        slow_ = true;
        pace();
        return false;
    }
    if (paused_) {
        pace();
    }
    return true;
}

// Input is taken while there is room for what it causes.
void stdio_transport::pace() noexcept {
    const std::size_t cap = engine_.options().in_flight_per_pipe_max;
    // Calls that wait for the client's answer must not keep that answer from being read.
    const std::size_t asking = under_way() < cap / 2 ? 0 : engine_.questions();
    // Open subscriptions end with the input alone, which nobody would see.
    const std::size_t waiting = asking + engine_.pipe_listens();
    const std::size_t busy = under_way() > waiting ? under_way() - waiting : 0;
    const bool want = slow_ || busy >= (paused_ ? cap / 2 : cap);
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

void stdio_transport::on_one_ended() noexcept {
    pace();
    close_if_done();
}

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
    if (!skipping_ && partial_.size() + part.size() <= engine_.options().body_bytes_max) {
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
    count_message();
    const bool usable = parsed.ok && (parsed.root.is_string() || parsed.root.is_integer());
    send_error(rpc::too_large, "Message too large", usable ? parsed.root : json::view{});
}

void stdio_transport::take_line(std::string_view line) noexcept {
    if (line.ends_with('\r')) {
        line.remove_suffix(1);
    }
    if (line.find_first_not_of(" \t") != line.npos) {
        take_message(line);
    }
    partial_.clear();
}

void stdio_transport::on_eof() noexcept {
    // A last line without its newline still counts.
    if (skipping_) {
        refuse_oversize();
    } else if (!partial_.empty()) {
        take_line(partial_.view());
    }
    eof_ = true;
    engine_.end_questions();
    // Modern calls end with their client; earlier ones are answered first.
    const std::size_t gone = engine_.disconnect_modern(*this);
    PILLION_ASSERT(gone <= under_way());
    forget(gone);
    close_if_done();
}

void stdio_transport::on_drained() noexcept {
    slow_ = false;
    engine_.writable();
    catch_up();
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

}  // namespace pillion::mcp
