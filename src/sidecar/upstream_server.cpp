#include "sidecar/upstream_server.hpp"

#include <algorithm>
#include <utility>

#include <pillion/version.hpp>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "rpc/errors.hpp"

namespace pillion::sidecar {

namespace {

// A server that says nothing to the probe of a client of both eras is of the earlier one
// (REVISIONS §2.5).
constexpr std::int64_t probe_timeout_ms = 3000;
constexpr std::size_t entries_max = 10'000;
// How long it is until a stream of changes that has ended is asked for again, and the lists with
// it, at first and at most.
constexpr std::int64_t listen_again_ms = 1000;
constexpr std::int64_t listen_again_ms_max = 60'000;
constexpr const char* newest = "2026-07-28";
constexpr const char* newest_session = "2025-11-25";

struct kind_names {
    const char* method;
    const char* member;
    const char* capability;
    const char* changed;
};
constexpr kind_names names[list_kinds] = {
    {"tools/list", "tools", "tools", "notifications/tools/list_changed"},
    {"prompts/list", "prompts", "prompts", "notifications/prompts/list_changed"},
    {"resources/list", "resources", "resources", "notifications/resources/list_changed"},
    {"resources/templates/list", "resourceTemplates", "resources",
     "notifications/resources/list_changed"},
};

std::size_t at(list_kind kind) { return static_cast<std::size_t>(kind); }

// What we can do for it in a session, whoever calls: clients are asked case by case.
constexpr std::string_view session_capabilities =
    R"({"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}})";
// … of one client alone.
constexpr std::string_view client_capabilities =
    R"({"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}})";

std::string client_info() {
    return std::string(R"({"name":"pillion","version":")") + version + "\"}";
}

}  // namespace

upstream_server::upstream_server(io::reactor& loop, bridge_spec what, link_maker make,
                                 upstream_listener& listener)
    : loop_(loop),
      spec_(std::move(what)),
      label_(spec_.name),
      make_(std::move(make)),
      listener_(listener) {
    be_used();
}

upstream_server::upstream_server(io::reactor& loop, const upstream_server& first,
                                 std::uint64_t number, link_maker make, upstream_listener& listener)
    : loop_(loop),
      spec_(first.spec_),
      first_(&first),
      label_(spec_.name + "#" + std::to_string(number)),
      make_(std::move(make)),
      listener_(listener),
      greets_first_(first.greets_first_),
      subscribed_(first.subscribed_) {
    be_used();
}

upstream_server::~upstream_server() { PILLION_ASSERT(idle()); }

void upstream_server::start() {
    PILLION_ASSERT(link_ == nullptr);
    if (stage_ == stage::closed) {
        return;
    }
    ends_with_.clear();
    modern_ = false;
    listening_ = 0;
    pinging_ = 0;
    probe_ = 0;
    has_levels_ = false;
    roots_changes_ = 0;
    has_.fill(false);
    busy_.fill(false);
    again_.fill(false);
    open_lists_ = 0;
    link_ = make_();
    link_->start(*this);
    if (greets_first_) {
        return greet();
    }
    probe();
}

void upstream_server::close() noexcept {
    stage_ = stage::closed;
    timer_.cancel();
    listen_timer_.cancel();
    if (link_ != nullptr) {
        link_->close();
    }
}

void upstream_server::probe() {
    stage_ = stage::probing;
    loop_.arm_in_ms(timer_, std::min(probe_timeout_ms, spec_.start_timeout_ms));
    probe_ =
        peer_.ask("server/discover", "{" + meta(nullptr, 0) + "}", [this](const rpc_answer& what) {
            if (what.lost || stage_ == stage::closed) {
                return;
            }
            const json::view versions = what.result["supportedVersions"];
            bool ours = false;
            if (versions.is_array()) {
                for (const json::view one : versions.elements()) {
                    ours = ours || one.str() == newest;
                }
            }
            if (ours && (stage_ == stage::probing || stage_ == stage::greeting)) {
                return take_discovered(what.result);
            }
            if (stage_ == stage::probing) {
                greet();
            }
        });
}

void upstream_server::take_discovered(json::view result) {
    modern_ = true;
    version_ = newest;
    note_capabilities(result["capabilities"]);
}

void upstream_server::greet() {
    stage_ = stage::greeting;
    loop_.arm_in_ms(timer_, spec_.start_timeout_ms);
    std::string params = R"({"protocolVersion":")";
    params.append(newest_session).append(R"(","capabilities":)");
    params.append(first_ == nullptr ? session_capabilities : client_capabilities);
    params.append(R"(,"clientInfo":)").append(client_info()).append("}");
    peer_.ask("initialize", params, [this](const rpc_answer& what) {
        if (!what.lost && stage_ == stage::greeting) {
            take_greeting(what);
        }
    });
}

