// wire: one connection of a model client: what it has sent and what it is still owed, in order.
//
// It reads what comes as replies, hands them to its owner with the exchange they answer, and knows
// for what reasons the server may end it. Thread: one.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/journal.hpp"
#include "sim/reply_reader.hpp"
#include "sim/server_world.hpp"

namespace pillion::sim {

// A request that was sent, and what is known of its reply.
struct exchange {
    // stands: a stream that lasts until somebody ends it. bent: any reply will do.
    enum class kind : std::uint8_t { call, note, batch, resume, stands, farewell, bent };
    kind what = kind::note;
    std::string id;       // the call's, also the one that is resumed
    std::string cancels;  // the call that this takes back
    std::vector<std::string> ids;
    std::int64_t sent_ns = 0;
    std::int64_t unused_ns = 0;  // how long its session had not been used
    bool at_once = false;        // nothing keeps the server from answering now
    bool streamed = false;
    int status = 0;
    std::size_t events = 0;
    std::map<std::string, double> task_progress;  // the last one on this stream, by its token

    exchange(kind k, std::string of) : what(k), id(std::move(of)) {}
};

class wire;

class wire_owner {
 public:
    virtual void on_event(wire& on, exchange& of, const stream_event& event) = 0;
    virtual void on_reply(wire& on, exchange& of, const reply_head& head,
                          const std::string& body) = 0;
    // It ended, by whoever; pending() is what was never answered.
    virtual void on_wire_gone(wire& on) = 0;
    [[noreturn]] virtual void fail(const std::string& why) = 0;

 protected:
    ~wire_owner() = default;
};

class wire final : private reply_sink {
 public:
    wire(wire_owner& owner, server_world& in, std::size_t shard, journal& to, std::string name);
    wire(const wire&) = delete;
    wire& operator=(const wire&) = delete;

    const std::string& name() const { return name_; }
    std::deque<exchange>& pending() { return pending_; }
    bool gone() const { return gone_; }
    // Good for another request.
    bool usable() const;
    bool idle() const { return usable() && pending_.empty(); }
    // Whether the server owes the first answer now: nothing of it is held back by this side.
    bool owed() const {
        return !gone_ && !reset_ && !blocked_ && !partial_ && !pending_.empty() && peer_.accepted();
    }

    void send(exchange e, std::string_view bytes);
    // The first part of a request, and the rest of it later.
    void send_part(exchange e, std::string_view bytes);
    void send_rest(std::string_view bytes);
    // Bytes that mean nothing.
    void send_garbage(std::string_view bytes);
    void block(bool on);
    // Goes away: at once, within what the server sends next, or after what it has said.
    void reset();
    void reset_after(std::size_t bytes) {
        peer_.reset_after(bytes);
        impolite_ = true;
        still_due_ = 0;
    }
    // `cuts`: the server may take that for the end of what is under way. `answered`: so many of
    // pending() have had their answers, which must arrive nevertheless.
    void finish(bool cuts, std::size_t answered = 0);
    bool finished() const { return finished_; }
    // This side gave no reason to be cut.
    bool polite() const { return !impolite_ && !reset_ && !finished_; }
    bool was_reset() const { return reset_; }
    bool blocked() const { return blocked_; }
    bool partial() const { return partial_; }

    // Reads what has come.
    void observe();
    // Nothing moves: a connection that this side has ended must be closed.
    void check_quiet();

 private:
    void on_head(const reply_head& head) override;
    void on_event(const stream_event& event) override;
    void on_end(const reply_head& head, const std::string& body) override;
    void ended();
    bool may_end() const;
    exchange& first(const char* what);

    wire_owner& owner_;
    server_world& world_;
    journal& journal_;
    std::string name_;
    sim_backend& net_;
    sim_peer peer_;
    reply_reader reader_{*this};
    std::deque<exchange> pending_;
    std::int64_t used_ns_;
    bool told_close_ = false;  // the server has said that it will
    bool impolite_ = false;    // the client gave reason to be cut
    bool garbled_ = false;     // what it sent is no sequence of requests any more
    bool partial_ = false;
    bool blocked_ = false;
    bool finished_ = false;
    std::size_t still_due_ = 0;  // of pending_: answers that must come though it has finished
    bool reset_ = false;
    bool gone_ = false;
};

}  // namespace pillion::sim
