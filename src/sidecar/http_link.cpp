#include "sidecar/http_link.hpp"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "json/document.hpp"
#include "rpc/errors.hpp"
#include "sidecar/http_exchange.hpp"
#include "sidecar/rpc_peer.hpp"

namespace pillion::sidecar {

namespace {

// An answer may take as long as the call that waits for it, which ends it.
constexpr std::int64_t answer_timeout_ms = std::int64_t{24} * 3600 * 1000;
constexpr std::int64_t farewell_ms = 1000;
// How long requests may go on that were sent in a session which the server has forgotten.
constexpr std::int64_t leaving_ms = 2000;
constexpr int resumptions_max = 8;
// Messages that wait for the address to post to.
constexpr std::size_t waiting_max = 256;

// Whether a refusal of a request in a session means that the server does not know the session: 404
// (REVISIONS §5.4), or 400 with an error about no request, which says so in words, as the official
// examples in TypeScript have it.
bool has_forgotten(int status, const std::string& body) {
    if (status == 404) {
        return true;
    }
    const auto parsed = json::document::parse(body);
    const json::view root = parsed ? parsed->root() : json::view();
    const std::string_view said = root["error"]["message"].str();
    const json::view id = root["id"];
    return status == 400 && (!id.exists() || id.is_null()) &&
           (said.find("session") != said.npos || said.find("Session") != said.npos);
}

class http_link final : public server_link, private exchange_listener {
 public:
    http_link(io::reactor& loop, io::offload& helpers, const bridge_spec& what)
        : loop_(loop),
          spec_(what),
          agent_(loop, helpers),
          old_(what.transport == bridge_transport::sse) {
        if (spec_.where.secure) {
            agent_.trust(spec_.authorities);
        }
    }
    ~http_link() override { PILLION_ASSERT(agent_.idle()); }

    void start(link_reader& reader) override;
    void send(std::string message) override;
    void learn_tools(const std::vector<std::string>& tools) override {
        fields_ = fields_of_tools(tools);
    }
    bool has_ends() const noexcept override { return true; }
    void close() noexcept override;

 private:
    void on_head(http_exchange& of, const client::answer& head) override;
    void on_event(http_exchange& of, const http::sse_event& event) override;
    void on_over(http_exchange& of, const client::answer& got) override;
    void on_again(http_exchange& of) override;
    static void on_timer(io::timer& self, void* owner) noexcept;

    void post(http_message message);
    void open_stream();
    client::question question_for(const http_exchange& of) const;
    http_exchange& begin(http_message message);
    void bury(http_exchange& one) noexcept;
    void take(const http_exchange& of, std::string_view message);
    void take_endpoint(std::string_view reference);
    void cancel(std::uint64_t number);
    void taken(http_exchange& of, int status);
    void refused(http_exchange& of, int status);
    void broken(http_exchange& of, std::string_view fault);
    void events_over(http_exchange& of);
    void stream_over(http_exchange& of, const client::answer& got);
    void fall_back(http_exchange& of);
    void lose_session(http_exchange& of);
    void leave_when_idle();
    void fail(const http_exchange& of, int code, std::string_view why);
    void end_with(std::string why);

