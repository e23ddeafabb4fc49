#include "connection.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "http_link.hpp"
#include "pipe_link.hpp"
#include "sse_link.hpp"

namespace pillion::load {

namespace {

using base::ns_per_ms;
constexpr std::int64_t pause_min_ns = 10 * ns_per_ms;
constexpr std::int64_t pause_max_ns = 1000 * ns_per_ms;
// Ending sessions is a courtesy.
constexpr std::int64_t farewell_ns = 500 * ns_per_ms;
// Of a server that has no room, where no request waits for it.
constexpr std::int64_t crowd_patience_ns = 10'000 * ns_per_ms;
// The end of a stream may come a little behind the answer in it. From a server that leaves them
// open this often it is not waited for any longer.
constexpr std::int64_t unended_patience_ns = 100 * ns_per_ms;
constexpr int left_open_max = 3;

std::unique_ptr<link> make_link(const connection_plan& plan, link_user& user) {
    io::reactor& loop = *plan.loop;
    if (plan.to->is_command()) {
        return std::make_unique<pipe_link>(loop, *plan.to, plan.answer_bytes_max, user);
    }
    if (plan.what->rev == revision::r2024_11_05) {
        return std::make_unique<sse_link>(loop, *plan.to, render_open(*plan.what, *plan.to),
                                          plan.answer_bytes_max, user);
    }
    return std::make_unique<http_link>(loop, *plan.to, plan.answer_bytes_max, user);
}

fault class_of_status(std::uint16_t status) noexcept {
    return status >= 500 ? fault::http_5xx : status >= 400 ? fault::http_4xx : fault::http_other;
}

}  // namespace

void connection_plan::prepare() {
    texts.clear();
    for (const question& one : what->questions) {
        texts.push_back(render(*what, one, *to, {{}, to->path}));
    }
}

connection::connection(connection_plan& plan)
    : plan_(plan),
      link_(make_link(plan, *this)),
      texts_(&plan.texts),
      dialogue_(make_dialogue(*plan.what, plan.poll_ns)),
      taker_(dialogue_ ? dialogue_.get() : plan.taker) {}

connection::~connection() {
    PILLION_ASSERT(is_gone() || (phase_ == phase::idle && poster_ == nullptr));
}

void connection::open() noexcept {
    phase_ = phase::connecting;
    served_ = false;
    if (!std::exchange(crowded_, false) && !is_exchanging()) {
        began_ns_ = now_ns();
    }
    link_->open();
}

void connection::on_open(int os_errno) noexcept {
    open_ = os_errno == 0;
    if (leaving_) {
        phase_ = os_errno == 0 ? phase::closing : phase::gone;
        return os_errno == 0 ? link_->close() : void();
    }
    if (os_errno == 0) {
        return shake_hands();
    }
    // A unix socket whose queue is full says EAGAIN; being too many is no error of the server yet.
    crowded_ = os_errno == EAGAIN;
    if (!crowded_) {
        const bool late = os_errno == ECANCELED || os_errno == ETIMEDOUT;
        const std::string_view text = link_->fault_text();
        set_example(text.empty() ? std::strerror(os_errno) : text);
        const std::string_view tls = link_->tls_fault();
        tell({os_errno == ECONNREFUSED || os_errno == ENOENT ? fault::refused
              : late                                         ? fault::timeout
              : !tls.empty()                                 ? fault::tls
                                                             : fault::unreachable});
    }
    try_later(false);
}

// A session outlives its connection, where its link says so.
void connection::shake_hands() noexcept {
    at_.path = link_->path();
    if (opens_only()) {
        return opened_only();
    }
    if (tried_ && !is_exchanging()) {
        forget_session();
        return become_free();
    }
    if (plan_.what->modern()) {
        return ready();
    }
    if (confirmed_) {
        return ready();
    }
    if (introduced_) {
        return confirm();
    }
    phase_ = phase::initializing;
    send_own({action::initialize});
}

// That it is open is the answer.
void connection::opened_only() noexcept {
    if (!is_exchanging()) {
        // TLS 1.3 sends it behind the handshake.
        phase_ = phase::expecting;
        return !churns(pattern::tls_resumed) || link_->can_resume() ? become_free() : void();
    }
    answer_ns_ = now_ns();
    const bool as_wanted = churns(pattern::tls_full) != link_->resumed();
    set_example(as_wanted ? "" : link_->resumed() ? "resumed" : "not resumed");
    end_exchange({as_wanted ? fault::none : fault::tls}, true);
}

void connection::confirm() noexcept {
    phase_ = phase::confirming;
    if (!send_own({action::initialized})) {
        handshake_answered(true);
    }
}

// Nothing stands before the requests of the scenario any more.
void connection::ready() noexcept {
    if (is_exchanging()) {
        return answered_          ? end_session()
               : next_ != nullptr ? ask_follow_up(*next_)
                                  : ask_next_text();
    }
    // The first handshake of a scenario that has one in each exchange only shows that it goes.
    tried_ = churns(pattern::session_churn);
    if (tried_ && has_session()) {
        return end_session();
    }
    become_free();
}

void connection::become_free() noexcept {
    if (reopens() && open_) {
        phase_ = phase::closing;
        parking_ = true;
        return link_->close();
    }
    phase_ = phase::free;
    plan_.watcher->on_free(*this);
}

void connection::ask(std::int64_t due_ns) noexcept {
    due_ns_ = due_ns;
    began_ns_ = now_ns();
    next_ = nullptr;
    answered_ = false;
    if (reopens()) {
        return open();
    }
    if (churns(pattern::session_churn)) {
        forget_session();
        return shake_hands();
    }
    ask_next_text();
}

void connection::ask_next_text() noexcept {
    const std::size_t number = plan_.next_text;
    plan_.next_text = number + 1 == texts_->size() ? 0 : number + 1;
    phase_ = phase::asking;
    const question& asked = plan_.what->questions[number];
    asked_ = asked.what;
    if (dialogue_) {
        dialogue_->begin(asked);
    }
    const request_text& text = (*texts_)[number];
    send(text.begin, text.id_at, plan_.texts[number].end);
}

bool connection::go_on(bool goes_on) noexcept {
    next_ = dialogue_ ? dialogue_->next() : nullptr;
    if (next_ == nullptr) {
        return false;
    }
    const std::int64_t pause_ns = dialogue_->pause_ns();
    next_ns_ = now_ns() + pause_ns;
    if (!goes_on) {
        lose_link();
    } else if (pause_ns <= 0) {
        ask_follow_up(*next_);
    } else {
        pause();
    }
    return true;
}

// The server may end a connection after any answer (RFC 9112 §9.6): the dialogue does not.
void connection::lose_link() noexcept {
    phase_ = phase::losing;
    pause_.cancel();
    link_->close();
}

void connection::pause() noexcept {
    phase_ = phase::pausing;
    plan_.loop->timers().arm(pause_, next_ns_);
}

void connection::on_pause(io::timer&, void* owner) noexcept {
    connection& self = *static_cast<connection*>(owner);
    if (self.phase_ == phase::pausing) {
        self.open_ ? self.ask_follow_up(*self.next_) : self.open();
    }
}

void connection::ask_follow_up(const question& next) noexcept {
    phase_ = phase::asking;
    asked_ = next.what;
    const request_text text = render(*plan_.what, next, *plan_.to, at_);
    follow_up_ = text.begin + text.end;
    send(follow_up_, text.id_at, {});
}

bool connection::send_own(const question& what) noexcept {
    asked_ = what.what;
    const request_text text = render(*plan_.what, what, *plan_.to, at_);
    return send(text.begin + text.end, text.id_at, {});
}

// As link::send().
bool connection::send(const std::string& begin, std::size_t id_at, std::string_view end) noexcept {
    began_ns_ = is_exchanging() ? began_ns_ : now_ns();
    heard_.reset();
    unended_ = false;
    example_bytes_ = 0;
    id_ = id_at > 0 ? plan_.next_id++ : 0;
    return link_->send(begin, id_at, id_, end);
}

void connection::on_bytes(std::size_t in, std::size_t out) noexcept {
    plan_.watcher->on_bytes(in, out);
}

bool connection::on_message(char* text, std::size_t size) noexcept {
    answer_ns_ = heard_ ? answer_ns_ : now_ns();
    // The first wrong one counts.
    if (heard_ && heard_->what != fault::none && !is_asking_nothing()) {
        return true;
    }
    // Before the text is parsed in place.
    set_example({text, size});
    const bool unread = phase_ == phase::confirming || is_unchecked();
    if (link_->status() != 200 || unread || size == 0) {
        return false;
    }
    const std::optional<verdict> how = plan_.check->judge(
        text, size, id_, asked_, plan_.what->modern(), phase_ != phase::asking ? nullptr : taker_);
    if (!plan_.check->reply().empty()) {
        answer(plan_.check->reply());
    }
    if (how && is_asking_nothing()) {
        // Whatever it says, even if to the question before.
        plan_.watcher->on_unasked({how->what == fault::malformed ? how->what : fault::wrong_id},
                                  {example_, example_bytes_});
        return false;
    }
    if (how) {
        // A second answer is one that nobody asked for.
        heard_ = heard_ ? verdict{fault::wrong_id} : *how;
    }
    return how.has_value();
}

// What a server of 2026-07-28 asks is in its answers.
void connection::answer(const std::string& text) noexcept {
    if (plan_.to->is_command()) {
        return link_->answer(text);
    }
    if (plan_.what->modern() || leaving_) {
        return;
    }
    if (poster_ == nullptr) {
        link_user& hears_of_bytes = *this;
        poster_ = std::make_unique<answer_poster>(*plan_.loop, *plan_.to, plan_.answer_bytes_max,
                                                  hears_of_bytes);
    }
    place at = at_;
    if (phase_ == phase::initializing) {
        at.session = link_->session();
    }
    poster_->post(render_answer(*plan_.what, *plan_.to, at, text));
}

// What an answer that is complete amounts to.
verdict connection::judge_reply(const reply_end& how) const noexcept {
    if (how.state != reply_state::complete) {
        return {how.state == reply_state::too_large ? fault::too_large : fault::malformed};
    }
    if (phase_ == phase::confirming) {
        return {how.status >= 200 && how.status < 300 ? fault::none : class_of_status(how.status)};
    }
    if (how.status != 200) {
        return {class_of_status(how.status)};
    }
    return is_unchecked() ? verdict{} : heard_.value_or(verdict{fault::malformed});
}

void connection::on_reply(const reply_end& reply) noexcept {
    left_open_ = 0;
    take_reply(reply);
}

// A stream should end behind its answer (2025-11-25, "Sending Messages to the Server"), and need
// not.
void connection::on_unended() noexcept {
    unended_ = true;
    if (left_open_ >= left_open_max) {
        end_unended();
    }
}

// The answer counts, and was in time; nothing else can be asked through this link.
void connection::end_unended() noexcept {
    left_open_ += left_open_ < left_open_max ? 1 : 0;
    take_reply({reply_state::complete, link_->status(), false});
}

void connection::take_reply(const reply_end& reply) noexcept {
    unended_ = false;
    status_ = reply.status;
    served_ = reply.state == reply_state::complete;
    if (phase_ == phase::deleting) {
        return session_ended(reply);
    }
    if (is_unchecked()) {
        answer_ns_ = now_ns();
    }
    const verdict how = judge_reply(reply);
    if (phase_ != phase::asking) {
        return how.what == fault::none ? handshake_answered(reply.goes_on) : finish(how);
    }
    pause_ns_ = served_ ? 0 : pause_ns_;
    // The server has forgotten the session (REVISIONS §5.4): another one is begun.
    if (reply.status == 404 && has_session()) {
        forget_session();
        return finish(how);
    }
    if (how.what == fault::none && go_on(reply.goes_on)) {
        return;
    }
    // The end of the session belongs to the exchange, through another link if this one ends.
    answered_ = how.what == fault::none && churns(pattern::session_churn) && has_session();
    if (answered_) {
        return reply.goes_on ? end_session() : close();
    }
    // What comes late through a link that is one stream would be taken for the next answer.
    const bool lost_count = how.what == fault::wrong_id || how.what == fault::malformed;
    end_exchange(how, reply.goes_on && (link_->keeps_sessions() || !lost_count));
}

void connection::end_exchange(const verdict& how, bool goes_on) noexcept {
    if (!goes_on) {
        // Where each exchange has a link of its own, none is made before the next.
        parking_ = reopens() && served_;
        return finish(how);
    }
    tell(how);
    become_free();
}

void connection::end_session() noexcept {
    phase_ = phase::deleting;
    send(render_delete(*plan_.what, *plan_.to, at_), 0, {});
}

void connection::session_ended(const reply_end& reply) noexcept {
    if (leaving_) {
        return close();
    }
    forget_session();
    answer_ns_ = now_ns();
    // A server may leave the end of sessions to itself (405).
    const bool ended = reply.status / 100 == 2 || reply.status == 405;
    if (is_exchanging()) {
        const verdict how{reply.state != reply_state::complete ? fault::malformed
                          : ended                              ? fault::none
                                                               : class_of_status(reply.status)};
        return end_exchange(how, reply.goes_on);
    }
    reply.goes_on ? become_free() : close();
}

void connection::forget_session() noexcept {
    introduced_ = confirmed_ = false;
    at_.session.clear();
}

void connection::on_lost() noexcept {
    if (phase_ == phase::free || (phase_ == phase::deleting && !is_exchanging())) {
        return close();
    }
    if (phase_ == phase::pausing && link_->keeps_sessions()) {
        return lose_link();
    }
    set_example({});
    finish({fault::closed});
}

void connection::handshake_answered(bool goes_on) noexcept {
    if (phase_ == phase::confirming) {
        confirmed_ = true;
        return goes_on ? ready() : close();
    }
    if (plan_.check->negotiated() != name_of(plan_.what->rev)) {
        speaks_otherwise_ = true;
        return finish({fault::wrong_shape});
    }
    introduced_ = true;
    at_.session = link_->session();
    set_place();
    return goes_on ? confirm() : close();
}

// Texts of our own where ours is another place than that of the plan.
void connection::set_place() noexcept {
    texts_ = &plan_.texts;
    if (plan_.to->is_command() || (!has_session() && at_.path == plan_.to->path)) {
        return;
    }
    own_texts_.clear();
    for (const question& one : plan_.what->questions) {
        own_texts_.push_back(render(*plan_.what, one, *plan_.to, at_));
        own_texts_.back().end.clear();
    }
    texts_ = &own_texts_;
}

void connection::set_example(std::string_view text) noexcept {
    example_bytes_ = text.copy(example_, sizeof example_);
}

// Whether it was a request of the scenario or one of our own, its end is told.
void connection::tell(const verdict& how) noexcept {
    std::string_view example{example_, example_bytes_};
    char with_status[sizeof example_ + 8];
    if (how.what >= fault::http_other && how.what <= fault::http_5xx) {
        const int bytes = std::snprintf(with_status, sizeof with_status, "%d %.*s", int{status_},
                                        static_cast<int>(example.size()), example.data());
        example = {with_status, static_cast<std::size_t>(bytes)};
    }
    if (due_ns_ >= 0) {
        plan_.events = dialogue_ ? dialogue_->events() : 0;
        plan_.watcher->on_answer(std::exchange(due_ns_, -1),
                                 how.what == fault::none ? answer_ns_ : now_ns(), how, example);
    } else if (how.what != fault::none) {
        plan_.watcher->on_failed(how, example);
    }
}

void connection::finish(const verdict& how) noexcept {
    tell(how);
    close();
}

void connection::close() noexcept {
    if (phase_ < phase::initializing || phase_ >= phase::closing) {
        return;
    }
    const bool lost = std::exchange(phase_, phase::closing) == phase::losing;
    if (!open_) {
        on_closed(0);
    } else if (!lost) {
        link_->close();
    }
}

void connection::on_closed(int os_errno) noexcept {
    open_ = false;
    if (!link_->keeps_sessions()) {
        forget_session();
    }
    if (std::exchange(parking_, false) && !leaving_) {
        return become_free();
    }
    if (phase_ == phase::losing || (phase_ == phase::pausing && link_->keeps_sessions())) {
        plan_.watcher->on_reconnect();
        return pause();
    }
    const bool last_words = phase_ == phase::deleting && !is_exchanging();
    if (phase_ >= phase::initializing && phase_ < phase::closing && phase_ != phase::free &&
        !last_words) {
        const std::string_view tls = link_->tls_fault();
        const std::string_view text = link_->fault_text();
        set_example(!text.empty() || os_errno == 0 ? text : std::strerror(os_errno));
        tell({!tls.empty() ? fault::tls : os_errno == 0 ? fault::closed : fault::reset});
    }
    if (leaving_) {
        phase_ = phase::gone;
        return;
    }
    plan_.watcher->on_reconnect();
    try_later(served_);
}

// Whoever was not served waits, each time longer.
void connection::try_later(bool at_once) noexcept {
    phase_ = phase::idle;
    if (at_once) {
        return open();
    }
    pause_ns_ = std::clamp(pause_ns_ * 2, pause_min_ns, pause_max_ns);
    retry_ns_ = now_ns() + pause_ns_;
}

void connection::look_at_clock() noexcept {
    const std::int64_t now = now_ns();
    if (leaving_ && poster_ != nullptr && !poster_->is_gone()) {
        poster_->leave();
    }
    if (phase_ == phase::expecting && link_->can_resume()) {
        return become_free();
    }
    const bool last_words = leaving_ && (phase_ == phase::deleting || phase_ == phase::closing);
    const bool late = now - began_ns_ >= (last_words ? farewell_ns : plan_.timeout_ns);
    if (phase_ == phase::idle) {
        return look_while_idle();
    }
    if (unended_ && (phase_ == phase::asking || phase_ == phase::initializing) &&
        (late || now - answer_ns_ >= unended_patience_ns)) {
        return end_unended();
    }
    if (!late || phase_ == phase::free || phase_ == phase::gone ||
        (phase_ == phase::asking && plan_.is_patient)) {
        return;
    }
    if (phase_ == phase::connecting) {
        link_->cancel_open();
    } else if (phase_ == phase::closing) {
        link_->close();
    } else if (last_words) {
        close();
    } else if (phase_ == phase::expecting) {
        set_example("no ticket came");
        finish({fault::tls});
    } else {
        set_example({});
        finish({fault::timeout});
    }
}

void connection::look_while_idle() noexcept {
    const std::int64_t now = now_ns();
    const std::int64_t patience_ns = is_exchanging() ? plan_.timeout_ns : crowd_patience_ns;
    if ((is_exchanging() || crowded_) && now - began_ns_ >= patience_ns) {
        set_example(std::exchange(crowded_, false) ? std::strerror(EAGAIN) : "");
        tell({fault::timeout});
    }
    if (!leaving_ && now >= retry_ns_) {
        open();
    }
}

void connection::leave() noexcept {
    leaving_ = true;
    pause_.cancel();
    if (poster_ != nullptr) {
        poster_->leave();
    }
    if (phase_ == phase::idle || (phase_ == phase::free && !open_)) {
        phase_ = phase::gone;
    } else if (phase_ == phase::connecting) {
        link_->cancel_open();
    } else if (phase_ == phase::free && has_session()) {
        end_session();
    } else {
        close();
    }
}

}  // namespace pillion::load
