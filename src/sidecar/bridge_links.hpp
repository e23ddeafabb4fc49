// bridge_links: the URIs that servers behind us name and need not list: in results, as links or
// beside what was in them, and in definitions of tools (pages of MCP Apps). Which server is to be
// asked for them. A provider of its own, asked after all others, so that no server can put itself
// before what is offered here.
//
// Where each client has a server of its own it reads what that one named, and nobody else does.
// Thread-safety: any thread; what may change has a lock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pillion/provider.hpp>

namespace pillion::sidecar {

class bridge;

class bridge_links final : public resource_provider {
 public:
    // Of each server; the one that was named longest ago makes room.
    static constexpr std::size_t links_max = 1024;
    static constexpr std::size_t uri_bytes_max = 4096;
    // Whose links those are that all clients may read; no client is called that.
    static constexpr std::string_view everybody = "*";

    // The server has named them, to that client or to everybody. Who names one last is asked.
    void note(const std::string& server, std::string_view owner,
              const std::vector<std::string_view>& uris);
    // What its definitions name, in the place of what they named before, for everybody. Where two
    // servers have the same one the first keeps it, and no result leads elsewhere.
    void define(const std::string& server, const std::vector<std::string>& uris);
    // The server is gone, or another has its name.
    void forget(const std::string& server);
    // The server that has it in a definition, or named it to that client, or else to everybody;
    // empty: none did.
    std::string server_of(std::string_view uri, std::string_view owner) const;
    // Who reads; null: nobody does any more.
    void read_by(bridge* who);

    // Whoever it was named to.
    bool owns(std::string_view uri) const noexcept override;
    task<result<bool>> list(context& ctx, std::string_view after, resource_page& page) override;
    task<resource_result> read(context& ctx, std::string_view uri) override;

 private:
    struct place {
        std::string server;
        std::uint64_t age = 0;
    };
    using link_map = std::map<std::pair<std::string, std::string>, place>;  // by URI and owner
    using age_map = std::map<std::uint64_t, link_map::iterator>;

    void note_one(const std::string& server, std::string_view owner, std::string_view uri);

    mutable std::mutex mutex_;                                 // guards all below
    std::map<std::string, std::string, std::less<>> defined_;  // servers by URI
    link_map links_;
    std::map<std::string, age_map> ages_;  // of each server
    std::uint64_t last_age_ = 0;
    bridge* bridge_ = nullptr;
};

}  // namespace pillion::sidecar
