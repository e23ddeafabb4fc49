// connection: one client of the server under load: opens its link, shakes hands where its revision
// has sessions, asks one question at a time, judges the answer, and comes back when it was cut off.
//
// Everything it hears it tells its watcher, from the dispatch of the loop. Steady state: no heap,
// one send for each request. Thread: its shard.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answer_check.hpp"
#include "answer_poster.hpp"
#include "dialogue.hpp"
#include "fault.hpp"
#include "io/reactor.hpp"
#include "link.hpp"
#include "scenario.hpp"
#include "target.hpp"

namespace pillion::load {

class connection;

// Who drives connections.
class connection_watcher {
 public:
    // The connection is free for a request. May call ask() at once.
    virtual void on_free(connection& c) noexcept = 0;
    // A request has ended, well or not. `due_ns` is what ask() was given, `at_ns` when its answer
    // came. on_free() follows, now or after a reconnect. `example` is valid for the call.
    virtual void on_answer(std::int64_t due_ns, std::int64_t at_ns, const verdict& how,
                           std::string_view example) noexcept = 0;
    // An answer came while none was due.
    virtual void on_unasked(const verdict& how, std::string_view example) noexcept = 0;
    // No connection could be made, or no session on it; tried again later.
    virtual void on_failed(const verdict& how, std::string_view example) noexcept = 0;
    // An established connection ended and is made anew.
    virtual void on_reconnect() noexcept = 0;
    virtual void on_bytes(std::size_t in, std::size_t out) noexcept = 0;

 protected:
    ~connection_watcher() = default;
};

// What all connections share. prepare() comes before the first of them.
struct connection_plan {
    io::reactor* loop = nullptr;
    connection_watcher* watcher = nullptr;
    const target* to = nullptr;
    const scenario* what = nullptr;
    // The scenario's requests, as they are where there are no sessions.
    std::vector<request_text> texts{};
    std::size_t next_text = 0;  // which is asked next, by whoever is free
    std::int64_t poll_ns = -1;  // of dialogues
    // Of the dialogue whose end is told at present.
    std::uint64_t events = 0;
    answer_taker* taker = nullptr;  // of all results, where there is no dialogue
    bool is_patient = false;        // answers may take as long as they like

    // Renders the texts. REQUIRES: `to` and `what`.
    void prepare();
    answer_check* check = nullptr;
    std::int64_t timeout_ns = 0;
    std::size_t answer_bytes_max = 0;
    bool unchecked = false;  // answers of the scenario; those of the handshake are needed
    std::uint64_t next_id = first_id;
};

class connection final : private link_user {
 public:
    explicit connection(connection_plan& plan);
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    // REQUIRES: is_gone().
    ~connection();

    // Who hears of results and of what comes before them, instead of the plan's.
    void give_results_to(answer_taker& taker) noexcept { taker_ = &taker; }
    // Begins to connect.
    void open() noexcept;
    // Sends the request of the scenario. REQUIRES: on_free() was the last that was told.
    void ask(std::int64_t due_ns) noexcept;
    // Gives up what takes too long, and connects again when it is time.
    void look_at_clock() noexcept;
    // Ends the session, if there is one, and the connection, for good.
    void leave() noexcept;

    bool is_free() const noexcept { return phase_ == phase::free; }
    // Of the request that was sent last.
    std::uint64_t id() const noexcept { return id_; }
    // Nothing is open or under way, and nothing will be.
    bool is_gone() const noexcept {
        return phase_ == phase::gone && (poster_ == nullptr || poster_->is_gone());
    }
    // Where the server said that it speaks another revision than it was asked for.
    bool speaks_otherwise() const noexcept { return speaks_otherwise_; }

    bool listed = false;  // for its watcher: in the list of those that are free

 private:
    enum class phase : std::uint8_t {
        idle,  // not connected; retry_ns_ says when that is tried
        connecting,
        initializing,
        confirming,  // notifications/initialized is under way
        expecting,   // a TLS ticket, which the handshakes to come need
        free,
        asking,
        losing,   // the link, between two requests of a dialogue: on_closed() is still to come
        pausing,  // between the two, perhaps without a link
        deleting,
        closing,  // on_closed() is still to come
        gone,
    };

    void on_open(int os_errno) noexcept override;
    bool on_message(char* text, std::size_t size) noexcept override;
    void on_reply(const reply_end& how) noexcept override;
    void on_unended() noexcept override;
    void on_lost() noexcept override;
    void on_closed(int os_errno) noexcept override;
    void on_bytes(std::size_t in, std::size_t out) noexcept override;

