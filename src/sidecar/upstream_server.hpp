// upstream_server: an MCP server behind us, from its start to its end and its next start. It finds
// out which era the server speaks, keeps the lists of what it offers, hands calls on to it and what
// it says and asks back, and starts it again, later each time, when it has gone.
//
// What it offers stays known while it is away: calls fail then, lists do not shrink. One that
// serves a single client (server_group) is like the first one of its kind: nobody asks for its
// lists. Thread: its loop's.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <pillion/context.hpp>

#include "io/reactor.hpp"
#include "io/timer_wheel.hpp"
#include "sidecar/bridge_spec.hpp"
#include "sidecar/bridged_call.hpp"
#include "sidecar/rpc_peer.hpp"
#include "sidecar/server_link.hpp"

namespace pillion::sidecar {

enum class list_kind : std::uint8_t { tools, prompts, resources, templates };
inline constexpr std::size_t list_kinds = 4;

// What a server offers: each entry as JSON.
struct offered_lists {
    std::array<std::vector<std::string>, list_kinds> of;
    bool completions = false;
    bool subscriptions = false;  // of resources
    bool tasks = false;          // calls of tools can be some, as they are in 2025-11-25

    bool operator==(const offered_lists&) const = default;
    const std::vector<std::string>& operator[](list_kind kind) const {
        return of[static_cast<std::size_t>(kind)];
    }
};

class upstream_server;

class upstream_listener {
 public:
    // Its lists are known, or others than before.
    virtual void on_lists(upstream_server& of) = 0;
    virtual void on_resource_updated(upstream_server& of, std::string_view uri) = 0;

 protected:
    ~upstream_listener() = default;
};

class upstream_server final : private rpc_side, private link_reader {
 public:
    upstream_server(io::reactor& loop, bridge_spec what, link_maker make,
                    upstream_listener& listener);
    // One like `first`, which must outlive it, for a single client; its calls wait until it is up.
    upstream_server(io::reactor& loop, const upstream_server& first, std::uint64_t number,
                    link_maker make, upstream_listener& listener);
    upstream_server(const upstream_server&) = delete;
    upstream_server& operator=(const upstream_server&) = delete;
    // REQUIRES: idle().
    ~upstream_server();

    void start();
    // Ends it; whoever waits hears so. Nothing may be begun afterwards.
    void close() noexcept;
    bool idle() const noexcept { return link_ == nullptr; }

    const bridge_spec& spec() const noexcept { return spec_; }
    bool up() const noexcept { return stage_ == stage::up; }
    // The first start has come to an end, good or bad.
    bool settled() const noexcept { return settled_; }
    // Why it is not up, in words.
    const std::string& fault() const noexcept { return fault_; }
    const offered_lists& offers() const noexcept { return lists_; }
    // What the log calls it.
    const std::string& label() const noexcept { return label_; }
    // Calls are under way, or wait for it.
    bool busy() const noexcept { return !calls_.empty() || !waiting_.empty(); }
    // When a call last began or ended; at first, when it was made. No two turns have the same time.
    std::int64_t used_ns() const noexcept { return used_ns_; }
    // REQUIRES: it is for a single client. The first one's tools are others than before.
    void learn_from_first();

    // Hands a call on. What comes of it is pushed to the call.
    void begin(const std::shared_ptr<bridged_call>& call);
    // The client has gone, or does not wait any longer. Nothing more is pushed.
    void cancel(bridged_call& call, std::string_view reason);
    // To a question of the server (call_event::asked): the client's result, as JSON, or that there
    // is none. Does nothing where nobody waits for it any more: the number of a request means
    // something else in the next life of a server.
    void answer(std::uint64_t number, std::string_view result_json);
    void refuse(std::uint64_t number, int code, std::string_view message);
    // Whether somebody wants to hear of changes of that resource.
    void subscribe(const std::string& uri, bool on);
    // … and of which of all: of no others.
    void follow(const std::set<std::string>& uris);