    io::reactor& loop_;
    bridge_spec spec_;
    client::agent agent_;
    link_reader* reader_ = nullptr;
    std::vector<std::unique_ptr<http_exchange>> exchanges_;
    tool_fields fields_;
    std::string session_;
    std::string version_;               // that was agreed on in a session
    bool old_;                          // HTTP+SSE
    std::optional<client::url> to_;     // old: where messages are posted
    std::deque<http_message> waiting_;  // old: until that is known
    std::string why_;
    bool gap_ = false;  // the stream that it speaks on by itself is away
    bool ending_ = false;
    bool leaving_ = false;   // the server has forgotten the session
    bool farewell_ = false;  // the session is being ended
    io::timer timer_{&http_link::on_timer, this};
    io::timer leave_timer_{[](io::timer&, void* owner) noexcept {
                               auto& me = *static_cast<http_link*>(owner);
                               me.session_.clear();
                               me.end_with("it has forgotten the session");
                           },
                           this};
};

void http_link::start(link_reader& reader) {
    reader_ = &reader;
    if (old_) {
        open_stream();
    }
}

void http_link::send(std::string message) {
    if (ending_) {
        return;
    }
    http_message made = read_message(std::move(message), fields_);
    if (made.cancels != 0) {
        cancel(made.cancels);
    }
    // 2026-07-28: the end of its connection has cancelled it.
    if (made.cancels == 0 || made.version.empty()) {
        post(std::move(made));
    }
}

// Nobody waits for that answer any more. In a session its end means nothing, so the message that
// says it goes as well.
void http_link::cancel(std::uint64_t number) {
    for (const auto& one : exchanges_) {
        if (one->message.id == number && !one->over()) {
            return bury(*one);
        }
    }
}

void http_link::post(http_message message) {
    if (old_ && !to_) {
        if (waiting_.size() < waiting_max) {
            waiting_.push_back(std::move(message));
        }
        return;
    }
    http_exchange& made = begin(std::move(message));
    made.ask(question_for(made));
}

void http_link::open_stream() {
    http_exchange& made = begin({});
    made.ask(question_for(made));
}

http_exchange& http_link::begin(http_message message) {
    exchange_listener& me = *this;
    exchanges_.push_back(std::make_unique<http_exchange>(loop_, agent_, me, spec_.message_bytes_max,
                                                         std::move(message)));
    return *exchanges_.back();
}

client::question http_link::question_for(const http_exchange& of) const {
    client::question q;
    // A stream that is taken up again is read, whatever it was the answer to (REVISIONS §5.5).
    const bool reads = of.is_stream() || !of.last_event_id().empty();
    q.to = !reads && to_ ? *to_ : spec_.where;
    q.socket = spec_.socket;
    q.timeout_ms = answer_timeout_ms;
    q.field = "mcp-session-id";
    for (const auto& [name, value] : spec_.headers) {
        q.headers.emplace_back(name, value);
    }
    if (reads) {
        q.accept = "text/event-stream";
        if (!of.last_event_id().empty()) {
            q.headers.emplace_back("Last-Event-ID", of.last_event_id());
        }
    } else {
        q.post = true;
        q.accept = "application/json, text/event-stream";
        q.content_type = "application/json";
        q.body = of.message.text;
        q.headers.insert(q.headers.end(), of.message.fields.begin(), of.message.fields.end());
    }
    const std::string& version = of.message.version.empty() ? version_ : of.message.version;
    if (!version.empty()) {
        q.headers.emplace_back("MCP-Protocol-Version", version);
    }
    if (!session_.empty() && of.message.version.empty() && of.message.method != "initialize") {
        q.headers.emplace_back("Mcp-Session-Id", session_);
    }
    return q;
}

// It is gone at the end of the turn, since it may be what calls us.
void http_link::bury(http_exchange& one) noexcept {
    one.drop();
    if (!timer_.armed()) {
        loop_.arm_in_ms(timer_, 0);
    }
}

void http_link::on_head(http_exchange& of, const client::answer& head) {
    if (of.message.method == "initialize" && head.status / 100 == 2) {
        session_ = head.field;
    }
    if (of.is_stream() && of.has_events() && std::exchange(gap_, false)) {
        reader_->on_gap();
    }
}

void http_link::on_event(http_exchange& of, const http::sse_event& event) {
    if (old_ && event.type == "endpoint") {
        return take_endpoint(event.data);
    }
    if (event.type == "message" && !event.data.empty()) {
        take(of, event.data);
    }
}

void http_link::take(const http_exchange& of, std::string_view message) {
    if (of.message.method == "initialize" || (old_ && version_.empty())) {
        const auto parsed = json::document::parse(message);
        const json::view result = parsed ? parsed->root()["result"] : json::view();
        if (result["protocolVersion"].is_string()) {
            version_ = result["protocolVersion"].str();
        }
    }
    reader_->on_message(message);
}

// Messages hold what callers sent: they go to the configured origin and nowhere else.
void http_link::take_endpoint(std::string_view reference) {
    std::string fault;
    auto where = client::resolve_url(spec_.where, reference, fault);
    if (reference.empty() || !where || !where->has_origin_of(spec_.where)) {
        return end_with("it wants messages posted elsewhere");
    }
    to_ = std::move(*where);
    for (auto all = std::exchange(waiting_, {}); !all.empty() && !ending_; all.pop_front()) {
        post(std::move(all.front()));
    }
}

void http_link::on_over(http_exchange& of, const client::answer& got) {
    if (ending_) {
        return;
    }
    if (of.is_stream()) {
        return stream_over(of, got);
    }
    if (of.has_events()) {
        return got.fault == client::agent::too_large ? broken(of, got.fault) : events_over(of);
    }
    if (!got.fault.empty()) {
        return broken(of, got.fault);
    }
    const int status = got.status;
    if (status / 100 == 2) {
        return taken(of, status);
    }
    const bool in_session =
        !session_.empty() && of.message.version.empty() && of.message.method != "initialize";
    if (in_session && has_forgotten(status, of.body())) {
        return lose_session(of);
    }
    // What servers of 2024-11-05 say to a POST (REVISIONS §5.1; the specification's rule for
    // clients of both).
    const bool unknown = status == 400 || status == 404 || status == 405;
    if (unknown && !old_ && of.message.method == "initialize" &&
        spec_.transport == bridge_transport::automatic) {
        return fall_back(of);
    }
    refused(of, status);
}

void http_link::taken(http_exchange& of, int status) {
    if (!old_ && of.message.what == http_message::kind::request) {
        if (!of.body().empty()) {
            take(of, of.body());
        }
        if (!ending_ && !of.over()) {
            fail(of, rpc::internal_error,
                 "The server answered " + std::to_string(status) + " without an answer");
        }
    }
    if (ending_ || of.over()) {
        return;
    }
    if (!old_ && of.message.method == "notifications/initialized") {
        open_stream();
    }
    bury(of);
}

void http_link::refused(http_exchange& of, int status) {
    const auto parsed = json::document::parse(of.body());
    const json::view error = parsed ? parsed->root()["error"] : json::view();
    if (of.message.what != http_message::kind::request) {
        log::debug("bridge.message_refused",
                   {log::kv("server", spec_.name), log::kv("status", status)});
    } else if (error["code"].i64() && error["message"].is_string()) {
        // Its id may be missing, where the server has not come to it.
        const json::view data = error["data"];
        reader_->on_message(error_answer(of.message.id, static_cast<int>(*error["code"].i64()),
                                         error["message"].str(),
                                         data.exists() ? json_text(data) : ""));
    } else {
        const bool trouble = status >= 500 || status == 429;
        fail(of, trouble ? rpc::unavailable : rpc::internal_error,
             "The server answered " + std::to_string(status));
    }
    if (!ending_ && !of.over()) {
        bury(of);
    }
}

// No answer at all, or not to its end.
void http_link::broken(http_exchange& of, std::string_view fault) {
    const bool one_only = fault == client::agent::lost || fault == client::agent::too_many ||
                          fault == client::agent::too_large;
    if (!one_only) {
        return end_with(std::string(fault));
    }
    const int code = fault == client::agent::too_large ? rpc::internal_error : rpc::unavailable;
    fail(of, code, "The server " + spec_.name + " gave no answer: " + std::string(fault));
    if (!ending_ && !of.over()) {
        bury(of);
    }
}

// The answer to a request was a stream, and it has ended.
void http_link::events_over(http_exchange& of) {
    const bool waits = of.message.id != 0 && reader_->waits_for(of.message.id);
    if (waits && of.message.version.empty() && !of.last_event_id().empty() &&
        of.tries() < resumptions_max) {
        return of.ask_again();
    }
    fail(of, rpc::unavailable, "The server " + spec_.name + " ended its answer too early");
    if (!ending_ && !of.over()) {
        bury(of);
    }
}

// The stream that a server speaks on by itself.
void http_link::stream_over(http_exchange& of, const client::answer& got) {
    const bool good = got.fault.empty() && got.status / 100 == 2 && of.has_events();
    if (old_) {
        return end_with(!got.fault.empty() ? std::string(got.fault)
                        : good             ? "its event stream ended"
                                           : "it answered " + std::to_string(got.status));
    }
    // A server that has no such stream says 405, or 404 from the start.
    if (got.fault.empty() && of.tries() > 0 && has_forgotten(got.status, of.body())) {
        return lose_session(of);
    }
    if (good || got.status >= 500 || !got.fault.empty()) {
        gap_ = true;
        return of.ask_again();
    }
    bury(of);  // it has none
}

void http_link::on_again(http_exchange& of) {
    if (!ending_) {
        of.ask(question_for(of));
    }
}

void http_link::fall_back(http_exchange& of) {
    old_ = true;
    waiting_.push_back(std::move(of.message));
    bury(of);
    open_stream();
}

// What else is under way will hear the same, and was not looked at either: it may say so first.
void http_link::lose_session(http_exchange& of) {
    reader_->on_session_lost(of.last_event_id().empty() ? of.message.id : 0);
    bury(of);
    if (!std::exchange(leaving_, true)) {
        loop_.arm_in_ms(leave_timer_, leaving_ms);
    }
    leave_when_idle();
}

void http_link::leave_when_idle() {
    const bool busy = std::any_of(exchanges_.begin(), exchanges_.end(), [](const auto& one) {
        return !one->over() && one->message.id != 0;
    });
    if (leaving_ && !busy && !ending_) {
        session_.clear();
        end_with("it has forgotten the session");
    }
}

// To a request that has its answer already this says nothing.
void http_link::fail(const http_exchange& of, int code, std::string_view why) {
    if (of.message.id != 0) {
        reader_->on_message(error_answer(of.message.id, code, why));
    }
}

void http_link::end_with(std::string why) {
    if (why_.empty()) {
        why_ = std::move(why);
    }
    close();
}

void http_link::close() noexcept {
    if (std::exchange(ending_, true)) {
        return;
    }
    for (const auto& one : exchanges_) {
        one->drop();
    }
    waiting_.clear();
    leave_timer_.cancel();
    if (!session_.empty() && !old_) {
        http_exchange nothing(loop_, agent_, *this, 0, {});
        client::question q = question_for(nothing);
        q.method = "DELETE";
        q.accept = "*/*";
        q.timeout_ms = farewell_ms;
        farewell_ = true;
        agent_.ask(std::move(q), [this](const client::answer&) { farewell_ = false; });
    }
    loop_.arm_in_ms(timer_, 0);
}

void http_link::on_timer(io::timer& self, void* owner) noexcept {
    auto& me = *static_cast<http_link*>(owner);
    std::erase_if(me.exchanges_, [](const auto& one) { return one->over(); });
    if (!me.ending_) {
        return me.leave_when_idle();
    }
    if (!me.farewell_) {
        me.agent_.close();
        if (me.agent_.idle()) {
            return me.reader_->on_end(me.why_.empty() ? "it was closed" : std::move(me.why_));
        }
    }
    me.loop_.arm_in_ms(self, 2);
}

}  // namespace

std::unique_ptr<server_link> link_to_url(io::reactor& loop, io::offload& helpers,
                                         const bridge_spec& what) {
    return std::make_unique<http_link>(loop, helpers, what);
}

}  // namespace pillion::sidecar
