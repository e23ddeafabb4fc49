// server_group: one MCP server behind us as it runs: the first one, whose lists are offered, and,
// where the configuration says so, one more for each client, which keeps what that client does in
// it from all others. Those come with a client's first call and go when they have rested for a
// while, or, the one that has rested longest first, to make room.
//
// Who has no name (bridged_call::request::owner) is served by the first one.
// Thread: its loop's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/reactor.hpp"
#include "io/timer_wheel.hpp"
#include "sidecar/bridge_spec.hpp"
#include "sidecar/bridged_call.hpp"
#include "sidecar/server_link.hpp"
#include "sidecar/upstream_server.hpp"

namespace pillion::sidecar {

class server_group {
 public:
    // The listener hears of the lists of the first one, and of resources of all.
    server_group(io::reactor& loop, const bridge_spec& what, link_maker make,
                 upstream_listener& listener);
    server_group(const server_group&) = delete;
    server_group& operator=(const server_group&) = delete;
    // REQUIRES: idle().
    ~server_group() = default;

    void start() { first_.start(); }
    // Ends all; whoever waits hears so. Nothing may be begun afterwards.
    void close() noexcept;
    bool idle() const noexcept;

    const bridge_spec& spec() const noexcept { return first_.spec(); }
    const upstream_server& first() const noexcept { return first_; }
    // Of clients; those that are ending do not count.
    std::size_t owned() const noexcept { return owned_.size(); }
    // The lists of the first one are others than before.
    void teach();

    // As the functions of upstream_server, of the one that serves the owner of the call. A client
    // for whom there is no room is refused.
    void begin(const std::shared_ptr<bridged_call>& call);
    void cancel(bridged_call& call, std::string_view reason);
    void answer(const std::string& owner, std::uint64_t question, std::string_view result_json);
    void refuse(const std::string& owner, std::uint64_t question, int code,
                std::string_view message);
    // Of all: each client's own one has the resource, too.
    void subscribe(const std::string& uri, bool on);
    void follow(const std::set<std::string>& uris);

 private:
    using server_map = std::map<std::string, std::unique_ptr<upstream_server>>;

    // The one that serves this client; null: it has none yet.
    upstream_server* find(const std::string& owner) noexcept;
    // The same, made if need be; null: there is no room.
    upstream_server* take(const std::string& owner);
    bool make_room();
    void end(server_map::iterator which, std::string_view why);
    std::int64_t rested_ms(const upstream_server& one) const noexcept;
    void wait_for_rest();
    static void on_rest(io::timer& self, void* owner) noexcept;

    io::reactor& loop_;
    link_maker make_;
    upstream_listener& listener_;
    upstream_server first_;
    server_map owned_;  // by the client
    std::vector<std::unique_ptr<upstream_server>> leaving_;
    std::uint64_t made_ = 0;
    bool closed_ = false;
    io::timer rest_{&server_group::on_rest, this};
};

}  // namespace pillion::sidecar
