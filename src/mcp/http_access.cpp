// Who may call over HTTP (methods of mcp/http_transport.hpp): bearer tokens (RFC 6750), challenges,
// and where a client finds out how to get in (RFC 9728; REVISIONS §14, STANDARD rows 46 to 50).
#include <algorithm>

#include "base/ascii.hpp"
#include "base/assert.hpp"
#include "base/log.hpp"
#include "json/writer.hpp"
#include "mcp/http_client.hpp"
#include "mcp/http_transport.hpp"

namespace pillion::mcp {

namespace {

using http::header_id;

constexpr std::string_view metadata_path = "/.well-known/oauth-protected-resource";

// What stands behind "Bearer"; empty for another scheme.
std::string_view bearer_of(std::string_view value) noexcept {
    constexpr std::string_view scheme = "Bearer ";
    return base::equals_ignore_case(value.substr(0, scheme.size()), scheme)
               ? base::trim_ows(value.substr(scheme.size()))
               : std::string_view();
}

// A b64token (RFC 6750 §2.1). Not asked of a token that is known: 400 bytes of it cost 3000
// instructions, a quarter of a call's.
bool may_be_token(std::string_view token) noexcept {
    return std::all_of(token.begin(), token.end(), [](char c) {
        return base::is_alnum(c) || std::string_view("-._~+/=").find(c) != std::string_view::npos;
    });
}

// What a request shows of who sends it.
struct shown_credential {
    std::string_view text;  // empty: nothing that we understand
    auth::credential kind = auth::credential::bearer;
    std::size_t count = 0;
};

shown_credential shown_by(const http::request_head& head, bool keys_count) noexcept {
    shown_credential out;
    const std::size_t keys = keys_count ? head.count(header_id::x_api_key) : 0;
    out.count = head.count(header_id::authorization) + keys;
    if (out.count == 1) {
        out.kind = keys == 1 ? auth::credential::api_key : auth::credential::bearer;
        out.text = keys == 1 ? base::trim_ows(head.get(header_id::x_api_key))
                             : bearer_of(head.get(header_id::authorization));
    }
    return out;
}

// As a quoted string (RFC 9110 §5.6.4). Names of servers and scopes are ours, URLs have been
// checked.
void add_quoted(std::string& to, std::string_view name, std::string_view value) {
    to += to.ends_with("Bearer") ? " " : ", ";
    to.append(name).append("=\"");
    for (const char c : value) {
        if (c == '"' || c == '\\') {
            to += '\\';
        }
        to += base::is_control(c) ? ' ' : c;
    }
    to += '"';
}

}  // namespace

void http_transport::open_access() {
    ++accesses_;
    authenticator_ = nullptr;
    if (options_.access != nullptr && options_.access->any()) {
        std::string fault;
        std::size_t index = 0;
        // They were tried when the settings were made.
        authenticator_ = auth::authenticator::make(*options_.access, fault, index, options_.keys);
        PILLION_ASSERT(authenticator_ != nullptr);
    }
    forget_waits();
}

bool http_transport::is_metadata(std::string_view path) const noexcept {
    return authenticator_ != nullptr && !options_.access->issuers.empty() &&
           path.starts_with(metadata_path) &&
           (path.size() == metadata_path.size() ||
            path.substr(metadata_path.size()) == options_.path);
}

// The status of the refusal; 0: let in, and `c.from` says who it is. Whoever is not known is
// charged to the address before anything is judged, because a signature costs a millisecond.
std::uint16_t http_transport::authenticate(const http::exchange& ex, http_client& c) {
    const http::request_head& head = ex.head();
    const auto [token, kind, count] = shown_by(head, options_.access->api_keys != nullptr);
    const std::int64_t now_s = engine_.loop().unix_ms() / 1000;
    if (!token.empty() && c.identity != nullptr && c.access == accesses_ &&
        c.identity->still_is(token, now_s, kind)) {
        return 0;
    }
    c.identity = nullptr;
    // A proxy speaks for others: that the system knows it says nothing of them.
    if (count == 0 && !ex.peer_principal().empty() && !options_.proxies.trusts(ex.peer_address())) {
        c.from = caller::of(ex);
        return take_vouched(ex, c);
    }
    c.from = caller::at(address_of(ex));
    auth::identity_ref who = token.empty() ? nullptr : authenticator_->recall(token, now_s, kind);
    if (who == nullptr) {
        fault why;
        const bool charged = c.waiting != nullptr;
        if (!charged && !engine_.limits().request(c.from, engine_.options().limit, why)) {
            retry_after_s_ = why.retry_after_s;
            refusal_text_ = why.message;
            return why.http_status;
        }
        if (count > 1) {
            return refuse_access(ex, 400, "invalid_request", "more than one credential");
        }
        if (token.empty() || (kind == auth::credential::bearer && !may_be_token(token))) {
            return refuse_access(ex, 401, {}, {});
        }
        auth::authenticator::answer found = authenticator_->check(token, now_s, kind);
        if (found.who == nullptr) {
            return judge_elsewhere(ex, c, found, token);
        }
        who = std::move(found.who);
    }
    c.waiting = nullptr;
    c.identity = std::move(who);
    c.access = accesses_;
    c.from.set_principal(c.identity->principal);
    c.from.limit_to(c.identity->scopes);
    c.from.ends_s = c.identity->ends_s;
    return 0;
}

const auth::auth_options::grant* http_transport::granted_to(std::string_view principal) const {
    const auto& grants = options_.access->grants;
    const auto found = std::find_if(grants.begin(), grants.end(), [principal](const auto& one) {
        return one.principal == principal;
    });
    return found != grants.end() ? &*found : nullptr;
}

bool http_transport::still_lets_in(const http_client& c) const {
    if (options_.access == nullptr) {
        return true;
    }
    // Of whom somebody vouches for the identity says nothing but where the scopes are.
    if (c.identity != nullptr && !c.identity->principal.empty()) {
        return authenticator_ == nullptr || authenticator_->still_vouches_for(*c.identity);
    }
    const auto* const found = granted_to(c.from.name);
    return options_.access->grants.empty() ||
           (found != nullptr && found->limited == c.from.limited && found->scopes == c.from.scopes);
}

// The kernel, or a certificate, has said who it is: the operator may have said who of these is let
// in, and to what.
std::uint16_t http_transport::take_vouched(const http::exchange& ex, http_client& c) {
    static const auth::identity nobody;  // no token is its
    c.from.unlimit();                    // whatever held before a reload
    if (options_.access->grants.empty()) {
        return 0;
    }
    const auto* const found = granted_to(c.from.name);
    if (found == nullptr) {
        log::info("auth.refused", {log::kv("request_id", ex.request_id()),
                                   log::kv("peer", ex.peer()), log::kv("principal", c.from.name),
                                   log::kv("status", 403), log::kv("reason", "not in the list")});
        return 403;
    }
    if (found->limited) {
        // They are the options': a reload, which may come before the body, replaces those.
        c.identity = auth::identity_ref(options_.access, &nobody);
        c.from.limit_to(found->scopes);
    }
    return 0;
}

std::uint16_t http_transport::refuse_access(const http::exchange& ex, std::uint16_t status,
                                            std::string_view error, std::string_view description) {
    log::info("auth.refused", {log::kv("request_id", ex.request_id()), log::kv("peer", ex.peer()),
                               log::kv("status", status),
                               log::kv("reason", error.empty() ? "no token" : description)});
    const auth::scope_list& first = options_.access->first_scopes;
    challenge_ = challenge(ex, error, description,
                           auth::joined(first.empty() ? engine_.registered().scopes() : first));
    return status;
}

std::string http_transport::challenge(const http::exchange& ex, std::string_view error,
                                      std::string_view description, std::string_view scopes) const {
    std::string made = "Bearer";
    add_quoted(made, "realm", engine_.registered().info().name);
    if (!error.empty()) {
        add_quoted(made, "error", error);
    }
    if (!description.empty()) {
        add_quoted(made, "error_description", description);
    }
    if (!scopes.empty()) {
        add_quoted(made, "scope", scopes);
    }
    if (options_.access != nullptr && !options_.access->issuers.empty()) {
        add_quoted(made, "resource_metadata",
                   base_url(ex) + std::string(metadata_path) + options_.path);
    }
    return made;
}

// How the client sees this server.
std::string http_transport::base_url(const http::exchange& ex) const {
    if (!options_.external_url.empty()) {
        return options_.external_url;
    }
    std::string_view scheme = options_.secure ? "https" : "http";
    std::string_view host = ex.head().host();
    if (options_.proxies.trusts(ex.peer_address())) {
        const http::forwarded seen = http::forwarded_of(ex.head());
        scheme = seen.scheme.empty() ? scheme : seen.scheme;
        host = seen.host.empty() ? host : seen.host;
    }
    return std::string(scheme) + "://" + std::string(host);
}

void http_transport::handle_metadata(http::exchange& ex) {
    base::byte_buffer body(engine_.loop().chunks(), http::exchange::head_gap);
    json::writer w(body);
    w.begin_object();
    w.key_raw(R"("resource":)");
    w.string_lossy(base_url(ex) + options_.path);
    w.key_raw(R"("authorization_servers":)");
    w.begin_array();
    for (const auth::auth_options::issuer& one : options_.access->issuers) {
        w.string_lossy(one.rules.issuer);
    }
    w.end_array();
    if (const auto& scopes = engine_.registered().scopes(); !scopes.empty()) {
        w.key_raw(R"("scopes_supported":)");
        w.begin_array();
        for (const std::string& one : scopes) {
            w.string_lossy(one);
        }
        w.end_array();
    }
    w.key_raw(R"("bearer_methods_supported":)");
    w.begin_array();
    w.string("header");
    w.end_array();
    w.key_raw(R"("resource_name":)");
    w.string_lossy(engine_.registered().info().name);
    w.end_object();
    http::extra_header extra[cors_headers::room + 1];
    std::size_t count = cors_headers(ex.head().get(header_id::origin)).put(extra);
    extra[count++] = {"Cache-Control", "no-cache"};
    ex.respond(200, http::json_media_type, std::move(body), extra, count);
}

}  // namespace pillion::mcp
