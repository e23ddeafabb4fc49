// stdio_transport: MCP over a pair of pipes, one message a line, all revisions on one pipe
// (REVISIONS §3): messages with modern `_meta` are served statelessly, the others belong to the
// one legacy session that initialize opens.
//
// Thread: its shard.
#pragma once

#include <memory>

#include "base/unique_function.hpp"
#include "io/stream.hpp"
#include "mcp/batch.hpp"
#include "mcp/engine.hpp"
#include "mcp/hub.hpp"
#include "mcp/id_scanner.hpp"
#include "rpc/envelope.hpp"

namespace pillion::mcp {

class stdio_transport final : public reply_channel,
                              private io::stream_reader,
                              private change_listener {
 public:
    // `on_end` is called once when the pipe is closed; the transport may be destroyed then.
    stdio_transport(engine& e, std::unique_ptr<io::stream> pipe,
                    base::unique_function<void()> on_end);
    stdio_transport(const stdio_transport&) = delete;
    stdio_transport& operator=(const stdio_transport&) = delete;
    ~stdio_transport();

    void start() noexcept;
    // Takes no more input; closes when what is under way has been answered.
    void drain() noexcept;
    // Closes now, sending what is queued.
    void close() noexcept;

    bool notify(request& r, base::byte_buffer message) noexcept override;
    void reply(request& r, base::byte_buffer message, std::uint16_t http_status) noexcept override;
    void drop(request& r) noexcept override;
    bool is_pipe() const noexcept override { return true; }

    // Sends one line; false when the reader is slow.
    bool send_line(base::byte_buffer message) noexcept;
    // A batch on this pipe began or ended.
    void batch_began() noexcept { ++open_; }
    void one_ended() noexcept;

 private:
    void on_data(char* data, std::size_t bytes) noexcept override;
    void on_eof() noexcept override;
    void on_drained() noexcept override;
    void on_closed(int os_errno) noexcept override;
    void on_change(const change_event& event) noexcept override;
    void on_session_end(const session* /*which*/) noexcept override {}
    void on_drain() noexcept override {}

    void keep(std::string_view part) noexcept;
    void refuse_oversize();
    void take_line(std::string_view line) noexcept;
    void handle_line(std::string_view line);
    void handle_message(request& r, const rpc::envelope& e, json::view root);
    void handle_batch(request& r, json::view root);
    void error_line(int code, std::string_view message, json::view id = {});
    void close_if_done() noexcept;
    void pace() noexcept;

    engine& engine_;
    std::unique_ptr<io::stream> pipe_;
    base::unique_function<void()> on_end_;
    session_ref session_;
    base::byte_buffer partial_;     // a line that is still coming
    bool skipping_ = false;         // the rest of an oversize line
    id_scanner skipped_id_;
    bool eof_ = false;
    bool paused_ = false;
    bool slow_ = false;             // the client does not read: no new requests are taken
    bool closing_ = false;
    bool dead_ = false;
    std::size_t open_ = 0;          // requests under way
    std::uint64_t next_request_ = 0;
};

}  // namespace pillion::mcp