 private:
    // What it does at present.
    enum class stage : std::uint8_t { off, probing, greeting, listing, up, resting, closed };
    // What it has asked: the id of its request, and who can answer.
    struct question {
        std::string id;
        std::weak_ptr<bridged_call> call;
    };

    // rpc_side
    void send(std::string message) override;
    void on_notification(std::string_view method, json::view params) override;
    void on_request(std::string id_json, std::string_view method, json::view params) override;
    // link_reader
    void on_message(std::string_view message) override;
    bool waits_for(std::uint64_t number) const override { return peer_.waits_for(number); }
    void on_session_lost(std::uint64_t number) override;
    void on_gap() override;
    void on_end(std::string why) override;

    static void on_timer(io::timer& self, void* owner) noexcept;
    static void on_listen_timer(io::timer& self, void* owner) noexcept;

    void probe();
    void greet();
    void take_discovered(json::view result);
    void take_greeting(const rpc_answer& what);
    void note_capabilities(json::view capabilities);
    void list(list_kind kind, std::string cursor);
    void take_page(list_kind kind, const rpc_answer& what);
    void listed();
    void list_again_after(std::string_view notification);
    void list_again(list_kind kind);
    void listen();
    void listening_over(const rpc_answer& what);
    void ask_for_all_later();
    void send_subscription(const std::string& uri, bool on);
    void ping();
    void be_used() noexcept { used_ns_ = loop_.now_ns(); }
    void go_on_with_calls();
    void refuse_waiting();
    void fail(std::string why);
    void rest();
    std::string meta(const bridged_call* call, std::uint64_t number) const;
    void take_answer(const std::shared_ptr<bridged_call>& call, const rpc_answer& what);
    void want_level(const bridged_call& call);
    void send_level();
    void tell_of_roots(const bridged_call& call);
    void on_progress(json::view params);
    void on_log(json::view params);
    std::uint64_t note_question(const std::string& id, const std::shared_ptr<bridged_call>& call);
    std::string take_question(std::uint64_t number);
    // Who is asked: the only caller whose calls it works on, or nobody.
    std::shared_ptr<bridged_call> asked() const;

    io::reactor& loop_;
    bridge_spec spec_;
    const upstream_server* const first_ = nullptr;  // it is like that one; null: it is a first one
    std::string label_;
    link_maker make_;
    upstream_listener& listener_;
    rpc_peer peer_{*this};
    std::unique_ptr<server_link> link_;
    stage stage_ = stage::off;
    bool modern_ = false;
    bool greets_first_ = false;  // it ends when it is asked anything before
    std::uint64_t probe_ = 0;    // the number of the request; 0: there was none
    bool settled_ = false;
    std::string fault_;
    std::string ends_with_;  // why we end it, when it is we
    std::string version_;
    std::array<bool, list_kinds> has_{};  // by its capabilities
    std::array<bool, list_kinds> busy_{};
    std::array<bool, list_kinds> again_{};
    std::array<std::vector<std::string>, list_kinds> coming_;
    std::size_t open_lists_ = 0;
    offered_lists lists_;
    std::map<std::uint64_t, std::shared_ptr<bridged_call>> calls_;
    std::map<std::uint64_t, question> questions_;
    std::vector<std::shared_ptr<bridged_call>> waiting_;  // for its (next) session
    bool anew_ = false;                                   // that is being made
    std::int64_t used_ns_ = 0;
    bool has_levels_ = false;                // of its session; 2026-07-28 has one for each call
    log_level log_level_ = log_level::info;  // that it is asked for
    std::uint32_t roots_changes_ = 0;        // of its client, that it has been told of
    std::set<std::string> subscribed_;
    std::uint64_t listening_ = 0;  // the number of the request, where it is modern
    std::int64_t listening_since_ms_ = 0;
    std::int64_t listen_delay_ms_ = 0;
    std::uint64_t pinging_ = 0;  // the number of the request
    std::int64_t delay_ms_ = 0;
    io::timer timer_{&upstream_server::on_timer, this};
    io::timer listen_timer_{&upstream_server::on_listen_timer, this};
};

}  // namespace pillion::sidecar
