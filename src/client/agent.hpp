// agent: asks other servers over HTTP/1.1, from one event loop: one request, one answer, with a
// deadline for all of it; or an answer that is read as it comes. https is verified; redirects are
// not followed, since who asks names exactly whom it trusts.
//
// A connection that is good for more rests for a few seconds and serves the next request to the
// same place. Servers close such connections when they like: a request that meets the end of one,
// and may be repeated by its method (RFC 9110 §9.2.2), goes again over a new one; others have only
// connections that were in use a moment ago and that their server has been seen to keep.
// What blocks (names, trusted authorities) is done by helper threads. Of each host the TLS session
// is kept, so that the next connection costs less. An agent owns its calls and connections; it is
// closed, and waits for idle(), before its loop ends. Thread: its loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/intrusive_list.hpp"
#include "base/unique_function.hpp"
#include "client/url.hpp"
#include "io/blocking_pool.hpp"
#include "io/reactor.hpp"
#include "tls/context.hpp"
#include "tls/loop_share.hpp"

namespace pillion::client {

class call;
class connection;
struct answer;

// Reads an answer as it comes.
class answer_sink {
 public:
    // Its head: status, content_type, field. It may cancel the call, here and below.
    virtual void on_head(const answer& head) = 0;
    // Some of its body; the text lives during the call.
    virtual void on_piece(std::string_view text) = 0;

 protected:
    ~answer_sink() = default;
};

struct question {
    url to;
    std::string accept = "application/json";
    std::string authorization;  // the value of the field; empty: none. Wiped
    std::string content_type;   // with a body
    std::string body;           // wiped
    bool post = false;
    std::string method;  // instead of GET and POST
    // More fields: names and values that were checked. Wiped.
    std::vector<std::pair<std::string, std::string>> headers;
    std::string socket;       // of a unix socket to connect to, wherever `to` leads; empty: none
    std::string server_name;  // whom the certificate must name; empty: the host of `to`
    bool any_certificate = false;  // nobody needs to be trusted: where nothing is told or believed
    std::int64_t timeout_ms = 5000;
    std::size_t answer_bytes_max = 64 * 1024;
    std::string field;  // of the answer's head, in lower case, that is wanted
    // Where the answer goes in place of answer.body; then the time is for its head alone, and the
    // sink bounds what it keeps. Must live until the call has ended.
    answer_sink* sink = nullptr;

    // Whom the certificate must name.
    const std::string& peer_name() const noexcept {
        return server_name.empty() ? to.host : server_name;
    }

    question() = default;
    question(question&&) noexcept = default;
    question& operator=(question&&) = delete;
    ~question();
};

struct answer {
    // Empty: there is an answer. Else why there is none, a constant that repeats nothing of what
    // others said.
    std::string_view fault;
    std::uint16_t status = 0;
    std::string body;
    std::string content_type;
    std::string field;               // what was wanted of the head
    std::int64_t retry_after_s = 0;  // 0: it did not say
    bool sent = false;               // something may have reached the other side
};

class agent {
 public:
    using receiver = base::unique_function<void(answer)>;

    // Faults that are not the other side's.
    static constexpr std::string_view too_many = "too many requests are under way";
    static constexpr std::string_view too_large = "its answer is too large";
    // A connection ended without an answer.
    static constexpr std::string_view lost = "it closed the connection";

    // Calls under way at a time; beyond it there is no answer.
    static constexpr std::size_t calls_max = 256;
    // Connections that wait for a next request.
    static constexpr std::size_t resting_max = 64;

    // Both must outlive it.
    agent(io::reactor& loop, io::offload& helpers) noexcept
        : loop_(loop), helpers_(helpers), share_(loop) {}
    agent(const agent&) = delete;
    agent& operator=(const agent&) = delete;
    // REQUIRES: idle().
    ~agent();

    // Whom https believes from the next call on (PEM). Null: nobody, so that it fails.
    void trust(std::shared_ptr<const std::string> authorities);

    // `then` hears the answer once, in a later turn or in this one, but not before ask() has
    // returned. It may ask again and close the agent, not destroy it. Returns a number for
    // cancel().
    std::uint64_t ask(question what, receiver then);
    // Ends one that is under way: its connection is closed, and nobody hears of it any more.
    void cancel(std::uint64_t number) noexcept;

    // Ends what is under way; nobody hears of it any more. Nothing may be asked afterwards.
    void close() noexcept;
    // One more would be too many.
    bool full() const noexcept { return calls_ >= calls_max; }
    // Nothing is under way, and no connection is open.
    bool idle() const noexcept { return calls_ == 0 && connections_ == 0 && share_.idle(); }

 private:
    friend class call;
    friend class connection;
    struct known_host {
        std::string host;
        std::shared_ptr<tls::client_context> with;
    };
    static constexpr std::size_t hosts_max = 8;

    std::shared_ptr<tls::client_context> known(const std::string& host) const noexcept;
    void learn(const std::string& host, std::shared_ptr<tls::client_context> with);
    // A connection that leads there and takes what may be repeated, or what may not; null: none.
    connection* take_resting(const question& what, bool repeatable) noexcept;
    // False: there are enough.
    bool keep(connection& one) noexcept;
    // It does not rest, or part, any more.
    void drop(connection& one) noexcept;

    io::reactor& loop_;
    io::offload& helpers_;
    tls::loop_share share_;
    std::shared_ptr<const std::string> authorities_;
    std::vector<known_host> hosts_;
    base::intrusive_list<call> all_;
    base::intrusive_list<connection> resting_;  // the last used first
    base::intrusive_list<connection> parting_;
    std::size_t calls_ = 0;
    std::size_t rests_ = 0;        // connections in resting_
    std::size_t connections_ = 0;  // that exist
    std::uint64_t last_ = 0;       // number of a call
    bool closed_ = false;
};

}  // namespace pillion::client
