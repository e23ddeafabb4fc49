// parked_calls: calls whose server has asked something of a client of 2026-07-28. The client ends
// its request and comes back with another one; until then the call waits here, under a name that
// travels sealed in its requestState (mcp/ask_chain).
//
// Thread-safety: any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "sidecar/bridged_call.hpp"

namespace pillion::sidecar {

struct parked_call {
    std::string server;
    std::shared_ptr<bridged_call> call;
};

class parked_calls {
 public:
    static constexpr std::size_t calls_max = 1024;

    // Keeps it and gives it a name; the oldest one whose client is away goes where there is no
    // room, and is in `overflow` then. Empty: the clients of all are there and wait, and it is not
    // kept.
    std::string keep(parked_call what, std::int64_t now_ms, parked_call& overflow);
    // Hands it to whoever has the name, and is its owner. Null otherwise. It stays kept.
    parked_call find(const std::string& name, const std::string& owner) const;
    // Its client is asked something again: its time begins anew.
    void renew(const std::string& name, std::int64_t now_ms);
    void forget(const std::string& name);
    // Takes out what was kept for longer than this, oldest first; null when there is none. Time
    // in which its client is there does not count.
    parked_call take_older(std::int64_t than_ms, std::int64_t now_ms);
    // Names that are remembered.
    std::size_t size() const;

 private:
    struct entry {
        parked_call what;
        std::int64_t since_ms = 0;
    };
    void make_youngest(const std::string& name, std::int64_t now_ms);

    mutable std::mutex mutex_;  // guards all below
    std::unordered_map<std::string, entry> calls_;
    std::deque<std::string> order_;  // their names, oldest first
};

}  // namespace pillion::sidecar
