// pipe_link: newline-delimited JSON-RPC with a child process (stdio transport, REVISIONS §3).
//
// The child is started by open() and ended with the link: its input is closed, then it is asked to
// go, then it is killed; the link is closed when it is reaped. Steady state: no heap.
// Thread: its shard.
#pragma once

#include <optional>

#include "base/byte_buffer.hpp"
#include "child_process.hpp"
#include "io/reactor.hpp"
#include "io/stdio_stream.hpp"
#include "link.hpp"
#include "target.hpp"

namespace pillion::load {

class pipe_link final : public link, private io::stream_reader {
 public:
    pipe_link(io::reactor& loop, const target& to, std::size_t answer_bytes_max, link_user& user);
    pipe_link(const pipe_link&) = delete;
    pipe_link& operator=(const pipe_link&) = delete;
    ~pipe_link() override = default;

    void open() noexcept override;
    void cancel_open() noexcept override;
    bool send(std::string_view begin, std::size_t id_at, std::uint64_t id,
              std::string_view end) noexcept override;
    void answer(std::string_view text) noexcept override;
    void close() noexcept override;
    bool keeps_sessions() const noexcept override { return false; }
    const std::string& session() const noexcept override { return none_; }
    const std::string& path() const noexcept override { return none_; }
    std::string_view fault_text() const noexcept override { return fault_text_; }

 private:
    void on_data(char* data, std::size_t bytes) noexcept override;
    void on_eof() noexcept override;
    void on_drained() noexcept override {}
    void on_closed(int os_errno) noexcept override;

    void take_line(char* text, std::size_t size) noexcept;
    void reap() noexcept;
    static void on_timer(io::timer& self, void* owner) noexcept;

    io::reactor& loop_;
    const target& to_;
    link_user& user_;
    std::size_t bytes_max_;
    child_process child_;
    std::optional<io::stdio_stream> stream_;
    base::byte_buffer line_;  // what has come of a line that is not whole
    int input_ = -1;
    int output_ = -1;
    int broke_ = 0;              // why the stream ended
    int failure_ = 0;            // of starting
    bool waiting_ = false;       // for an answer
    bool closing_ = false;       // nothing is read any more
    bool left_ = false;          // the child closed a pipe while an answer was due
    std::int64_t ended_ns_ = 0;  // when the child's input was closed; 0: it is not
    io::timer again_{&pipe_link::on_timer, this};
    std::string none_;
    std::string fault_text_;
};

}  // namespace pillion::load
