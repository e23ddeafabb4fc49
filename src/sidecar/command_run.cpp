#include "sidecar/command_run.hpp"

#include "base/assert.hpp"

namespace pillion::sidecar {

command_run::command_run(io::reactor& loop, const bounds& of) noexcept
    : loop_(loop), bounds_(of), child_(loop, *this) {
    output_.of = this;
    errors_.of = this;
}

command_run::~command_run() { PILLION_ASSERT(exited_ && output_.over && errors_.over); }

bool command_run::start(const process::start_options& what, std::string& fault) {
    if (!child_.start(what, fault)) {
        return false;
    }
    exited_ = false;
    output_.begin(loop_, child_.output_fd());
    errors_.begin(loop_, child_.error_fd());
    return true;
}

task<bool> command_run::finish(coro::stop_node& stop) {
    const bool by_itself = co_await done_.wait(&stop);
    if (!by_itself) {
        child_.terminate(bounds_.kill_after_ms);
        co_await done_.wait();
    }
    co_return by_itself;
}

void command_run::pipe::begin(io::reactor& loop, int fd) {
    over = false;
    stream.emplace(loop, fd, -1);
    stream->start(*this);
}

void command_run::pipe::end() noexcept {
    if (!over) {
        stream->close(false);
    }
}

void command_run::pipe::on_data(char* data, std::size_t bytes) noexcept {
    text.append(data, bytes);
    of->take(*this);
}

void command_run::pipe::on_closed(int /*os_errno*/) noexcept {
    over = true;
    of->child_.look();
    of->settle();
}

void command_run::take(const pipe& from) noexcept {
    if (&from == &errors_) {
        // Twice the tail is moved at a time, and not each byte.
        if (errors_.text.size() > 2 * bounds_.stderr_tail_bytes) {
            errors_.text.erase(0, errors_.text.size() - bounds_.stderr_tail_bytes);
        }
        return;
    }
    if (output_.text.size() > bounds_.output_bytes_max && !too_large_) {
        too_large_ = true;
        child_.terminate(bounds_.kill_after_ms);
        output_.end();
    }
}

void command_run::on_exit(const process::exit_status& how) {
    how_ = how;
    exited_ = true;
    loop_.arm_in_ms(patience_, process::pipe_patience_ms);
    settle();
}

void command_run::on_patience(io::timer& /*self*/, void* owner) noexcept {
    auto& me = *static_cast<command_run*>(owner);
    if (++me.patience_used_ < process::pipe_patience_steps) {
        return me.loop_.arm_in_ms(me.patience_, process::pipe_patience_ms);
    }
    me.cut_ = !me.output_.over;
    me.output_.end();
    me.errors_.end();
}

void command_run::settle() noexcept {
    if (!exited_ || !output_.over || !errors_.over) {
        return;
    }
    patience_.cancel();
    if (errors_.text.size() > bounds_.stderr_tail_bytes) {
        errors_.text.erase(0, errors_.text.size() - bounds_.stderr_tail_bytes);
    }
    done_.set();
}

}  // namespace pillion::sidecar
