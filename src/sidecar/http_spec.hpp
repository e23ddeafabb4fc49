// http_spec: a tool that is one request to an HTTP service, and the service (upstream) it belongs
// to, as the configuration says them. Plain data, in plain units.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pillion::sidecar {

using name_and_text = std::pair<std::string, std::string>;

// Where requests go. Nothing here ever comes from arguments.
struct upstream_spec {
    std::string name;
    std::string url;     // http(s)://host[:port][/path]; the path stands before that of each tool
    std::string socket;  // of a unix socket to connect to instead; empty: none
    std::string authorities;             // PEM; empty: the system's
    std::vector<name_and_text> headers;  // of each request; values may be secret
    std::size_t connections = 32;        // at a time, for each event loop; the next one waits
    std::size_t answer_bytes_max = 1024 * 1024;
    std::int64_t answer_timeout_ms = 30'000;
    // Of methods that may be repeated (GET, HEAD, PUT, DELETE, OPTIONS): how often, at most for a
    // tenth of all requests.
    std::size_t retries = 1;
    // After how long without an answer a request of a method that changes nothing (GET, HEAD,
    // OPTIONS) is sent again, beside the first, as one of the retries. 0: never.
    std::int64_t hedge_ms = 0;
    // The breaker opens after so many failures in a row (0: never), and lets one request try
    // again after a while.
    std::size_t failures_max = 5;
    std::int64_t open_ms = 10'000;
};

struct http_spec {
    // text: the body as it is. json: one JSON value, structured where it is an object.
    // automatic: what Content-Type says.
    enum class output : std::uint8_t { automatic, text, json };
    enum class body_kind : std::uint8_t { none, rest, one, form, text };

    std::shared_ptr<const upstream_spec> upstream;
    std::string method = "GET";
    std::string path = "/";              // template; each place is percent-encoded, also its "/"
    std::vector<name_and_text> query;    // values are templates; one place alone may be missing
    std::vector<name_and_text> headers;  // likewise
    // rest: a JSON object of the arguments that have no other place. one: the argument `body`
    // alone, as JSON. form: as rest, as application/x-www-form-urlencoded. text: `body` is a
    // template, sent as it is.
    body_kind sends = body_kind::none;
    std::string body;
    std::string content_type;  // of a text
    output takes = output::automatic;
    std::string pointer;                // JSON Pointer (RFC 6901) of what counts in the answer
    std::map<int, std::string> errors;  // what a status means; others below 400 are good
};

}  // namespace pillion::sidecar
