// test_host: a server without sockets and threads, for clients in the same process: engine, virtual
// clock, and helper threads for what blocks. Shared by the test clients of one server.
//
// Thread: the one that makes it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <pillion/server.hpp>

#include "io/blocking_pool.hpp"
#include "io/memory_backend.hpp"
#include "io/reactor.hpp"
#include "mcp/engine.hpp"
#include "mcp/service.hpp"

namespace pillion::app {

// What a client has to do between the turns of the loop.
class test_guest {
 public:
    // Returns whether it did anything.
    virtual bool between_turns() = 0;

 protected:
    ~test_guest() = default;
};

class test_host {
 public:
    // The host of `s`, made when there is none. Null with a fault when `s` cannot be served.
    static std::shared_ptr<test_host> of(server& s, std::string& fault);

    test_host(server& s, std::unique_ptr<const mcp::registry> registered);
    test_host(const test_host&) = delete;
    test_host& operator=(const test_host&) = delete;
    // Stops what still runs; ends the process with a message when that does not end.
    ~test_host();

    mcp::engine& engine() noexcept { return *engine_; }
    void join(test_guest& g) { guests_.push_back(&g); }
    void leave(test_guest& g) { std::erase(guests_, &g); }

    // Works until nothing moves; no time passes.
    void settle();
    // Lets the clock jump to the next thing that happens, at most `limit`. False when time brings
    // nothing any more.
    bool step(std::chrono::nanoseconds limit);
    void pass(std::chrono::nanoseconds time);
    std::chrono::nanoseconds elapsed() const noexcept;

 private:
    // The helper threads, with a count of what they have not finished.
    class counting_pool final : public io::offload {
     public:
        bool submit(io::reactor& home, base::unique_function<void()> work,
                    base::unique_function<void()> done_on_home) override;
        bool busy() const noexcept { return busy_ > 0; }

     private:
        std::size_t busy_ = 0;
        io::blocking_pool pool_;
    };

    bool guests_acted();

    detail::server_state& state_;
    counting_pool pool_;
    io::memory_backend* backend_;  // the loop's
    io::reactor loop_;
    mcp::service service_;
    std::unique_ptr<mcp::engine> engine_;
    std::vector<test_guest*> guests_;
    std::int64_t began_ns_;
};

}  // namespace pillion::app
