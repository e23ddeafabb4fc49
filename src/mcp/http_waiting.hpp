// http_waiting: requests whose token cannot be judged here and now: its key is being fetched, or an
// authorization server is asked. They wait in front of their admission, with nothing but their head
// read, and are admitted again when there is news.
//
// A wait belongs to its connection (mcp/http_client.hpp) and leaves its list with it; lists belong
// to the transport. Thread: their shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "auth/introspection.hpp"
#include "base/intrusive_list.hpp"
#include "base/unique_function.hpp"
#include "http/exchange.hpp"

namespace pillion::mcp {

class token_waiters;

// What a judgement says in place of a status while there is none.
constexpr std::uint16_t undecided = 1;

// One request's; it ends with the request's judgement.
class token_wait : public base::list_hook<> {
 public:
    // How often one request may wait: what it waited for may have been forgotten again meanwhile.
    static constexpr std::uint8_t rounds_max = 3;

    token_wait() noexcept = default;
    ~token_wait() { leave(); }
    token_wait(const token_wait&) = delete;
    token_wait& operator=(const token_wait&) = delete;

    bool may_wait() const noexcept { return rounds_ < rounds_max; }
    // What it waited for has brought nothing.
    bool failed() const noexcept { return failed_; }

 private:
    friend class token_waiters;
    void leave() noexcept;

    const http::exchange* of_ = nullptr;
    token_waiters* in_ = nullptr;
    std::uint8_t rounds_ = 0;
    bool failed_ = false;
};

// Asks an authorization server about tokens, for the transports of one shard.
class introspector {
 public:
    using told = base::unique_function<void(auth::introspection_answer)>;
    // `then` hears once, after this call has returned; not at all once the shard ends. False: too
    // many questions are under way.
    virtual bool ask(std::shared_ptr<const auth::introspection_rules> rules, std::string_view token,
                     told then) = 0;

 protected:
    ~introspector() = default;
};

class token_waiters {
 public:
    // Requests that wait at a time, of one transport and for one thing.
    static constexpr std::size_t count_max = 1024;

    // False when there are too many. `one` is made when it is null.
    bool add(std::unique_ptr<token_wait>& one, const http::exchange& of);
    // All are admitted again in a turn to come. `failed`: there is no news, and none will come.
    void wake_all(bool failed = false) noexcept;

 private:
    friend class token_wait;
    base::intrusive_list<token_wait> all_;
    std::size_t count_ = 0;
};

// A token that an authorization server is being asked about, once for all who have sent it.
struct token_question {
    // Of one transport.
    static constexpr std::size_t count_max = 64;

    explicit token_question(std::string_view about) : token(about) {}
    token_question(const token_question&) = delete;
    token_question& operator=(const token_question&) = delete;
    ~token_question();  // wipes the token

    std::string token;
    token_waiters waiting;
};

}  // namespace pillion::mcp
