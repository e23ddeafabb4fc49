// rpc_peer: our end of a JSON-RPC conversation with a server behind us: numbers requests, finds who
// waits for an answer, and hands over what the other side says and asks by itself. Knows nothing of
// MCP, and not how messages travel.
//
// What the other side sends may be anything: messages that are none are counted and dropped.
// Thread: its loop's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include <pillion/json.hpp>

#include "base/unique_function.hpp"

namespace pillion::sidecar {

// What came of a request; views live during the call.
struct rpc_answer {
    bool lost = false;  // there will be none: the other side is gone
    json::view result;  // missing: an error
    json::view error;
};

// How messages leave, and what comes by itself.
class rpc_side {
 public:
    // One message, without an end of line.
    virtual void send(std::string message) = 0;
    virtual void on_notification(std::string_view method, json::view params) = 0;
    // Answered by answer() or refuse() with that id, now or later.
    virtual void on_request(std::string id_json, std::string_view method, json::view params) = 0;

 protected:
    ~rpc_side() = default;
};

class rpc_peer {
 public:
    using receiver = base::unique_function<void(const rpc_answer&)>;

    explicit rpc_peer(rpc_side& side) noexcept : side_(side) {}
    rpc_peer(const rpc_peer&) = delete;
    rpc_peer& operator=(const rpc_peer&) = delete;

    // Asks; `params` is JSON text, or empty for none. `then` hears once, and not within this call.
    // Returns the number of the request.
    std::uint64_t ask(std::string_view method, std::string_view params, receiver then);
    // The number that the next request will have.
    std::uint64_t next() const noexcept { return last_ + 1; }
    // Nobody waits for it any more.
    void forget(std::uint64_t number) noexcept { waiting_.erase(number); }
    bool waits_for(std::uint64_t number) const { return waiting_.contains(number); }
    void notify(std::string_view method, std::string_view params);
    void answer(std::string_view id_json, std::string_view result_json);
    void refuse(std::string_view id_json, int code, std::string_view message);

    // A message, or a batch of them, has come. False when it is none.
    bool take(std::string_view message);
    // No more will come: everybody who waits hears that.
    void end();
    std::size_t waiting() const noexcept { return waiting_.size(); }

 private:
    bool take_one(json::view message);

    rpc_side& side_;
    std::uint64_t last_ = 0;
    std::unordered_map<std::uint64_t, receiver> waiting_;
};

// The text of a value, as compact JSON.
std::string json_text(json::view value);

}  // namespace pillion::sidecar
