// batch: the replies of one JSON-RPC batch (2025-03-26 only), gathered into one array.
//
// Members are requests of their own that share the input of a holder request. Where a member sends
// a notification before the end, what was gathered leaves first and the rest follows one by one, or
// as one more array where the client has read slowly. What is gathered is what one request holds:
// it is bounded likewise.
// The derived class knows the transport; it is heap-allocated and deletes itself in done().
// Thread: its shard.
#pragma once

#include <cstdint>

#include "mcp/engine.hpp"
#include "mcp/reply_channel.hpp"

namespace pillion::mcp {

class batch : public reply_channel {
 public:
    // `holder` owns the parsed input; the batch finishes it. `paid`: its caller has been charged
    // for one request, each further one costs as much. `paced`: where emit() says that the client
    // reads slowly, the next messages are gathered until unblocked().
    batch(engine& e, request& holder, bool paid, bool paced) noexcept;

    // Runs all members of `messages` (a non-empty array) in the session `s`; at the end, now or
    // later, done() is called once.
    void run(json::view messages, const session_ref& s);

    bool notify(request& r, base::byte_buffer message) noexcept override;
    void reply(request& r, base::byte_buffer message, std::uint16_t http_status) noexcept override;
    void drop(request& r) noexcept override;

 protected:
    virtual ~batch();

    // Sends one message (or array) ahead of the end. Returns false when the client reads slowly.
    virtual bool emit(base::byte_buffer message) noexcept = 0;
    // Sends the rest: `all` is an array, or empty when there is nothing (more) to send. The last
    // call; deletes the object.
    virtual void done(base::byte_buffer all) noexcept = 0;

    // The client has read what was sent. May delete the object.
    void unblocked() noexcept;
    // The client is gone: members run on without replies. May delete the object.
    void abandon() noexcept;

    engine& engine_;

 private:
    bool gather(std::string_view message, std::size_t most) noexcept;
    bool send(base::byte_buffer message) noexcept;
    base::byte_buffer take_gathered() noexcept;
    void member_ended() noexcept;
    void finish() noexcept;
    void run_member(json::view message, const session_ref& s);

    request& holder_;
    base::byte_buffer gathered_;
    std::size_t pending_ = 1;  // run() itself holds one
    bool paid_;
    const bool paced_;
    bool emitting_ = false;
    bool blocked_ = false;  // what was sent has not been read
    bool abandoned_ = false;
};

// Why `messages` may not be a batch in that session (null: none yet); empty when it may.
safe_text objection_to(json::view messages, const session_ref& s, std::size_t most) noexcept;

// What a legacy notification asks for: cancellation; all others are only acknowledged.
void take_notification(engine& e, std::string_view method, json::view params, const session_ref& s);

}  // namespace pillion::mcp
