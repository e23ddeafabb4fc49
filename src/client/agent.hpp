// agent: asks other servers over HTTP/1.1, from one event loop: one request, one connection, one
// answer, with a deadline for all of it. https is verified; redirects are not followed, since who
// asks names exactly whom it trusts.
//
// What blocks (names, trusted authorities) is done by helper threads. Of each host the TLS session
// is kept, so that the next connection costs less. An agent owns its calls; it is closed, and waits
// for idle(), before its loop ends. Thread: its loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
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

struct question {
    url to;
    std::string accept = "application/json";
    std::string authorization;  // the value of the field; empty: none. Wiped
    std::string content_type;   // with a body
    std::string body;           // wiped
    bool post = false;
    std::int64_t timeout_ms = 5000;
    std::size_t answer_bytes_max = 64 * 1024;

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
};

class agent {
 public:
    using receiver = base::unique_function<void(answer)>;

    // Calls under way at a time; beyond it there is no answer.
    static constexpr std::size_t calls_max = 256;

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
    // returned. It may ask again and close the agent, not destroy it.
    void ask(question what, receiver then);

    // Ends what is under way; nobody hears of it any more. Nothing may be asked afterwards.
    void close() noexcept;
    // One more would be too many.
    bool full() const noexcept { return calls_ >= calls_max; }
    // Nothing is under way.
    bool idle() const noexcept { return calls_ == 0 && share_.idle(); }

 private:
    friend class call;
    struct known_host {
        std::string host;
        std::shared_ptr<tls::client_context> with;
    };
    static constexpr std::size_t hosts_max = 8;

    std::shared_ptr<tls::client_context> known(const std::string& host) const noexcept;
    void learn(const std::string& host, std::shared_ptr<tls::client_context> with);

    io::reactor& loop_;
    io::offload& helpers_;
    tls::loop_share share_;
    std::shared_ptr<const std::string> authorities_;
    std::vector<known_host> hosts_;
    base::intrusive_list<call> all_;
    std::size_t calls_ = 0;
    bool closed_ = false;
};

}  // namespace pillion::client