void upstream_server::take_greeting(const rpc_answer& what) {
    const std::string_view agreed = what.result["protocolVersion"].str();
    if (!what.result.is_object() || agreed.empty()) {
        const std::string_view said = what.error["message"].str();
        return fail("it refused to be initialized" +
                    (said.empty() ? "" : ": " + std::string(said)));
    }
    version_ = agreed;
    peer_.notify("notifications/initialized", {});
    note_capabilities(what.result["capabilities"]);
}

void upstream_server::note_capabilities(json::view capabilities) {
    stage_ = stage::listing;
    loop_.arm_in_ms(timer_, spec_.start_timeout_ms);
    lists_.completions = capabilities["completions"].is_object();
    lists_.subscriptions = capabilities["resources"]["subscribe"].boolean();
    lists_.tasks = capabilities["tasks"]["requests"]["tools"]["call"].is_object();
    for (std::size_t i = 0; i < list_kinds; ++i) {
        has_[i] = first_ == nullptr && capabilities[names[i].capability].is_object();
    }
    has_levels_ = !modern_ && capabilities["logging"].is_object();
    if (has_levels_) {
        send_level();
    }
    // One more, so that answers within a call cannot end the listing too early.
    open_lists_ = 1;
    for (std::size_t i = 0; i < list_kinds; ++i) {
        if (has_[i]) {
            ++open_lists_;
            list(static_cast<list_kind>(i), {});
        } else {
            lists_.of[i].clear();
        }
    }
    listed();
}

void upstream_server::list(list_kind kind, std::string cursor) {
    if (cursor.empty()) {
        coming_[at(kind)].clear();
    }
    busy_[at(kind)] = true;
    std::string params = "{";
    if (!cursor.empty()) {
        json::builder b;
        b.value(cursor);
        params.append(R"("cursor":)").append(b.text());
    }
    if (modern_) {
        params.append(cursor.empty() ? "" : ",").append(meta(nullptr, 0));
    }
    params += "}";
    peer_.ask(names[at(kind)].method, params, [this, kind](const rpc_answer& what) {
        if (!what.lost && stage_ != stage::closed) {
            take_page(kind, what);
        }
    });
}

void upstream_server::take_page(list_kind kind, const rpc_answer& what) {
    std::vector<std::string>& to = coming_[at(kind)];
    const json::view page = what.result[names[at(kind)].member];
    if (page.is_array()) {
        for (const json::view one : page.elements()) {
            if (one.is_object() && to.size() < entries_max) {
                to.push_back(json_text(one));
            }
        }
    }
    const std::string_view next = what.result["nextCursor"].str();
    // Each page must bring something: a server that repeats its cursor would be asked for ever.
    if (!next.empty() && page.size() > 0 && to.size() < entries_max) {
        return list(kind, std::string(next));
    }
    busy_[at(kind)] = false;
    if (page.is_array()) {
        lists_.of[at(kind)] = std::move(to);
    }
    // A server that cannot list what it claims to have keeps what is known of it.
    to.clear();
    if (kind == list_kind::tools) {
        link_->learn_tools(lists_[kind]);
    }
    if (up() && std::exchange(again_[at(kind)], false)) {
        return list(kind, {});
    }
    listed();
}

// A list is complete, in the beginning or later.
void upstream_server::listed() {
    if (stage_ == stage::up) {
        return listener_.on_lists(*this);
    }
    if (--open_lists_ > 0) {
        return;
    }
    stage_ = stage::up;
    settled_ = true;
    delay_ms_ = 0;
    fault_.clear();
    if (spec_.ping_interval_ms > 0) {
        loop_.arm_in_ms(timer_, spec_.ping_interval_ms);
    } else {
        timer_.cancel();
    }
    log::info("bridge.up", {log::kv("server", label_), log::kv("revision", version_)});
    listen();
    if (!modern_) {
        for (const std::string& uri : subscribed_) {
            send_subscription(uri, true);
        }
    }
    if (first_ != nullptr) {
        learn_from_first();
    } else {
        listener_.on_lists(*this);
    }
    for (std::size_t i = 0; i < list_kinds; ++i) {
        if (std::exchange(again_[i], false)) {
            list(static_cast<list_kind>(i), {});
        }
    }
    go_on_with_calls();
}

