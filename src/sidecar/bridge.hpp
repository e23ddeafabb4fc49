// bridge: all MCP servers behind us. It starts them on one loop, its home, keeps what they offer
// where every shard can see it, and brings calls of all shards to them.
//
// Thread: made, started, closed and destroyed on its home; what handlers use may be called from
// every shard, as said.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <pillion/server.hpp>

#include "base/unique_function.hpp"
#include "io/reactor.hpp"
#include "mcp/change_board.hpp"
#include "sidecar/bridge_resources.hpp"
#include "sidecar/parked_calls.hpp"
#include "sidecar/server_group.hpp"
#include "sidecar/upstream_server.hpp"

namespace pillion::sidecar {

class bridge final : private upstream_listener {
 public:
    // Makes the way to one server.
    using linker = std::function<std::unique_ptr<server_link>(io::reactor&, const bridge_spec&)>;

    // `host` offers what the servers do; `resources` was given to it, and `board` says which of
    // them somebody wants to hear of. All must outlive this.
    bridge(server& host, std::shared_ptr<bridge_resources> resources,
           const mcp::change_board& board, linker make);
    bridge(const bridge&) = delete;
    bridge& operator=(const bridge&) = delete;
    // REQUIRES: idle().
    ~bridge();

    // Starts the servers on this thread's loop.
    void start(io::reactor& home, const std::vector<bridge_spec>& all);
    // Every server has started or failed to, once.
    bool settled() const noexcept;
    // Ends those that are not in `all`, or not the same there, and starts those that are new. After
    // close() nothing.
    void change(const std::vector<bridge_spec>& all);
    // Ends all of them. Calls from now on find nobody.
    void close() noexcept;
    bool idle() const noexcept;
    // Of those that are not up: their names, and why. Empty: all are.
    std::string faults() const;

    // ---- any thread ----

    // Runs `job` at home with the servers of that name, or with null. False: the bridge is closed.
    bool with(const std::string& server_name, base::unique_function<void(server_group*)> job);
    // Somebody wants to hear of that resource of that server now, or nobody does any more.
    void look_after(const std::string& server_name, std::string uri);
    parked_calls& parked() noexcept { return parked_; }
    bridge_links& links() noexcept { return *resources_->links(); }
    // Ends one that was taken out of them.
    void end_parked(const parked_call& one, std::string_view why);

 private:
    struct kept_server;
    using server_list = std::vector<std::unique_ptr<kept_server>>;

    void on_lists(upstream_server& of) override;
    void on_resource_updated(upstream_server& of, std::string_view uri) override;
    bool open() const noexcept;
    void add(const bridge_spec& what);
    void offer(server_list::iterator from);
    void offer_resources(server_list::iterator from);
    void follow();
    void withdraw(kept_server& one);
    server_group* find(const std::string& name) noexcept;
    void bury();
    static void on_sweep(io::timer& self, void* owner) noexcept;

    server& host_;
    std::shared_ptr<bridge_resources> resources_;
    const mcp::change_board& board_;
    linker make_;
    io::reactor* home_ = nullptr;
    std::thread::id home_thread_;
    server_list servers_;
    server_list leaving_;
    parked_calls parked_;
    io::timer sweep_{&bridge::on_sweep, this};
    mutable std::mutex mutex_;  // guards open_
    bool open_ = false;
};

}  // namespace pillion::sidecar
