#include "mcp/http_transport.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "base/number.hpp"
#include "http/media.hpp"
#include "http/response_writer.hpp"
#include "json/parser.hpp"
#include "mcp/http_batch.hpp"
#include "mcp/http_client.hpp"
#include "mcp/legacy_sse.hpp"
#include "mcp/legacy_stream.hpp"
#include "mcp/modern_checks.hpp"
#include "mcp/stream_follower.hpp"
#include "rpc/errors.hpp"

namespace pillion::mcp {

namespace {

using http::header_id;

constexpr std::int64_t streams_wait_ns = 60'000'000'000;
constexpr std::string_view sse_path = "/sse";
constexpr std::string_view message_path = "/messages";

// The value of a query parameter; `name` ends with '='. Empty when absent.
std::string_view query_value(std::string_view query, std::string_view name) noexcept {
    while (!query.empty()) {
        const std::string_view one = query.substr(0, query.find('&'));
        if (one.starts_with(name)) {
            return one.substr(name.size());
        }
        query.remove_prefix(one.size() < query.size() ? one.size() + 1 : query.size());
    }
    return {};
}

// Whether the same are let in: those in lists, and those of issuers, whose keys do not matter.
bool lets_in_the_same(const auth::auth_options* a, const auth::auth_options* b) {
    const auto same = [](const auto& one, const auto& other) {
        return one == other || (one != nullptr && other != nullptr && *one == *other);
    };
    const auto is_same_issuer = [](const auto& one, const auto& other) {
        return one.rules.issuer == other.rules.issuer;
    };
    return a == b || (a != nullptr && b != nullptr && same(a->tokens, b->tokens) &&
                      same(a->api_keys, b->api_keys) && a->grants == b->grants &&
                      std::ranges::equal(a->issuers, b->issuers, is_same_issuer));
}

// -1 when it is no number of milliseconds.
std::int64_t asked_timeout_ms(const http::request_head& head) noexcept {
    const auto ms = base::parse_integral(head.get(header_id::x_request_timeout_ms));
    return ms && *ms >= 1 && head.count(header_id::x_request_timeout_ms) == 1 ? *ms : -1;
}

}  // namespace

bool http_transport::header_says_modern(const http::request_head& head) noexcept {
    return head.get(header_id::mcp_protocol_version) == name_of(modern);
}

http_transport::http_transport(engine& e, http_options options)
    : engine_(e), options_(std::move(options)), started_ns_(e.loop().now_ns()) {
    open_access();
}

void http_transport::change(http_options to) {
    const auto before = std::exchange(options_, std::move(to)).access;
    hosts_.clear();
    rules_ = rules_ == UINT16_MAX ? 1 : static_cast<std::uint16_t>(rules_ + 1);
    if (options_.access != before) {
        open_access();
        if (!lets_in_the_same(before.get(), options_.access.get())) {
            engine_.changes().judge_anew();
        }
    }
}

http_transport::place http_transport::place_of(std::string_view path) const noexcept {
    if (path == options_.path) {
        return place::mcp;
    }
    if (options_.legacy_sse && path == sse_path) {
        return place::sse;
    }
    if (options_.legacy_sse && path == message_path) {
        return place::messages;
    }
    if (path == "/health" || path == "/healthz" || path == "/livez") {
        return place::health;
    }
    if (path == "/ready" || path == "/readyz") {
        return place::ready;
    }
    return path == "/" ? place::home : is_metadata(path) ? place::metadata : place::nowhere;
}

http_client& http_transport::client_of(http::exchange& ex) {
    auto* client = static_cast<http_client*>(ex.tag());
    client->set_origin(ex.head().get(header_id::origin));
    return *client;
}

void http_transport::handle(http::exchange& ex) noexcept {
    const place where = standing_of(ex.head()).where;
    if (ex.head().m == http::method::options) {
        return handle_options(ex, where);
    }
    switch (where) {
        case place::mcp:
            switch (ex.head().m) {
                case http::method::post:
                    return handle_post(ex);
                case http::method::get:
                    return handle_get(ex);
                default:
                    return handle_delete(ex);
            }
        case place::sse:
            return legacy_sse::open(engine_, ex, message_path, client_of(ex).origin(),
                                    client_of(ex).from);
        case place::messages:
            return handle_sse_message(ex);
        case place::health:
            return handle_health(ex);
        case place::ready:
            return handle_ready(ex);
        case place::home:
            return handle_home(ex);
        case place::metadata:
            return handle_metadata(ex);
        case place::nowhere:
            break;
    }
    fail(ex, 404, rpc::invalid_request, "Not found");
}

void http_transport::fail(http::exchange& ex, std::uint16_t status, int code, safe_text message,
                          json::view id, std::string_view data) {
    http_client& c = client_of(ex);
    base::byte_buffer body(engine_.loop().chunks(), http::exchange::head_gap);
    fault why;
    why.code = code;
    why.message = message;
    why.data_json = data;
    write_error(body, why, ex.request_id(), id);
    http::extra_header extra[cors_headers::room];
    ex.respond(status, http::json_media_type, std::move(body), extra,
               cors_headers(c.origin()).put(extra));
}

void http_transport::refuse_late(http::exchange& ex, const fault& why) {
    http_client& c = client_of(ex);
    base::byte_buffer body(engine_.loop().chunks(), http::exchange::head_gap);
    write_error(body, why, ex.request_id());
    char seconds[16];
    http::extra_header extra[cors_headers::room + 1];
    std::size_t count = cors_headers(c.origin()).put(extra);
    extra[count++] = {"Retry-After", write_seconds(why.retry_after_s, seconds)};
    ex.respond(why.http_status, http::json_media_type, std::move(body), extra, count);
}

void http_transport::handle_post(http::exchange& ex) {
    request& r = engine_.make();
    r.request_id = r.memory.dup(ex.request_id());
    base::chunk* body = ex.take_body();
    if (body != nullptr) {
        r.memory.adopt(body);
    }
    json::parse_result parsed;
    if (body != nullptr) {
        parsed = json::parse(body->data() + body->begin, body->size(), r.memory,
                             engine_.options().limit.json, &engine_.metas());
    }
    if (!parsed.ok) {
        engine_.discard(r);
        return fail(ex, 400, rpc::parse_error, "Parse error");
    }
    r.head = &ex.head();
    if (engine_.options().timeout_header && ex.head().has(header_id::x_request_timeout_ms)) {
        r.asked_timeout_ms = asked_timeout_ms(ex.head());
    }
    if (parsed.root.is_array()) {
        return handle_batch(ex, r, parsed.root);
    }
    handle_message(ex, r, parsed.root);
}

bool http_transport::find_session(http::exchange& ex, http_client& c, session_ref& out,
                                  json::view id) {
    const http::request_head& head = ex.head();
    const std::string_view version = head.get(header_id::mcp_protocol_version);
    if (!version.empty() && !find_revision(version)) {
        base::byte_buffer data(engine_.loop().chunks());
        json::writer w(data);
        w.fragment(R"({"supported":)");
        w.raw(all_revisions_json());
        w.key_raw(R"("requested":)");
        w.string_lossy(version.substr(0, requested_bytes_max));
        w.end_object();
        fail(ex, 400, rpc::unsupported_version, "Unsupported protocol version", id, data.view());
        return false;
    }
    const std::string_view sid = head.get(header_id::mcp_session_id);
    if (sid.empty() || head.count(header_id::mcp_session_id) > 1) {
        fail(ex, 400, rpc::invalid_request, "A session is required: send Mcp-Session-Id", id);
        return false;
    }
    if (c.last_session == nullptr || c.last_session->id() != sid || !c.last_session->alive()) {
        c.last_session = engine_.shared().sessions().find(sid);
    }
    // Knowing the id is no proof of who it is (REVISIONS §5): a session of somebody else is none.
    if (c.last_session == nullptr || c.last_session->principal() != c.from.name) {
        c.last_session = nullptr;
        fail(ex, 404, rpc::invalid_request, "Session not found", id);
        return false;
    }
    out = c.last_session;
    out->touch(engine_.now_ms());
    return true;
}

void http_transport::handle_message(http::exchange& ex, request& r, json::view root) {
    const rpc::envelope e = rpc::classify(root);
    http_client& c = client_of(ex);
    if (e.kind == rpc::message_kind::invalid) {
        fail(ex, 400, e.code, safe_text::of_constant(e.fault), e.id);
        return engine_.discard(r);
    }
    const http::request_head& head = ex.head();
    const bool handshake = e.method == "initialize";
    r.set_params(e.params);
    bool modern_era = r.meta.modern();
    session_ref s;
    if (modern_era && head.has(header_id::mcp_session_id)) {
        // A legacy version named in modern form belongs to the session it came with (G5).
        const auto named = find_revision(r.meta.version.str());
        if (named && is_legacy(*named)) {
            s = engine_.shared().sessions().find(head.get(header_id::mcp_session_id));
            modern_era = s == nullptr || s->principal() != c.from.name;
            if (modern_era) {
                s = nullptr;
            } else {
                s->touch(engine_.now_ms());
            }
        }
    }
    modern_era = modern_era || (header_says_modern(head) && !handshake);
    const bool fresh = !modern_era && handshake && e.kind == rpc::message_kind::request;
    if (!modern_era && !fresh && s == nullptr && !find_session(ex, c, s, e.id)) {
        return engine_.discard(r);
    }
    if (e.kind == rpc::message_kind::notification) {
        handle_notification(ex, c, e, modern_era, s);
        return engine_.discard(r);
    }
    if (e.kind == rpc::message_kind::response) {
        // The server asks nothing of a client of 2026-07-28; an earlier answer that nobody waits
        // for is dropped (AMBIGUITIES G48).
        if (modern_era) {
            fail(ex, 400, rpc::invalid_request, "Clients send no responses in this revision");
        } else {
            engine_.take_response(s, root);
            http::extra_header extra[cors_headers::room];
            ex.respond_empty(202, extra, cors_headers(c.origin()).put(extra));
        }
        return engine_.discard(r);
    }
    r.rev = modern_era ? modern : fresh ? latest_legacy : s->negotiated();
    // A handshake makes a session of its own, whatever came with it.
    r.session = fresh ? nullptr : std::move(s);
    r.id = e.id;
    r.method = e.method;
    c.attach(ex, r);
    engine_.serve(r);
}

void http_transport::handle_notification(http::exchange& ex, http_client& c, const rpc::envelope& e,
                                         bool modern_era, const session_ref& s) {
    const http::request_head& head = ex.head();
    if (modern_era) {
        // Header rules for notifications are undefined; a contradiction is still one (G7).
        if (head.has(header_id::mcp_method) && head.get(header_id::mcp_method) != e.method) {
            return fail(ex, 400, rpc::header_mismatch, "Mcp-Method header does not match the body");
        }
    } else {
        take_notification(engine_, e.method, e.params, s);
    }
    http::extra_header extra[cors_headers::room];
    ex.respond_empty(202, extra, cors_headers(c.origin()).put(extra));
}

void http_transport::handle_batch(http::exchange& ex, request& r, json::view root) {
    http_client& c = client_of(ex);
    session_ref s;
    if (header_says_modern(ex.head())) {
        fail(ex, 400, rpc::invalid_request, "Batches are not part of this protocol revision");
        return engine_.discard(r);
    }
    if (!find_session(ex, c, s)) {
        return engine_.discard(r);
    }
    const safe_text why = objection_to(root, s, engine_.options().batch_messages_max);
    if (!why.empty()) {
        fail(ex, 400, rpc::invalid_request, why);
        return engine_.discard(r);
    }
    r.head = nullptr;
    r.charge(c.from);
    auto* all = new http_batch(engine_, r, ex, c.origin());
    all->run(root, s);
}

void http_transport::handle_sse_message(http::exchange& ex) {
    http_client& c = client_of(ex);
    const std::string_view id = query_value(ex.head().query(), "sessionId=");
    const auto shard = engine_.shared().sse_streams().shard_of(id, c.from.name);
    if (!shard) {
        return fail(ex, 404, rpc::invalid_request, "No such stream");
    }
    // Checked here, so that the sender of bad JSON hears of it.
    std::string text(ex.body());
    request& scratch = engine_.make();
    const bool good = scratch.parse(text, engine_.options().limit.json).exists();
    engine_.discard(scratch);
    if (!good) {
        return fail(ex, 400, rpc::parse_error, "Parse error");
    }
    const std::string to(id);
    const granted rights{std::string(c.from.scopes), c.from.limited, c.from.ends_s};
    http::extra_header extra[cors_headers::room];
    ex.respond_empty(202, extra, cors_headers(c.origin()).put(extra));
    if (*shard == engine_.shard()) {
        return engine_.sse_message(to, text, rights);
    }
    engine_.shared().post_to(*shard, [to, message = std::move(text), rights](engine& e) {
        e.sse_message(to, message, rights);
    });
}

void http_transport::handle_get(http::exchange& ex) {
    http_client& c = client_of(ex);
    session_ref s;
    if (!find_session(ex, c, s)) {
        return;
    }
    if (!s->takes_stream()) {
        fault why;
        engine_.limits().refuse(limited_by::streams, streams_wait_ns, why);
        return refuse_late(ex, why);
    }
    if (!ex.head().has(header_id::last_event_id)) {
        return legacy_stream::open(engine_, ex, std::move(s), c.origin(), c.from.ends_s);
    }
    const auto from = event_id::parse(ex.head().get(header_id::last_event_id));
    event_log::replay missed;
    const auto outcome = from ? s->events().read(*from, missed, 0) : event_log::outcome::unknown;
    if (outcome != event_log::outcome::found) {
        // An honest error rather than a stream with a hole in it.
        return fail(ex, 400, rpc::invalid_request,
                    outcome == event_log::outcome::gap
                        ? safe_text("Events behind Last-Event-ID were dropped")
                        : safe_text("Unknown Last-Event-ID"));
    }
    if (missed.standalone) {
        return legacy_stream::open(engine_, ex, std::move(s), c.origin(), c.from.ends_s, &*from);
    }
    stream_follower::open(engine_, ex, std::move(s), *from, c.origin(), c.from.ends_s);
}

void http_transport::handle_delete(http::exchange& ex) {
    http_client& c = client_of(ex);
    session_ref s;
    if (!find_session(ex, c, s)) {
        return;
    }
    c.last_session = nullptr;
    if (!engine_.shared().sessions().remove(s->id())) {
        return fail(ex, 404, rpc::invalid_request, "Session not found");
    }
    log::info("mcp.session_deleted", {log::kv("request_id", ex.request_id())});
    http::extra_header extra[cors_headers::room];
    ex.respond_empty(204, extra, cors_headers(c.origin()).put(extra));
    engine_.shared().broadcast([s](engine& e) { e.session_ended(s.get()); });
}

void http_transport::handle_options(http::exchange& ex, place where) {
    http_client& c = client_of(ex);
    http::extra_header extra[cors_headers::room + 4];
    std::size_t count = cors_headers(c.origin()).put(extra);
    extra[count++] = {"Allow", allowed_at(where)};
    if (count > 1) {
        extra[count++] = {"Access-Control-Allow-Methods", allowed_at(where)};
        // Preflights ask for Mcp-Param-* by their real names: what they ask for is granted.
        const std::string_view asked = ex.head().get(header_id::access_control_request_headers);
        extra[count++] = {
            "Access-Control-Allow-Headers",
            asked.empty() ? std::string_view("Content-Type, Accept, Authorization, "
                                             "X-API-Key, "
                                             "Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, "
                                             "Mcp-Name, Last-Event-ID, X-Request-Id, "
                                             "X-Request-Timeout-Ms, "
                                             "traceparent, tracestate")
                          : asked};
        extra[count++] = {"Access-Control-Max-Age", "600"};
    }
    ex.respond_empty(204, extra, count);
}

}  // namespace pillion::mcp
