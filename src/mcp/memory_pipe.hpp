// memory_pipe: a client in the same process. Messages are handed over as text; era, session and
// replies are those of any other pipe (message_pipe).
//
// Thread: its shard.
#pragma once

#include <string>
#include <string_view>

#include "base/unique_function.hpp"
#include "mcp/message_pipe.hpp"

namespace pillion::mcp {

class memory_pipe final : public message_pipe {
 public:
    // Every outgoing message is given to `receive`, which must not call back into the pipe.
    memory_pipe(engine& e, base::unique_function<void(std::string_view)> receive);

    // A message of the client. Never from inside `receive`.
    void take(std::string_view message) { take_message(message); }
    // The client goes: its session ends, what it asked for is stopped. Nothing is sent afterwards.
    void close() noexcept;
    // After close(): whether the pipe may be destroyed.
    bool ended() const noexcept { return closed_ && under_way() == 0; }

    bool send(base::byte_buffer message) noexcept override;

 private:
    void on_one_ended() noexcept override {}
    void on_session_end(const session* /*which*/) noexcept override {}
    void on_drain() noexcept override {}

    base::unique_function<void(std::string_view)> receive_;
    bool closed_ = false;
};

}  // namespace pillion::mcp
