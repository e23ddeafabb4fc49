// client_call: one request from the server to a legacy client, and the table of those that wait.
//
// It travels on the way back of the request that asks (its event stream or the pipe). Its id is
// random, names the shard that waits, and an answer counts only from the session that was asked.
// The record lives in the frame of the coroutine that waits. Thread: its shard.
#pragma once

#include <string>
#include <string_view>

#include <pillion/json.hpp>
#include <pillion/result.hpp>
#include <pillion/task.hpp>

#include "base/function_ref.hpp"
#include "base/intrusive_list.hpp"
#include "coro/sync.hpp"
#include "mcp/request.hpp"

namespace pillion::mcp {

class client_call : public base::list_hook<> {
 public:
    // A new id on this shard.
    client_call(request& r, std::size_t shard);

    std::string_view id() const noexcept { return {id_, sizeof id_}; }
    request& asker() noexcept { return request_; }
    // The session that is asked, and may answer: the asker's own, or where a task's caller is.
    const session* asked_in() const noexcept { return session_.get(); }
    void ask_in(session_ref s) noexcept { session_ = std::move(s); }
    coro::event& answered() noexcept { return answered_; }

    // Takes the answer: a copy of the whole response message.
    void take(std::string_view message) noexcept;
    // No answer will come any more: the client is gone, or the server ends.
    void give_up() noexcept {
        gone_ = true;
        answered_.set();
    }
    bool given_up() const noexcept { return gone_; }
    // Tells the client that its answer is not needed any more. REQUIRES: the asker has a channel.
    void take_back(std::string_view reason) noexcept;
    // The parsed response; missing before it came.
    json::view response() const noexcept { return response_; }

    // The shard named by an id; nothing when it is none of ours.
    static bool parse_id(std::string_view id, std::size_t& shard) noexcept;

 private:
    static constexpr std::size_t id_bytes = 2 + 2 + 24;  // "q-", shard, random

    request& request_;
    session_ref session_;
    char id_[id_bytes];
    coro::event answered_;
    bool gone_ = false;
    json::view response_;
};

// A question on its way: texts live until the answer is here. `params` is JSON; `key` may be empty.
struct asking {
    std::string_view method;
    std::string_view params;
    std::string_view key;
    std::int64_t limit_ms;
    // Whether an answer can be used. An answer from a modern client that cannot is asked for again.
    base::function_ref<bool(json::view)> fits;
    bool single_use;        // the answer of a modern client counts once
    coro::stop_node* stop;  // ends the wait
};

// Puts a question to the client of `r` and waits for its result (in the request's memory), not
// counted against the deadline of `r`.
task<result<json::view>> ask_client(request& r, const asking& what);

}  // namespace pillion::mcp
