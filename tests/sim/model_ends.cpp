// The part of model_client that makes and hears of ends: of streams, sessions and connections.
#include <algorithm>

#include "sim/model_client.hpp"

namespace pillion::sim {

void model_client::stream_ended(const wire& on, exchange& of) {
    if (of.what == exchange::kind::stands) {
        if (!world_.draining() && !ended_session_ && state_ != state::dead && !on.finished()) {
            fail("a standing stream ended by itself");
        }
        return lose_stream();
    }
    for (const std::string& id : of.ids) {
        if (const call* const c = find(id);
            c != nullptr && !c->answered && !c->cancelled && !ended_session_) {
            fail("a batch ended without the answer to " + id);
        }
    }
    call* const c = find(of.id);
    if (c == nullptr || c->answered || !c->owed) {
        return;
    }
    if (c->tool == "away" || c->resumed) {
        c->lost = !c->cancelled;
        return;
    }
    // Who has finished sending may be gone: a newer call for the same task takes its stream over.
    const bool given_way = on.finished() && c->overtaken;
    if (!given_way && !c->cancelled && !ended_session_ && state_ != state::dead) {
        fail("the stream of " + c->id + " ended without its answer");
    }
    c->owed = false;
}

// Two or more wait for the result of one task. Which the server meets last is not known: one may
// have been sent first and wait behind another call of its connection.
void model_client::note_overtaken(call& by) {
    for (auto& [id, other] : calls_) {
        if (&other != &by && other.method == by.method && other.params == by.params) {
            other.overtaken = by.overtaken = true;
        }
    }
}

// With its stream a client of HTTP+SSE has lost everything.
void model_client::lose_stream() {
    listens_ = false;
    if (is_sse()) {
        state_ = state::dead;
        for (auto& [id, c] : calls_) {
            c.owed = false;
        }
    }
}

void model_client::session_lost(const exchange& of) {
    constexpr std::int64_t slack_ns = 1'000'000'000;
    if (!session_.empty() && !ended_session_ && state_ != state::dead && !world_.draining() &&
        of.unused_ns < 60'000'000'000 - slack_ns - world_.leap_ns()) {
        fail("a session was lost before its time");
    }
    state_ = state::dead;
    for (auto& [id, c] : calls_) {
        c.owed = false;
    }
}

// Half-closes. In front of a call whose handler has begun everything has been answered.
void model_client::hang_up(wire& w) {
    std::size_t answered = 0;
    for (std::size_t i = 0; i < w.pending().size(); ++i) {
        const call* const c = find(w.pending()[i].id);
        if (c != nullptr && c->method == "tools/call" && c->rounds == 0 && inside(*c) != nullptr) {
            answered = i;
        }
    }
    w.finish(is_modern(), answered);
}

void model_client::give_up(const std::string& id) {
    if (call* const c = find(id)) {
        c->owed = false;
    }
}

void model_client::on_wire_gone(wire& on) {
    for (const exchange& e : on.pending()) {
        // A shutdown ends streams, and lets what has begun come to its end while there is time.
        const call* const begun = find(e.id);
        // That of HTTP+SSE has to wait for the calls it carries, which may be deaf.
        const bool ends = e.what == exchange::kind::stands && e.streamed && !is_sse();
        const bool runs = begun != nullptr && !begun->answered && inside(*begun) != nullptr &&
                          !inside(*begun)->of().stopped();
        if (world_.draining() && on.polite() && (ends || runs)) {
            fail(on.name() + ": cut by the shutdown");
        }
        if (e.what == exchange::kind::stands) {
            lose_stream();
        }
        std::vector<std::string> all = e.ids;
        all.push_back(e.id);
        for (const std::string& id : all) {
            call* const c = find(id);
            if (c == nullptr || c->answered) {
                continue;
            }
            // While it drains, the server may not have read it; whom it called must be answered.
            c->lost = e.what == exchange::kind::call || e.what == exchange::kind::resume;
            c->owed = c->owed && !is_modern() && !c->event_id.empty() && !c->cancelled;
        }
        if (e.id.empty() && state_ == state::greeting) {
            state_ = state::dead;
        }
    }
    if (state_ == state::greeting && session_.empty()) {
        state_ = state::dead;
    }
}

bool model_client::settled() const {
    const bool owes = std::any_of(calls_.begin(), calls_.end(), [](const auto& c) {
        return c.second.owed && !c.second.answered && !c.second.cancelled;
    });
    const bool waits = std::any_of(wires_.begin(), wires_.end(), [](const auto& w) {
        return !w->pending().empty() && w->pending().front().what != exchange::kind::stands;
    });
    return !owes && !waits;
}

std::string model_client::waits_for() const {
    std::string out;
    for (const auto& [id, c] : calls_) {
        if (c.owed && !c.answered && !c.cancelled) {
            out += name_ + " " + id + " " + c.method + " " + c.tool + (c.lost ? " (lost) " : " ");
        }
    }
    for (const auto& w : wires_) {
        if (!w->pending().empty() && w->pending().front().what != exchange::kind::stands) {
            out += w->name() + " ";
        }
    }
    return out;
}

}  // namespace pillion::sim
