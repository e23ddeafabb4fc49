// message_pipe: the protocol on a channel that carries whole messages both ways and belongs to one
// client: stdio, and the legacy HTTP+SSE transport. It opens at most one legacy session; where
// modern messages are allowed they are served statelessly beside it (REVISIONS §2, §3).
//
// The derived class knows the framing: it calls take_message() and implements send(). Thread: its
// shard.
#pragma once

#include <cstdint>
#include <string_view>

#include "mcp/batch.hpp"
#include "mcp/engine.hpp"
#include "mcp/paced_listener.hpp"
#include "rpc/envelope.hpp"

namespace pillion::mcp {

class message_pipe : public reply_channel, protected paced_listener {
 public:
    message_pipe(const message_pipe&) = delete;
    message_pipe& operator=(const message_pipe&) = delete;

    bool notify(request& r, base::byte_buffer message) noexcept override;
    void reply(request& r, base::byte_buffer message, std::uint16_t http_status) noexcept override;
    void drop(request& r) noexcept override;
    bool is_pipe() const noexcept override { return true; }

    // Sends one message; false when the client reads slowly.
    virtual bool send(base::byte_buffer message) noexcept = 0;
    // A batch on this pipe began; one message (or batch) has been answered or given up.
    void batch_began() noexcept { ++open_; }
    void one_ended() noexcept;

 protected:
    // `prefix` begins the request ids of the log ("stdio-"). `from` pays for what comes; `paid`:
    // each message has been charged to it when it arrived.
    message_pipe(engine& e, std::string_view prefix, bool serves_modern, const caller& from,
                 bool paid);
    ~message_pipe();

    // What the caller may use from the next message on.
    void take_rights(const granted& rights);
    // Handles one message.
    void take_message(std::string_view text);
    // Sends an error about the message that was taken last; without `id` it belongs to no request.
    void send_error(int code, safe_text message, json::view id = {});
    // Gives the next message a request id of our own, for the log (STANDARD row 107).
    void count_message() noexcept;
    // Requests under way.
    std::size_t under_way() const noexcept { return open_; }
    // Modern calls whose client is gone have been given up.
    void forget(std::size_t calls) noexcept { open_ -= calls; }
    const session_ref& current_session() const noexcept { return session_; }
    // After each one_ended(); the last thing done, so the pipe may delete itself.
    virtual void on_one_ended() noexcept = 0;

 private:
    void on_task_status(const task_record& now) noexcept override;
    bool tell(const change_event& event) noexcept override;

    void take_request(request& r, const rpc::envelope& e, json::view root);
    void take_batch(request& r, json::view root);
    safe_text objection(const request& r, const rpc::envelope& e, bool modern_era) const;

    std::string_view prefix_;
    bool serves_modern_;
    std::string name_;
    std::string scopes_;
    caller from_;
    bool paid_;
    session_ref session_;
    std::size_t open_ = 0;
    std::uint64_t messages_ = 0;
    char request_id_[40];
    std::uint8_t request_id_bytes_ = 0;
};

}  // namespace pillion::mcp
