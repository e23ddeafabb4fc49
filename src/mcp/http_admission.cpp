// What an HTTP request's head alone decides (the first half of mcp/http_transport.hpp): whether
// anybody is listened to at all, before the body is read.
#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "base/log.hpp"
#include "http/media.hpp"
#include "http/response_writer.hpp"
#include "mcp/error_map.hpp"
#include "mcp/http_client.hpp"
#include "mcp/http_transport.hpp"
#include "rpc/errors.hpp"

namespace pillion::mcp {

namespace {

using http::header_id;

// A body that may be a cancellation, and costs little if it is not.
constexpr std::uint64_t cancellation_bytes = 1024;

// The JSON-RPC code that goes with a status the HTTP layer decided on (STANDARD row 28).
int code_of(std::uint16_t status) noexcept {
    switch (status) {
        case 408:
            return rpc::timed_out;
        case 413:
            return rpc::too_large;
        case 429:
            return rpc::rate_limited;
        case 500:
            return rpc::internal_error;
        case 503:
            return rpc::unavailable;
        default:
            return rpc::invalid_request;
    }
}

// Whether the body is what its type says. `identity` is a name for that, though nobody should send
// it (RFC 9110 §8.4).
bool is_uncoded(const http::request_head& head) noexcept {
    return !head.has(header_id::content_encoding) ||
           (head.count(header_id::content_encoding) == 1 &&
            base::equals_ignore_case(head.get(header_id::content_encoding), "identity"));
}

// Secrets do not belong where proxies log them (STANDARD row 38).
bool token_in_query(std::string_view query) noexcept {
    while (!query.empty()) {
        const std::size_t end = std::min(query.find('&'), query.size());
        const std::string_view one = query.substr(0, end);
        const std::string_view name = one.substr(0, one.find('='));
        for (const std::string_view secret : {"access_token", "api_key", "apikey", "token"}) {
            if (name.size() < one.size() && base::equals_ignore_case(name, secret)) {
                return true;
            }
        }
        query.remove_prefix(std::min(end + 1, query.size()));
    }
    return false;
}

void free_client(void* tag) noexcept { delete static_cast<http_client*>(tag); }

}  // namespace

std::uint16_t http_transport::on_open(http::exchange& first) noexcept {
    const caller from = caller::of(first);
    count_table::hold counted;
    if (!engine_.limits().connect(from, engine_.options().limit, counted)) {
        return 429;
    }
    auto* client = new http_client(from, *this);
    client->connection = std::move(counted);
    first.set_tag(client, &free_client);
    return 0;
}

http::accepts http_transport::accepts_of(const http::request_head& head) noexcept {
    if (head.count(header_id::accept) != 1) {
        return http::parse_accept(head);
    }
    return accepts_.get(head.get(header_id::accept),
                        [](std::string_view value) { return http::parse_accept(value); });
}

bool http_transport::has_json(const http::request_head& head) noexcept {
    return json_types_.get(head.get(header_id::content_type), &http::is_json_content_type);
}

bool http_transport::origin_ok(const http::request_head& head) noexcept {
    if (head.count(header_id::origin) > 1) {
        return false;
    }
    const auto is_ours = [this](std::string_view host) {
        return options_.origins.host_allowed(host);
    };
    if (options_.check_host && !hosts_.get(head.host(), is_ours)) {
        return false;
    }
    return !head.has(header_id::origin) ||
           options_.origins.origin_allowed(head.get(header_id::origin));
}

std::uint16_t http_transport::admit_mcp(const http::request_head& head) noexcept {
    const http::accepts accept = accepts_of(head);
    switch (head.m) {
        case http::method::post:
            if (!head.has_content_length && !head.chunked) {
                return 411;
            }
            if (!has_json(head) || !is_uncoded(head)) {
                return 415;
            }
            return accept.json && accept.sse ? 0 : 406;
        case http::method::get:
            if (header_says_modern(head)) {
                return 405;
            }
            return accept.sse ? 0 : 406;
        case http::method::delete_:
            return header_says_modern(head) ? 405 : 0;
        case http::method::options:
            return 0;
        case http::method::other:
            return 501;
        default:
            return 405;
    }
}

std::uint16_t http_transport::admit_sse(const http::request_head& head, place where) noexcept {
    if (head.m == http::method::options) {
        return 0;
    }
    if (where == place::sse) {
        return head.m != http::method::get ? 405 : accepts_of(head).sse ? 0 : 406;
    }
    if (head.m != http::method::post) {
        return 405;
    }
    if (!head.has_content_length && !head.chunked) {
        return 411;
    }
    return has_json(head) && is_uncoded(head) ? 0 : 415;
}

http_transport::standing http_transport::judge(const http::request_head& head) noexcept {
    const place where = place_of(head.path());
    if (where == place::nowhere) {
        return {where, 404};
    }
    if (token_in_query(head.query())) {
        return {where, 400};
    }
    if (!origin_ok(head)) {
        return {where, 403};
    }
    if (where == place::mcp) {
        return {where, admit_mcp(head)};
    }
    if (where == place::sse || where == place::messages) {
        return {where, admit_sse(head, where)};
    }
    const bool reads = head.m == http::method::get || head.m == http::method::head ||
                       (where == place::metadata && head.m == http::method::options);
    return {where, reads                           ? std::uint16_t{0}
                   : head.m == http::method::other ? std::uint16_t{501}
                                                   : std::uint16_t{405}};
}

// A head that comes again keeps its verdict: the rules it was judged by, 12 bits of status, 4 bits
// of place.
http_transport::standing http_transport::standing_of(const http::request_head& head) noexcept {
    if (head.verdict >> 16U != rules_) {
        const standing made = judge(head);
        head.verdict = std::uint32_t{rules_} << 16U | std::uint32_t{made.refuse_status} << 4U |
                       static_cast<std::uint32_t>(made.where);
    }
    return {static_cast<place>(head.verdict & 15U),
            static_cast<std::uint16_t>(head.verdict >> 4U & 0xFFFU)};
}

// A page of somebody else's, or a secret where proxies log it: the operator should know.
void http_transport::note_refused(const http::exchange& ex, std::uint16_t status) {
    constexpr std::string_view in_query = "a token in the query";
    if (status == 400 && authenticator_ != nullptr) {
        refuse_access(ex, status, "invalid_request", in_query);
        return;
    }
    log::info("http.refused",
              {log::kv("request_id", ex.request_id()), log::kv("peer", ex.peer()),
               log::kv("status", status),
               log::kv("reason", status == 400 ? in_query : "Origin or Host is not allowed")});
}

http::admission http_transport::admit(const http::exchange& ex) noexcept {
    const http::request_head& head = ex.head();
    http::admission a;
    a.body_bytes_max = engine_.options().body_bytes_max;
    const auto [where, refuse_status] = standing_of(head);
    a.refuse_status = refuse_status;
    if (refuse_status == 403 || refuse_status == 400) {
        note_refused(ex, refuse_status);
    }
    if (a.refuse_status == 0 && head.has_content_length && head.content_length > a.body_bytes_max) {
        a.refuse_status = 413;
    }
    const bool serves = where == place::mcp || where == place::sse || where == place::messages;
    if (a.refuse_status == 0 && serves && head.m != http::method::options) {
        a.refuse_status = admit_caller(ex, where);
        a.wait = a.refuse_status == undecided;
        a.refuse_status = a.wait ? std::uint16_t{0} : a.refuse_status;
    }
    return a;
}

// May this caller, and may anybody at present?
std::uint16_t http_transport::admit_caller(const http::exchange& ex, place where) noexcept {
    const limit_options& set = engine_.options().limit;
    const http::request_head& head = ex.head();
    auto& client = *static_cast<http_client*>(ex.tag());
    const caller& from = client.from;
    // A client's certificate says who it is after the connection was opened.
    if (from.anonymous() && !ex.peer_principal().empty()) {
        client.from.set_principal(ex.peer_principal());
    }
    if (!options_.proxies.empty() && from.anonymous()) {
        client.from = caller::at(address_of(ex));
    }
    if (options_.access != nullptr) {
        const std::uint16_t refused =
            authenticator_ != nullptr ? authenticate(ex, client) : take_vouched(ex, client);
        if (refused != 0) {
            return refused;
        }
    } else {
        client.from.unlimit();  // a reload may have taken the rules away
    }
    fault why;
    if (engine_.overloaded()) {
        // In a session it may be an answer that a call waits for, or a cancellation, which only the
        // body tells: the engine sheds what turns out to be a request. DELETE frees something.
        const bool in_session = head.has(header_id::mcp_session_id) || where == place::messages;
        const bool small = head.has_content_length && head.content_length <= cancellation_bytes;
        // Of a task the head says so.
        const std::string_view asked = head.get(header_id::mcp_method);
        const bool of_task = asked == "tasks/update" || asked == "tasks/cancel";
        const bool relief = of_task || (in_session && (small || engine_.shared().asks_somebody()));
        if (!relief && head.m != http::method::delete_) {
            engine_.limits().shed(engine_.under_way(), set, why);
        }
    }
    if (why.code == 0 && engine_.limits().request(from, set, why) && where == place::sse) {
        engine_.limits().handshake(from, set, why);
    }
    retry_after_s_ = why.retry_after_s;
    refusal_text_ = why.message;
    return why.code == 0 ? 0 : why.http_status;
}

std::string_view http_transport::allowed_at(place where) noexcept {
    switch (where) {
        case place::mcp:
            return "POST, GET, DELETE, OPTIONS";
        case place::sse:
            return "GET, OPTIONS";
        case place::messages:
            return "POST, OPTIONS";
        case place::metadata:
            return "GET, HEAD, OPTIONS";
        default:
            return "GET, HEAD";
    }
}

std::string_view http_transport::refuse(const http::request_head* head, std::uint16_t status,
                                        std::string_view reason, std::string_view request_id,
                                        base::byte_buffer& body, http::extra_header* extra,
                                        std::size_t& extra_count) noexcept {
    static_assert(http::exchange::refuse_headers_max >= cors_headers::room + 2);
    // Also a page that was let in by its origin, but not by its token, has to know why.
    const bool readable = head != nullptr && origin_ok(*head);
    extra_count = readable ? cors_headers(head->get(header_id::origin)).put(extra) : 0;
    // What admit() has said is told once: a body may be refused long after its head was let in,
    // when admit() has spoken of other requests.
    told_challenge_ = std::exchange(challenge_, {});
    const std::uint32_t retry_after_s = std::exchange(retry_after_s_, 0);
    if (!told_challenge_.empty()) {
        extra[extra_count++] = {"WWW-Authenticate", told_challenge_};
    }
    fault why;
    why.code = wire_code(code_of(status), head != nullptr && header_says_modern(*head),
                         engine_.options().strict_e_codes);
    why.message = safe_text::of_constant(reason.empty() ? http::reason_phrase(status) : reason);
    if (status == 405) {
        const place where = head == nullptr ? place::nowhere : place_of(head->path());
        extra[extra_count++] = {"Allow", allowed_at(where)};
    } else if (status == 429 || status == 503) {
        // Without a head it is the connection that is one too many.
        constexpr std::uint32_t connection_s = 30;
        const bool told = retry_after_s > 0;
        why.retry_after_s = told ? retry_after_s : connection_s;
        why.message = told ? refusal_text_ : why.message;
        extra[extra_count++] = {"Retry-After", write_seconds(why.retry_after_s, retry_text_)};
    }
    write_error(body, why, request_id);
    return http::json_media_type;
}

}  // namespace pillion::mcp
