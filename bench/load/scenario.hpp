// scenario: what is asked, and the bytes of asking: HTTP heads and JSON-RPC bodies by revision,
// rendered once. Only the request id differs from one request to the next, and it has always the
// same length.
//
// Thread-safety: immutable once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "target.hpp"

namespace pillion::load {

enum class revision : std::uint8_t {
    r2024_11_05,
    r2025_03_26,
    r2025_06_18,
    r2025_11_25,
    r2026_07_28
};
std::string_view name_of(revision r) noexcept;
std::optional<revision> parse_revision(std::string_view text) noexcept;

// One kind of message.
enum class action : std::uint8_t {
    ping,
    tools_list,
    tools_call,
    resources_list,
    resources_read,
    prompts_list,
    prompts_get,
    tasks_get,
    tasks_result,
    listen,
    initialize,
    initialized,
};
std::string_view method_of(action what, bool modern) noexcept;

struct question {
    action what = action::ping;
    std::string name{};            // of the tool or prompt, URI, or id of the task
    std::string arguments = "{}";  // a JSON object
    std::string more{};            // further members of params, each behind a comma
};

// What is measured as one: a question and its answer, or several in a row.
enum class pattern : std::uint8_t {
    plain,
    session_churn,     // a session of its own
    connection_churn,  // a connection of its own
    tls_full,          // a connection and its TLS handshake, nothing else
    tls_resumed,       // the same with the session of the one before
    progress,          // with the events before its answer
    tasks,             // a call that becomes a task, until that has ended
    rounds,            // a call that asks the user, until it needs to know no more
    listen,            // a call that changes something, until all streams have heard of it
};

struct scenario {
    revision rev = revision::r2026_07_28;
    std::string name = "ping";  // as it is said on the command line
    pattern how = pattern::plain;
    std::vector<question> questions{1};  // asked in turn
    std::vector<std::string> headers;    // "Name: value", checked

    bool modern() const noexcept { return rev == revision::r2026_07_28; }
    // Whether all that is asked is one tool, with the same arguments or others.
    bool has_tool() const noexcept {
        return name != "mixed" && questions[0].what == action::tools_call;
    }
};
// What is counted beside answers; null where there is nothing.
const char* events_of(pattern how) noexcept;

// Where a client sends its messages to.
struct place {
    std::string session{};  // may be empty
    std::string path{};
};

// Ids of requests: ten digits each.
inline constexpr std::uint64_t first_id = 1'000'000'000;
inline constexpr std::size_t id_digits = 10;
// What the server calls the one request of a client by whose progress it tells.
inline constexpr std::string_view progress_token = "p";

// One request: `begin` with the id at `id_at`, and `end`, which is the same for all connections.
struct request_text {
    std::string begin;
    std::string end;
    std::size_t id_at = 0;  // 0: a notification, which has none
};

// Renders a message: an HTTP request, or a line where the target is a command.
request_text render(const scenario& how, const question& what, const target& to, const place& at);
// A message that answers one of the server's, which is `json`, as an HTTP request.
std::string render_answer(const scenario& how, const target& to, const place& at,
                          std::string_view json);
// The request that ends a session.
std::string render_delete(const scenario& how, const target& to, const place& at);
// The request that opens the stream of HTTP+SSE.
std::string render_open(const scenario& how, const target& to);

// "Name: value" as a header of one's own; false for what would break a head or is ours to say.
bool is_extra_header(std::string_view text) noexcept;

}  // namespace pillion::load