    void shake_hands() noexcept;
    bool send(const std::string& begin, std::size_t id_at, std::string_view end) noexcept;
    bool send_own(const question& what) noexcept;
    void ready() noexcept;
    void ask_next_text() noexcept;
    // Asks what follows in a dialogue, through another link if this one does not go on; false when
    // that was all.
    bool go_on(bool goes_on) noexcept;
    void lose_link() noexcept;
    void pause() noexcept;
    void ask_follow_up(const question& next) noexcept;
    void end_exchange(const verdict& how, bool goes_on) noexcept;
    void end_session() noexcept;
    void session_ended(const reply_end& reply) noexcept;
    void forget_session() noexcept;
    void set_place() noexcept;
    bool has_session() const noexcept { return !at_.session.empty(); }
    bool churns(pattern what) const noexcept { return plan_.what->how == what; }
    bool opens_only() const noexcept {
        return churns(pattern::tls_full) || churns(pattern::tls_resumed);
    }
    bool reopens() const noexcept { return churns(pattern::connection_churn) || opens_only(); }
    bool is_exchanging() const noexcept { return due_ns_ >= 0; }
    void look_while_idle() noexcept;
    static void on_pause(io::timer& self, void* owner) noexcept;
    void handshake_answered(bool goes_on) noexcept;
    void confirm() noexcept;
    void opened_only() noexcept;
    void become_free() noexcept;
    void set_example(std::string_view text) noexcept;
    // Tells what became of a request or an attempt, and closes.
    void finish(const verdict& how) noexcept;
    void tell(const verdict& how) noexcept;
    void close() noexcept;
    void try_later(bool at_once) noexcept;
    std::int64_t now_ns() const noexcept { return plan_.loop->now_ns(); }
    void answer(const std::string& text) noexcept;
    verdict judge_reply(const reply_end& how) const noexcept;
    void take_reply(const reply_end& how) noexcept;
    void end_unended() noexcept;
    bool is_asking_nothing() const noexcept {
        return phase_ == phase::free || phase_ == phase::pausing;
    }
    bool is_unchecked() const noexcept { return plan_.unchecked && phase_ == phase::asking; }

    connection_plan& plan_;
    phase phase_ = phase::idle;
    bool leaving_ = false;
    bool speaks_otherwise_ = false;
    bool introduced_ = false;  // initialize was answered
    bool confirmed_ = false;   // … and so was notifications/initialized
    bool served_ = false;      // this connection has brought an answer
    bool open_ = false;        // the link is
    bool parking_ = false;     // it is closed until the next request
    bool tried_ = false;       // session-churn: that there are sessions was seen
    bool answered_ = false;    // … the request of the exchange; the end of its session is to come
    bool crowded_ = false;     // the server's queue had no room for the last attempt
    std::unique_ptr<link> link_;
    std::unique_ptr<answer_poster> poster_;  // over HTTP, of a server that asks
    // Which texts are asked: those of the plan, or our own, without their ends.
    const std::vector<request_text>* texts_;
    std::vector<request_text> own_texts_;
    place at_;
    std::unique_ptr<dialogue> dialogue_;
    answer_taker* taker_;
    const question* next_ = nullptr;  // of the dialogue, after the pause
    std::int64_t next_ns_ = 0;        // … which ends then
    std::string follow_up_;           // … rendered
    io::timer pause_{&connection::on_pause, this};
    std::uint16_t status_ = 200;  // of the last reply
    std::uint64_t id_ = 0;
    action asked_ = action::ping;
    std::int64_t due_ns_ = -1;  // of the request under way; -1: there is none
    // What must not take too long: the exchange, with all that belongs to it; without one a message
    // of our own, or the attempts to connect.
    std::int64_t began_ns_ = 0;
    std::int64_t answer_ns_ = 0;  // when the message came
    std::int64_t retry_ns_ = 0;
    std::int64_t pause_ns_ = 0;     // before the next attempt, longer each time
    std::optional<verdict> heard_;  // of the message that came
    bool unended_ = false;          // … in a reply that goes on behind it
    int left_open_ = 0;             // such replies that had no end, in a row
    char example_[160] = {};
    std::size_t example_bytes_ = 0;
};

}  // namespace pillion::load
