// server_link: how messages travel to one MCP server behind us and back: a child's pipes, or HTTP.
// Each is a life of its own: who begins anew makes another link.
//
// Thread: its loop's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pillion::sidecar {

class link_reader {
 public:
    // One message; the text lives during the call.
    virtual void on_message(std::string_view message) = 0;
    // Whether that request of ours still has no answer.
    virtual bool waits_for(std::uint64_t number) const = 0;
    // The server has forgotten the session, and the link ends. That request, if it is not 0, was
    // not looked at: it may go again.
    virtual void on_session_lost(std::uint64_t number) = 0;
    // What the server says by itself could not be heard for a while, and can be again.
    virtual void on_gap() = 0;
    // Last call: nothing is in flight any more, and the link may be destroyed in it. `why` says in
    // words for our log and for errors what ended it.
    virtual void on_end(std::string why) = 0;

 protected:
    ~link_reader() = default;
};

class server_link {
 public:
    // REQUIRES: not started, or ended.
    virtual ~server_link() = default;
    // Begins; once. The reader hears nothing within this call.
    virtual void start(link_reader& reader) = 0;
    // Sends a message; dropped when it is ending.
    virtual void send(std::string message) = 0;
    // The tools of the server, as it lists them: requests may repeat parts of their arguments.
    virtual void learn_tools(const std::vector<std::string>& /*tools*/) {}
    // Whether an answer to a request that stays open can be its end: what it told of must then be
    // asked for again.
    virtual bool has_ends() const noexcept { return false; }
    // Ends it: the reader hears on_end() later.
    virtual void close() noexcept = 0;
};

using link_maker = std::function<std::unique_ptr<server_link>()>;

}  // namespace pillion::sidecar
