// stdio_transport: MCP over a pair of pipes, one message a line, all revisions on one pipe
// (REVISIONS §3). The protocol is message_pipe's; here are lines, pace and the end of input.
//
// Thread: its shard.
#pragma once

#include <memory>

#include "base/unique_function.hpp"
#include "io/stream.hpp"
#include "mcp/id_scanner.hpp"
#include "mcp/message_pipe.hpp"

namespace pillion::mcp {

class stdio_transport final : public message_pipe, private io::stream_reader {
 public:
    // `on_end` is called once when the pipe is closed; the transport may be destroyed then.
    stdio_transport(engine& e, std::unique_ptr<io::stream> pipe,
                    base::unique_function<void()> on_end);
    ~stdio_transport();

    void start() noexcept;
    // Takes no more input; closes when what is under way has been answered.
    void drain() noexcept;
    // Closes now, sending what is queued.
    void close() noexcept;

    bool send(base::byte_buffer message) noexcept override;

 private:
    void on_one_ended() noexcept override;
    void on_session_end(const session* /*which*/) noexcept override {}
    void on_drain() noexcept override {}

    void on_data(char* data, std::size_t bytes) noexcept override;
    void on_eof() noexcept override;
    void on_drained() noexcept override;
    void on_closed(int os_errno) noexcept override;

    void keep(std::string_view part) noexcept;
    void refuse_oversize();
    void take_line(std::string_view line) noexcept;
    void close_if_done() noexcept;
    void pace() noexcept;

    std::unique_ptr<io::stream> pipe_;
    base::unique_function<void()> on_end_;
    base::byte_buffer partial_;  // a line that is still coming
    bool skipping_ = false;      // the rest of an oversize line
    id_scanner skipped_id_;
    bool eof_ = false;
    bool paused_ = false;
    bool slow_ = false;  // the client does not read: no new requests are taken
    bool closing_ = false;
    bool dead_ = false;
};

}  // namespace pillion::mcp