void upstream_server::learn_from_first() {
    PILLION_ASSERT(first_ != nullptr);
    if (link_ != nullptr) {
        link_->learn_tools(first_->offers()[list_kind::tools]);
    }
}

void upstream_server::list_again_after(std::string_view notification) {
    for (std::size_t i = 0; i < list_kinds; ++i) {
        if (notification == names[i].changed) {
            list_again(static_cast<list_kind>(i));
        }
    }
}

void upstream_server::list_again(list_kind kind) {
    if ((!up() && stage_ != stage::listing) || !has_[at(kind)]) {
        return;
    }
    // Before it is up it is listed once: one that tells of a change each time would never be.
    if (busy_[at(kind)] || !up()) {
        again_[at(kind)] = true;
        return;
    }
    list(kind, {});
}

// 2026-07-28 tells of changes on a request that stays open.
void upstream_server::listen() {
    if (!modern_) {
        return;
    }
    if (listening_ != 0) {
        peer_.forget(listening_);
        peer_.notify("notifications/cancelled", R"({"requestId":)" + std::to_string(listening_) +
                                                    "," + meta(nullptr, 0) + "}");
        listening_ = 0;
    }
    if (first_ != nullptr && subscribed_.empty()) {
        return;
    }
    const bool lists = first_ == nullptr;
    json::builder b;
    b.begin_object().member("toolsListChanged", lists).member("promptsListChanged", lists);
    b.member("resourcesListChanged", lists).key("resourceSubscriptions").begin_array();
    for (const std::string& uri : subscribed_) {
        b.value(uri);
    }
    b.end_array().end_object();
    const std::string params =
        R"({"notifications":)" + std::string(b.text()) + "," + meta(nullptr, 0) + "}";
    listening_since_ms_ = loop_.now_ns() / 1'000'000;
    listening_ = peer_.ask("subscriptions/listen", params,
                           [this](const rpc_answer& what) { listening_over(what); });
}

// It tells nothing any more, or never does. What changes until it is asked again is not heard of:
// all lists are asked for then.
void upstream_server::listening_over(const rpc_answer& what) {
    listening_ = 0;
    if (what.lost || !up() || !link_->has_ends() ||
        what.error["code"].i64() == std::int64_t{rpc::method_not_found}) {
        return;
    }
    ask_for_all_later();
}

// In a session the link takes the stream of changes up again. One that is always cut at once would
// have its lists asked for without end.
void upstream_server::on_gap() {
    if (!listen_timer_.armed()) {
        ask_for_all_later();
    }
}

void upstream_server::ask_for_all_later() {
    const std::int64_t lasted_ms = loop_.now_ns() / 1'000'000 - listening_since_ms_;
    const bool first = listen_delay_ms_ == 0 || lasted_ms > listen_again_ms_max;
    listen_delay_ms_ =
        first ? listen_again_ms : std::min(2 * listen_delay_ms_, listen_again_ms_max);
    loop_.arm_in_ms(listen_timer_, listen_delay_ms_);
}

void upstream_server::on_listen_timer(io::timer& /*self*/, void* owner) noexcept {
    auto& me = *static_cast<upstream_server*>(owner);
    me.listening_since_ms_ = me.loop_.now_ns() / 1'000'000;
    if (me.up()) {
        me.listen();
    }
    for (std::size_t i = 0; i < list_kinds; ++i) {
        me.list_again(static_cast<list_kind>(i));
    }
}

// A server that works on a call may be deaf to everything else meanwhile, and is not asked.
void upstream_server::ping() {
    const std::uint64_t unanswered = std::exchange(pinging_, 0);
    if (unanswered != 0 && calls_.empty()) {
        return fail("it does not answer pings");
    }
    peer_.forget(unanswered);
    loop_.arm_in_ms(timer_, calls_.empty() ? spec_.ping_timeout_ms : spec_.ping_interval_ms);
    if (!calls_.empty()) {
        return;
    }
    const std::string params = modern_ ? "{" + meta(nullptr, 0) + "}" : "{}";
    pinging_ = peer_.ask(modern_ ? "server/discover" : "ping", params, [this](const rpc_answer& a) {
        pinging_ = 0;
        if (!a.lost && up()) {
            loop_.arm_in_ms(timer_, spec_.ping_interval_ms);
        }
    });
}

void upstream_server::subscribe(const std::string& uri, bool on) {
    const bool changed = on ? subscribed_.insert(uri).second : subscribed_.erase(uri) > 0;
    if (!up() || !changed) {
        return;
    }
    if (modern_) {
        return listen();
    }
    send_subscription(uri, on);
}

