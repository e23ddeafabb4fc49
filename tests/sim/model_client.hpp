// model_client: a client of one revision as a small state machine that a random generator drives:
// it opens a session (or needs none), calls, cancels, goes away, comes back, answers questions, and
// checks all that it hears against what the server may say.
//
// Owned by the simulation; its plans for later hold it weakly. Thread: one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "sim/wire.hpp"
#include "unit/mcp/messages.hpp"

namespace pillion::sim {

using mcp::testing::parsed;

// What traffic there is, drawn for each seed: some of it rich in one thing and poor in others.
struct traffic {
    std::uint64_t pause_ms = 100;  // between two actions of a client, at most
    std::uint64_t calls = 10;
    std::uint64_t plain = 5;
    std::uint64_t cancels = 2;
    std::uint64_t departures = 1;
    std::uint64_t blocks = 1;
    std::uint64_t streams = 1;
    std::uint64_t garbage = 1;
    std::uint64_t parts = 1;
    std::uint64_t tasks = 2;
    std::uint64_t farewells = 0;
    bool hold_up = false;  // tools that keep the loop
    bool leaps = false;    // time jumps, by them or by itself
};

enum class dialect : std::uint8_t {
    sse_2024,
    http_2024,
    http_2025_03,
    http_2025_06,
    http_2025_11,
    modern
};

// A request for which the server owes one answer.
struct call {
    std::string id;  // JSON
    std::string method;
    std::string tool;      // of tools/call
    std::string params;    // members, for another round
    std::string tag;       // what the answer begins with; may be empty
    std::string event_id;  // the last one its stream had
    std::int64_t sent_ns = 0;
    double progress = -1;
    std::set<double> task_progress;  // those heard of its task
    std::size_t rounds = 0;
    bool at_once = false;  // cannot fail and cannot wait
    bool answered = false;
    bool owed = true;        // an answer must come (or the connection end)
    bool cancelled = false;  // the client has said so
    bool begun = false;      // … when its handler was inside: before, the server knows no such call
    bool acknowledged = false;  // … and the server has heard it
    bool forbidden = false;     // an answer must not come any more
    bool lost = false;          // its connection is gone; it may be resumed
    bool resumed = false;
    bool overtaken = false;  // another call waits for the same, and may take its stream over
};

struct client_task {
    std::string id;
    std::string tag;
    std::int64_t sent_ns = 0;
    std::string end;  // its last status, once terminal
    std::int64_t ended_ns = 0;
};

class model_client final : public wire_owner, public std::enable_shared_from_this<model_client> {
 public:
    model_client(server_world& in, journal& to, base::seeded_random& random, const traffic& how,
                 dialect speaks, std::string name);
    ~model_client();

    // Does something, if it has nothing to wait for.
    void act();
    void observe();
    // Nothing moves: what is owed at once must be there.
    void check_quiet();
    // Nothing new from here on: it reads, comes back for what it lost, and waits.
    void wind_down();
    // All answers are there.
    bool settled() const;
    // What is missing, for the report.
    std::string waits_for() const;
    void leave();
    bool left() const { return leaving_ && wires_.empty(); }
    std::int64_t next_ns() const { return next_ns_; }
    // Something was published that listeners want to hear of.
    void published();
    std::size_t calls_made() const { return calls_made_; }
    std::size_t answers() const { return answers_; }

 private:
    // wire_owner
    void on_event(wire& on, exchange& of, const stream_event& event) override;
    void on_reply(wire& on, exchange& of, const reply_head& head, const std::string& body) override;
    void on_wire_gone(wire& on) override;
    [[noreturn]] void fail(const std::string& why) override;

    // What it does (model_actions.cpp).
    void begin();
    void handshake();
    void make_call();
    void call_tool(std::string tool, const std::string& arguments, bool as_task);
    void plain_request();
    void make_batch();
    void cancel_one();
    void depart();
    void hang_up(wire& w);
    void open_stream();
    void send_garbage();
    void send_in_parts();
    void block_one();
    void ask_task();
    void say_farewell();
    void resume(call& c);
    void answer_question(const parsed& question);
    void next_round(const call& of, const parsed& reply);
    void post(call& c, wire* on = nullptr);
    void notify(std::string_view method, std::string_view params, std::string_view cancels = {});
    void post_note(std::string body, std::string_view cancels = {});
    std::string framed(std::string_view body, std::string_view method, std::string_view name) const;
    std::string body_of(const call& c) const;
    wire& any_wire(bool idle_only);
    wire& new_wire();
    call& new_call(std::string_view method, std::string params);
    std::string meta() const;

    // What it hears (model_client.cpp).
    void take_messages(wire& on, exchange& of, const std::string& text);
    void take_message(wire& on, exchange& of, const std::string& text);
    void take_answer(call& c, const parsed& m);
    void check_error(const call& c, const parsed& m);
    void check_result(call& c, const parsed& m);
    void take_notification(exchange& of, const parsed& m);
    void take_progress(exchange& of, const parsed& m);
    void note_task(const call& c, json::view made);
    void check_task(const call& c, const parsed& m);
    void stream_ended(const wire& on, exchange& of);
    void note_overtaken(call& by);
    void lose_stream();
    void session_lost(const exchange& of);
    void give_up(const std::string& id);
    void learn_event_id(call& c, const std::string& id);
    call* find(const std::string& id);
    // A connection still waits for what is said to it.
    bool is_read(const std::string& id) const;
    std::size_t standing_streams() const;
    bool is_modern() const { return speaks_ == dialect::modern; }
    bool is_sse() const { return speaks_ == dialect::sse_2024; }
    std::string_view version() const;
    bool chance(std::uint64_t in) { return random_.one_in(in); }
    void later(std::uint64_t ms_max, std::function<void(model_client&)> what);
    stage& on() { return world_.on; }
    // The handler of a call, when it is still inside.
    visit* inside(const call& c);

    enum class state : std::uint8_t { fresh, greeting, ready, dead };

    server_world& world_;
    journal& journal_;
    base::seeded_random& random_;
    const traffic& how_;
    const dialect speaks_;
    const std::string name_;
    state state_ = state::fresh;
    std::string session_;
    std::string endpoint_;
    bool ended_session_ = false;
    bool winding_down_ = false;
    bool leaving_ = false;
    bool garbled_ = false;  // it has sent what is no request, or another than it seems
    bool listens_ = false;
    bool wants_news_ = false;  // something was published that it has not heard of
    std::int64_t next_ns_;
    std::int64_t used_ns_;  // the session
    std::uint64_t numbers_ = 0;
    std::size_t calls_made_ = 0;
    std::size_t answers_ = 0;
    std::vector<std::unique_ptr<wire>> wires_;
    std::map<std::string, call> calls_;
    std::vector<client_task> tasks_;
};

}  // namespace pillion::sim
