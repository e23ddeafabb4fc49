// link: one client's way to the server, on which one message at a time is sent and replied to: an
// HTTP connection, the pipes of a child process, or the two connections of HTTP+SSE.
//
// Everything it hears it tells its user, from the dispatch of the loop. Thread: its shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/chunk.hpp"
#include "io/stream.hpp"
#include "reply_reader.hpp"

namespace pillion::load {

// What became of a message that was sent, after the messages that came for it.
struct reply_end {
    reply_state state = reply_state::complete;
    std::uint16_t status = 200;
    bool goes_on = true;  // the link can be used again
};

class link_user {
 public:
    // The link is open, or why it is not (an errno): then nothing is open, and open() may be tried
    // again later. Comes from within open() when that fails at once.
    virtual void on_open(int os_errno) noexcept = 0;
    // A message; it may be changed in place, limits::padding readable bytes follow. Whether it is
    // the answer to what was sent, and not a message beside it.
    virtual bool on_message(char* text, std::size_t size) noexcept = 0;
    virtual void on_reply(const reply_end& how) noexcept = 0;
    // The answer was told, and its reply goes on: on_reply() comes when that ends, if it ever does.
    virtual void on_unended() noexcept {}
    // The server ends the link, before its reply or while none is due: close() is called for.
    virtual void on_lost() noexcept = 0;
    // The link is closed, by close() or by the server: nothing is under way any more. Broken when
    // `os_errno` is not 0.
    virtual void on_closed(int os_errno) noexcept = 0;
    virtual void on_bytes(std::size_t in, std::size_t out) noexcept = 0;

 protected:
    ~link_user() = default;
};

class link {
 public:
    // REQUIRES: not open, and not opening.
    virtual ~link() = default;

    virtual void open() noexcept = 0;
    // While opening: on_open() comes soon.
    virtual void cancel_open() noexcept = 0;
    // Sends `begin` with a number of ten digits at `id_at` (0: none), then `end`. Whether a reply
    // will come: not to notifications through pipes. REQUIRES: open, and the last reply was heard;
    // `end` outlives the link when it is longer than copied_end_max.
    virtual bool send(std::string_view begin, std::size_t id_at, std::uint64_t id,
                      std::string_view end) noexcept = 0;
    // Answers a request of the server, beside what was sent, where the link has room for that: a
    // connection of HTTP takes nothing before its reply (answer_poster). REQUIRES: open.
    virtual void answer(std::string_view) noexcept {}
    // While open: on_closed() follows. A second time: soon.
    virtual void close() noexcept = 0;

    // Of TLS: whether the last open() resumed a session, whether the next one could, and why it
    // failed since open() (empty: it did not).
    virtual bool resumed() const noexcept { return false; }
    virtual bool can_resume() const noexcept { return false; }
    virtual std::string_view tls_fault() const noexcept { return {}; }
    // Why open() failed, or the link broke, where more is known than an errno says; or empty.
    virtual std::string_view fault_text() const noexcept { return tls_fault(); }

    // Whether a session goes on through another link.
    virtual bool keeps_sessions() const noexcept { return true; }
    // The status of the reply that comes at present, the session that it names, and where messages
    // are sent to.
    virtual std::uint16_t status() const noexcept { return 200; }
    virtual const std::string& session() const noexcept = 0;
    virtual const std::string& path() const noexcept = 0;

    // Ends up to this size are copied, to leave in one piece of memory with what is before them.
    static constexpr std::size_t copied_end_max = 2048;
};

// Sends a message through a stream: in one piece of memory, but for an `end` that is long.
void write_message(io::stream& to, base::chunk_pool& pool, std::string_view begin,
                   std::size_t id_at, std::uint64_t id, std::string_view end) noexcept;

}  // namespace pillion::load