void upstream_server::follow(const std::set<std::string>& uris) {
    const std::set<std::string> before = std::exchange(subscribed_, uris);
    if (!up() || before == uris) {
        return;
    }
    if (modern_) {
        return listen();
    }
    const auto tell = [this](const auto& those, const auto& others, bool on) {
        for (const std::string& uri : those) {
            if (!others.contains(uri)) {
                send_subscription(uri, on);
            }
        }
    };
    tell(before, uris, false);
    tell(uris, before, true);
}

void upstream_server::send_subscription(const std::string& uri, bool on) {
    if (lists_.subscriptions) {
        json::builder b;
        b.begin_object().member("uri", uri).end_object();
        peer_.ask(on ? "resources/subscribe" : "resources/unsubscribe", b.text(),
                  [](const rpc_answer&) {});
    }
}

// `_meta` of a request, as a member.
std::string upstream_server::meta(const bridged_call* call, std::uint64_t number) const {
    const bool era = modern_ || stage_ == stage::probing;
    if (!era && number == 0) {
        return R"("_meta":{})";
    }
    std::string text = R"("_meta":{)";
    if (number != 0) {
        text.append(R"("progressToken":)").append(std::to_string(number));
    }
    if (era) {
        text.append(number != 0 ? "," : "");
        text.append(R"("io.modelcontextprotocol/protocolVersion":")").append(newest);
        text.append(R"(","io.modelcontextprotocol/clientInfo":)").append(client_info());
        text.append(R"(,"io.modelcontextprotocol/clientCapabilities":)");
        const bool any = call != nullptr && !call->asked().capabilities.empty();
        text.append(any ? call->asked().capabilities : "{}");
        if (call != nullptr && !call->asked().log_level.empty()) {
            text.append(R"(,"io.modelcontextprotocol/logLevel":")");
            text.append(call->asked().log_level).append("\"");
        }
    }
    return text + "}";
}

void upstream_server::send(std::string message) {
    if (link_ != nullptr) {
        link_->send(std::move(message));
    }
}

void upstream_server::on_message(std::string_view message) {
    if (!peer_.take(message)) {
        log::debug("bridge.no_message", {log::kv("server", label_)});
    }
}

void upstream_server::fail(std::string why) {
    ends_with_ = std::move(why);
    if (link_ != nullptr) {
        link_->close();
    }
}

void upstream_server::on_end(std::string why) {
    const std::unique_ptr<server_link> ended = std::move(link_);
    timer_.cancel();
    listen_timer_.cancel();
    const bool was_closed = stage_ == stage::closed;
    const bool was_up = stage_ == stage::up;
    // Servers built on the official Rust SDK end at a first request other than initialize and ping.
    // The end of a link over HTTP does not say as much.
    const bool at_probe = !was_closed && !was_up && peer_.waits_for(probe_) && ends_with_.empty() &&
                          !ended->has_ends();
    if (!was_closed) {
        stage_ = stage::resting;
    }
    peer_.end();
    calls_.clear();
    questions_.clear();
    fault_ = ends_with_.empty() ? std::move(why) : std::exchange(ends_with_, {});
    greets_first_ = was_up ? greets_first_ : at_probe;
    anew_ = at_probe || (anew_ && was_up);
    if (anew_) {
        log::info("bridge.anew", {log::kv("server", label_), log::kv("reason", fault_)});
        return loop_.arm_in_ms(timer_, 0);
    }
    settled_ = true;
    refuse_waiting();
    if (!was_closed) {
        rest();
    }
}

void upstream_server::rest() {
    delay_ms_ =
        std::min(delay_ms_ == 0 ? spec_.restart_min_ms : 2 * delay_ms_, spec_.restart_max_ms);
    log::warn("bridge.down", {log::kv("server", label_), log::kv("reason", fault_),
                              log::kv("again_in_ms", delay_ms_)});
    loop_.arm_in_ms(timer_, delay_ms_);
}

void upstream_server::on_timer(io::timer& /*self*/, void* owner) noexcept {
    auto& me = *static_cast<upstream_server*>(owner);
    switch (me.stage_) {
        case stage::probing:
            return me.greet();
        case stage::greeting:
        case stage::listing:
            return me.fail("it was not ready in time");
        case stage::up:
            return me.ping();
        case stage::resting:
            return me.start();
        default:
            return;
    }
}

}  // namespace pillion::sidecar
