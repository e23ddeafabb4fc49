#include "sidecar/child_link.hpp"

#include <cstring>
#include <optional>
#include <utility>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "io/stdio_stream.hpp"
#include "process/child.hpp"
#include "sidecar/environment.hpp"
#include "sidecar/large_text.hpp"

namespace pillion::sidecar {

namespace {

// How long it may take to end at the end of its input, and then when it is told to.
constexpr std::int64_t term_after_ms = 1000;
constexpr std::int64_t kill_after_ms = 2000;
constexpr std::size_t tail_bytes = 2048;

// What it writes to stderr: lines for the log, and the last of them.
class error_output final : public io::stream_reader {
 public:
    error_output(io::reactor& loop, int fd, const std::string& server)
        : stream_(loop, fd, -1), server_(server) {
        stream_.start(*this);
    }
    bool over() const noexcept { return over_; }
    void close() noexcept { stream_.close(false); }
    // Its last words, as one line.
    std::string tail() const {
        std::string text = tail_;
        while (text.ends_with('\n')) {
            text.pop_back();
        }
        const std::size_t line = text.rfind('\n');
        return line == text.npos ? text : text.substr(line + 1);
    }

 private:
    void on_data(char* data, std::size_t bytes) noexcept override {
        const std::string_view text(data, bytes);
        tail_.append(text);
        if (tail_.size() > tail_bytes) {
            tail_.erase(0, tail_.size() - tail_bytes);
        }
        log::debug("bridge.stderr", {log::kv("server", server_), log::kv("text", text)});
    }
    void on_eof() noexcept override { stream_.close(false); }
    void on_drained() noexcept override {}
    void on_closed(int /*os_errno*/) noexcept override { over_ = true; }

    io::stdio_stream stream_;
    const std::string& server_;
    std::string tail_;
    bool over_ = false;
};

class child_link final : public server_link,
                         private io::stream_reader,
                         private process::child_watcher {
 public:
    child_link(io::reactor& loop, const bridge_spec& what)
        : loop_(loop), spec_(what), child_(loop, *this) {}
    ~child_link() override {
        PILLION_ASSERT(!stream_ || closed_);
        give_back(input_);
    }

    void start(link_reader& reader) override;
    void send(std::string message) override;
    void close() noexcept override;

 private:
    void on_data(char* data, std::size_t bytes) noexcept override;
    void on_eof() noexcept override { close(); }
    void on_drained() noexcept override {}
    void on_closed(int os_errno) noexcept override;
    void on_exit(const process::exit_status& how) override;
    static void on_timer(io::timer& self, void* owner) noexcept;

    void take_lines();
    bool settled() const noexcept { return exited_ && closed_ && (!errors_ || errors_->over()); }
    void settle() noexcept;

    io::reactor& loop_;
    bridge_spec spec_;
    process::child child_;
    link_reader* reader_ = nullptr;
    std::optional<io::stdio_stream> stream_;
    std::optional<error_output> errors_;
    std::string input_;         // what is not a whole line yet
    std::size_t searched_ = 0;  // so much of it holds no end of a line
    std::string why_;
    bool closed_ = false;
    bool exited_ = false;
    bool ending_ = false;
    int patience_used_ = 0;
    // Ends what is left of the pipes; tells the reader of the end.
    io::timer timer_{&child_link::on_timer, this};
    io::timer term_{[](io::timer&, void* owner) noexcept {
                        static_cast<child_link*>(owner)->child_.terminate(kill_after_ms);
                    },
                    this};
};

void child_link::start(link_reader& reader) {
    reader_ = &reader;
    process::start_options how;
    how.argv = spec_.argv;
    how.environment = environment_of(spec_.passed, spec_.environment);
    how.folder = spec_.folder;
    if (!child_.start(how, why_)) {
        exited_ = true;
        closed_ = true;
        loop_.arm_in_ms(timer_, 0);
        return;
    }
    stream_.emplace(loop_, child_.output_fd(), child_.input_fd());
    errors_.emplace(loop_, child_.error_fd(), spec_.name);
    stream_->start(*this);
}

void child_link::send(std::string message) {
    if (!stream_ || closed_ || ending_ || exited_) {
        return;
    }
    message += '\n';
    for (std::string_view rest = message; !rest.empty();) {
        base::chunk* const piece = loop_.chunks().take(std::min<std::size_t>(rest.size(), 65536));
        const std::size_t bytes = std::min<std::size_t>(rest.size(), piece->capacity);
        std::memcpy(piece->data(), rest.data(), bytes);
        piece->end = static_cast<std::uint32_t>(bytes);
        rest.remove_prefix(bytes);
        stream_->write(piece);
    }
    // It does not read: what it would have to be told must not fill our memory.
    if (stream_->queued_bytes() > spec_.message_bytes_max) {
        why_ = "it does not read what it is sent";
        close();
    }
}

void child_link::close() noexcept {
    if (ending_) {
        return;
    }
    ending_ = true;
    // The end of its input is how a server is asked to end, and it may have something to save. TERM
    // says it later to those that go on (MCP 2025-11-25, Lifecycle, Shutdown, stdio).
    if (stream_ && !closed_) {
        stream_->close(false);
    }
    if (!exited_) {
        loop_.arm_in_ms(term_, term_after_ms);
    }
}

void child_link::on_data(char* data, std::size_t bytes) noexcept {
    if (ending_) {
        return;
    }
    input_.append(data, bytes);
    take_lines();
    if (input_.size() > spec_.message_bytes_max) {
        why_ = "its message is too large";
        close();
        give_back(input_);
    }
}

void child_link::take_lines() {
    std::size_t begin = 0;
    for (std::size_t end = input_.find('\n', searched_); end != input_.npos && !ending_;
         end = input_.find('\n', begin)) {
        std::string_view line(input_.data() + begin, end - begin);
        begin = end + 1;
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        if (!line.empty()) {
            reader_->on_message(line);
        }
    }
    input_.erase(0, begin);
    if (input_.empty()) {
        give_back(input_);
    }
    searched_ = input_.size();
}

void child_link::on_closed(int /*os_errno*/) noexcept {
    closed_ = true;
    child_.close_input();
    child_.look();
    close();
    settle();
}

void child_link::on_exit(const process::exit_status& how) {
    exited_ = true;
    term_.cancel();
    if (why_.empty()) {
        why_ = process::describe(how);
    }
    // What it has said last is in the pipes: it is read until their end.
    loop_.arm_in_ms(timer_, process::pipe_patience_ms);
    settle();
}

void child_link::settle() noexcept {
    if (settled()) {
        loop_.arm_in_ms(timer_, 0);
    }
}

void child_link::on_timer(io::timer& self, void* owner) noexcept {
    auto& me = *static_cast<child_link*>(owner);
    if (!me.settled()) {
        if (++me.patience_used_ >= process::pipe_patience_steps) {
            me.close();
            me.errors_->close();
        }
        return me.loop_.arm_in_ms(self, process::pipe_patience_ms);
    }
    std::string why = std::move(me.why_);
    if (me.errors_ && !me.errors_->tail().empty()) {
        why += ": " + me.errors_->tail();
    }
    me.reader_->on_end(std::move(why));
}

}  // namespace

std::unique_ptr<server_link> link_to_child(io::reactor& loop, const bridge_spec& what) {
    return std::make_unique<child_link>(loop, what);
}

}  // namespace pillion::sidecar
