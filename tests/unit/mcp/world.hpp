// A whole MCP server over a simulated network with a virtual clock: registry, service, engine, HTTP
// server and, on demand, a pipe. What a test leaves behind is an assertion at its end.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <pillion/server.hpp>

#include "coro/sync.hpp"
#include "http/server.hpp"
#include "mcp/engine.hpp"
#include "mcp/http_transport.hpp"
#include "mcp/stdio_transport.hpp"
#include "sim/sim_world.hpp"
#include "unit/mcp/messages.hpp"

namespace pillion::mcp::testing {

// What the tools of the world share with the test.
struct stage {
    coro::event gate;                 // "stubborn" waits for it, whatever stops it
    std::vector<std::string> record;  // what handlers saw: "watch: deadline"
    int inside = 0;                   // handlers that have begun and not ended
};

// Registers the tools, prompts and resources of world_tools.cpp.
void furnish(server& s, stage& on);
// What is wrong with what was registered; "" for nothing.
std::string registration_fault(server& s);
// Registers and freezes; the definitions must outlive the registry.
std::unique_ptr<const registry> frozen(server& s);

struct world_options {
    std::int64_t timeout_ms = 1000;
    std::int64_t session_idle_ms = 60'000;
    std::size_t sessions_max = 100;
    limit_options limit;
    sim::sim_options net;
    // More registrations before the freeze.
    std::function<void(server&)> more;
    std::vector<std::string> origins;
    std::shared_ptr<task_store> tasks;  // null: the usual one
    // Further settings.
    std::function<void(service_options&)> set;
};

class world;

// A client's end of a connection.
class client {
 public:
    client(world& in, sim::sim_peer peer) : world_(in), peer_(peer) {}

    // Sends and lets the server work until nothing moves; no time passes.
    client& send(std::string_view bytes);
    // Everything heard so far.
    std::vector<http_reply> replies() const { return read_replies(peer_.received()); }
    // Sends one request and returns the reply to it, complete or not.
    http_reply ask(std::string_view bytes);
    parsed ask_message(std::string_view bytes) { return parsed(ask(bytes).message()); }
    sim::sim_peer& peer() { return peer_; }

 private:
    world& world_;
    sim::sim_peer peer_;
};

// The pipe of a child process as its parent sees it.
class pipe_end {
 public:
    explicit pipe_end(world& in);
    ~pipe_end();
    pipe_end& line(std::string_view text);
    pipe_end& bytes(std::string_view text);
    // Sends without letting the server work.
    void put(std::string_view text) { input_.send(text); }
    // Arrives at a virtual time from now, which the caller lets pass.
    void line_after(std::int64_t delay_ns, std::string_view text);
    pipe_end& eof();
    // The reader is gone.
    void breaks();
    // The parent does not read (and does again).
    void block(bool on) { output_.block(on); }
    std::vector<std::string> lines() const;
    // Bytes the server wrote so far.
    std::size_t written() const { return output_.received().size(); }
    // The lines since the last call.
    std::vector<std::string> fresh();
    parsed ask(std::string_view text);
    void split_at(std::vector<std::size_t> offsets) { input_.split_at(std::move(offsets)); }
    stdio_transport& transport() { return *transport_; }
    bool ended() const { return ended_; }

 private:
    world& world_;
    sim::sim_peer input_;
    sim::sim_peer output_;
    std::unique_ptr<stdio_transport> transport_;
    std::size_t read_ = 0;
    bool ended_ = false;
};

class world {
 public:
    explicit world(const world_options& options = {});
    world(const world&) = delete;
    world& operator=(const world&) = delete;
    ~world();

    // `address`: where the client is, as a numeric address; "": on this machine.
    client& connect(std::string_view address = {});
    // Opens a session of that revision over a connection of its own; returns its id.
    std::string open_session(std::string_view version);
    // Turns in which no time passes, until nothing moves any more.
    void settle();
    void pass_ms(std::int64_t ms);
    // Waits until no request runs (no time passes); false when some stay.
    bool quiet();
    // What is left besides idle connections and pipes: "" when nothing.
    std::string left();

    sim::sim_world net;
    stage on;
    server host;
    sim::inline_offload helpers;
    std::unique_ptr<mcp::service> service;
    std::unique_ptr<mcp::engine> engine;
    std::unique_ptr<http_transport> transport;
    std::unique_ptr<http::server> http;
    std::size_t pipes = 0;  // open ones

 private:
    std::vector<std::unique_ptr<client>> clients_;
};

}  // namespace pillion::mcp::testing
