#include "app/meta_resources.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "app/builtins.hpp"
#include "app/server_state.hpp"

namespace pillion::app {

namespace {

constexpr std::string_view heading = "# Authentication\n\n";

constexpr std::string_view certificates_text =
    "Active: client certificates. Over https the caller is whom its certificate names, by the "
    "first URI, DNS or mail name in it, else by its common name: cert:uri:…, cert:dns:…, "
    "cert:mail:… or cert:cn:…. Limits, tasks and lines of the log go by that name; no further "
    "claims or roles are read. An Authorization header is ignored.\n"
    "\n";

constexpr std::string_view tokens_text =
    "Active: bearer tokens. Every request to the endpoint has Authorization: Bearer TOKEN, the "
    "token of an issuer that the operator trusts (JWT, RS256 or ES256; the claims iss, aud, sub, "
    "exp and iat are read, nbf and scope where they are there), one that the operator gave out, or "
    "one of an authorization server that is asked about it (RFC 7662; active, sub or client_id, "
    "scope, exp, aud and iss are read). Without a good one the answer is 401, and its "
    "WWW-Authenticate says where to ask for one (resource_metadata); 503 where nobody can say at "
    "present. Limits, tasks, sessions and lines of the log go by issuer|sub, token:NAME or "
    "introspected:issuer|sub. Streams end with their token. Whom the system or a certificate "
    "vouches for, on a unix socket or over https with client certificates, needs no token.\n"
    "\n";

constexpr std::string_view scopes_text =
    "Rights: scopes. A caller needs all those that the tool, the prompt, the resource or the "
    "method asks for, by the scope claim of its token or what the operator wrote beside it; "
    "files:* stands for all that begin with files:. Lists show what the caller may use. The rest "
    "is 403, and its WWW-Authenticate names all the scopes that are needed "
    "(error=\"insufficient_scope\").\n"
    "\n";

constexpr std::string_view same_rights_text =
    "Rights: whoever is let in may use everything that is served.\n"
    "\n";

constexpr std::string_view principals_text =
    "Of those for whom the system or a certificate vouches the operator has a list: who is not on "
    "it is answered 403, the others have the scopes that stand there.\n"
    "\n";

constexpr std::string_view api_keys_text =
    "Active: API keys. A request to the endpoint has X-API-Key: KEY, a key that the operator gave "
    "out; one without a good key is answered 401, one with several, or with Authorization beside "
    "it, 400. Limits, tasks, sessions and lines of the log go by key:NAME. Keys are never read "
    "from URLs. Whom the system or a certificate vouches for needs none.\n"
    "\n";

constexpr std::string_view metrics_text =
    "/metrics, on an address of its own, asks for the name and password of a user (Basic), over "
    "https or on this machine; the endpoint never does.\n"
    "\n";

constexpr std::string_view proxies_text =
    "Of proxies that the operator named, and of nobody else, Forwarded or X-Forwarded-Proto and "
    "X-Forwarded-Host are believed, for the URLs that the server says of itself, and "
    "X-Forwarded-For, for rates. Where tokens are asked for, such a proxy vouches for nobody.\n"
    "\n";

constexpr std::string_view tls_text =
    "TCP addresses speak https (TLS 1.2 or newer), unless the operator made one of them http.\n"
    "\n";

constexpr std::string_view nothing_text =
    "Active: none. Requests carry no credentials, and every caller has the same rights: to read "
    "what is served. An Authorization header is ignored; no claims or roles are read.\n"
    "\n";

constexpr std::string_view corporate_text =
    "Profile: corporate. HTTP is served on unix sockets, whose files admit the user of the server "
    "alone, and to clients with certificates or tokens, unless its operator put something that "
    "authenticates "
    "in front and said so with --insecure-no-auth. Over stdio the caller is the process that "
    "started the server.\n"
    "\n";

constexpr std::string_view generic_text =
    "Profile: generic. Clients without certificates and tokens are served on loopback addresses "
    "only, unless "
    "the operator put something that authenticates in front and said so with --insecure-no-auth. "
    "Over "
    "stdio the caller is the process that started the server.\n"
    "\n";

constexpr std::string_view origin_text =
    "Web pages: requests whose Origin or Host is not on the operator's list are refused with "
    "403.\n";

constexpr std::string_view headers_text =
    "# HTTP headers\n"
    "\n"
    "Read from requests:\n"
    "\n"
    "| header | meaning |\n"
    "|---|---|\n"
    "| Host | must name this server (a loopback name or --allowed-hosts) |\n"
    "| Origin | of web pages; must be allowed (--allowed-origins) |\n"
    "| Content-Type | application/json for POST |\n"
    "| Content-Length, Transfer-Encoding | framing of the body, at most 1 MiB |\n"
    "| Content-Encoding | must be absent or identity |\n"
    "| Accept | application/json and text/event-stream for POST, the latter for GET |\n"
    "| Connection, Expect | as RFC 9110 has them; 100-continue is answered |\n"
    "| MCP-Protocol-Version | revision spoken; required in every request from 2026-07-28 on |\n"
    "| Mcp-Session-Id | session; from the answer to initialize, revisions before 2026-07-28 |\n"
    "| Mcp-Method | method of the body; required from 2026-07-28 on |\n"
    "| Mcp-Name | tool, prompt or resource of the body; required from 2026-07-28 on |\n"
    "| Mcp-Param-* | tool arguments annotated with x-mcp-header; no built-in tool has one |\n"
    "| X-Request-Timeout-Ms | shortens the deadline of the request, where the operator allows it "
    "|\n"
    "| Last-Event-ID | with GET: continue a broken stream, revisions before 2026-07-28 |\n"
    "| Authorization | Bearer TOKEN, where the operator asks for tokens (use://auth); else nothing "
    "reads it; never logged |\n"
    "| X-API-Key | a key, where the operator gave some out (use://auth); else nothing reads it; "
    "never logged |\n"
    "| Forwarded, X-Forwarded-Proto, X-Forwarded-Host, X-Forwarded-For | how the client reached a "
    "proxy that the "
    "operator named; else nothing reads them |\n"
    "| traceparent, tracestate | trace context (W3C): noted in the log, handed to handlers |\n"
    "| X-Request-Id | correlates logs: up to 128 visible ASCII characters, else one is made |\n"
    "| Access-Control-Request-Method, Access-Control-Request-Headers | preflights |\n"
    "\n"
    "Sent with answers:\n"
    "\n"
    "| header | meaning |\n"
    "|---|---|\n"
    "| Content-Type, Content-Length, Transfer-Encoding, Connection, Date | framing |\n"
    "| Cache-Control: no-store, X-Accel-Buffering: no | on event streams |\n"
    "| X-Request-Id | on every answer |\n"
    "| Mcp-Session-Id | with the answer to initialize |\n"
    "| Allow | with 405, and to OPTIONS |\n"
    "| WWW-Authenticate | with 401, and 400 for several credentials: how to get in |\n"
    "| Retry-After | seconds, with 429 and 503 |\n"
    "| Access-Control-Allow-Origin, -Methods, -Headers, Access-Control-Expose-Headers, "
    "Access-Control-Max-Age, Vary | to allowed origins |\n";

constexpr std::string_view readme_text =
    "# Pillion\n"
    "\n"
    "An MCP server for Linux in a single binary. It serves a directory of files, read-only, over "
    "Streamable HTTP and stdio, to clients of every MCP revision from 2024-11-05 to 2026-07-28; "
    "as a library it serves the tools, prompts and resources of your own program.\n"
    "\n"
    "- `pillion serve --root DIR` serves DIR on http://127.0.0.1:8080/mcp\n"
    "- `pillion stdio --root DIR` serves it on standard input and output\n"
    "- `pillion check` tests the configuration, `pillion --help` lists all options\n"
    "\n"
    "The resources pillion://agent/brief and pillion://agent/prompt tell an agent how to use it, "
    "use://auth and use://http-headers tell a client how to connect. The full README comes with "
    "the source code.\n";

std::string version_text() {
    json::builder out;
    out.begin_object().member("name", "pillion").member("version", version);
    out.key("protocolVersions").begin_array();
    for (const std::string_view revision :
         {"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}) {
        out.value(revision);
    }
    out.end_array().end_object();
    return std::string(out.text());
}

void add(server& to, std::string uri, std::string name, std::string title, std::string mime,
         std::string text) {
    to.resource(std::move(uri))
        .name(std::move(name))
        .title(std::move(title))
        .mime_type(std::move(mime))
        .text(std::move(text));
}

// What is active, as the profile has it (STANDARD row 12).
// Whether something that is served asks for a scope.
bool asks_for_scopes(const detail::definitions& all) {
    const auto asks = [](const auto& one) { return !one->scopes.empty(); };
    return !all.guards.empty() || !all.method_scopes.empty() ||
           std::any_of(all.tools.begin(), all.tools.end(), asks) ||
           std::any_of(all.prompts.begin(), all.prompts.end(), asks) ||
           std::any_of(all.resources.begin(), all.resources.end(), asks) ||
           std::any_of(all.provider_scopes.begin(), all.provider_scopes.end(),
                       [](const detail::scope_list& one) { return !one.empty(); });
}

std::string auth_of(server& of) {
    const bool corporate = of.profile() == server_profile::corporate;
    std::string text(heading);
    const detail::server_state& state = of.state();
    const bool nothing = !state.tokens && !state.api_keys && !state.certificates;
    text.append(state.tokens ? tokens_text : "")
        .append(state.api_keys ? api_keys_text : "")
        .append(state.certificates && !state.tokens ? certificates_text : "")
        .append(nothing ? nothing_text : "")
        .append(nothing                       ? std::string_view()
                : asks_for_scopes(state.defs) ? scopes_text
                                              : same_rights_text)
        .append(state.principals ? principals_text : "")
        .append(state.tls ? tls_text : "")
        .append(state.metrics_users ? metrics_text : "")
        .append(state.proxies ? proxies_text : "");
    text.append(corporate ? corporate_text : generic_text).append(origin_text);
    return text;
}

result<void> add_meta_pages(server& to) {
    const std::string markdown = "text/markdown";
    add(to, "pillion://agent/brief", "agent-brief", "When to use this server", "text/plain",
        std::string(agent_brief()));
    add(to, "pillion://agent/prompt", "agent-prompt", "How to use this server", "text/plain",
        std::string(agent_prompt()));
    add(to, "use://auth", "auth", "Authentication", markdown, auth_of(to));
    add(to, "use://http-headers", "http-headers", "HTTP headers", markdown,
        std::string(headers_text));
    add(to, "project://version", "version", "Version", "application/json", version_text());
    add(to, "doc://readme", "readme", "Read me", markdown, std::string(readme_text));
    return ok();
}

}  // namespace

// When the command line has been read: the profile may come from there.
void add_meta_resources(server& to) { to.on_start(add_meta_pages); }

}  // namespace pillion::app
