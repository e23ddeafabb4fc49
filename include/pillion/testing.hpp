// testing: a client in the same process, for unit tests of your own tools, prompts and resources.
//
//     server s("greeter", "1.0.0");
//     register_tools(s);                            // the same function that main() calls
//     testing::client c(s);
//     testing::answer a = c.call("greet", R"({"name":"Ada"})");
//     assert(a.ok() && a.text() == "Hello, Ada!");
//
// It is the real server behind a pipe held in memory: schema checks, deadlines, progress,
// cancellation, sessions and the texts of every revision are those of `serve` and `stdio`. No
// socket, no thread, no real time: the clock is virtual and jumps to the next thing that happens,
// so a handler that sleeps for an hour is tested in microseconds, and each run is the same. Only
// blocking() and read_file() use helper threads; the clock stands still for them.
//
// Clients made for the same server at the same time share it: what one changes, the others hear.
// Whoever still runs when the last client goes is stopped, and must end then.
//
// Thread: one; the server must not be in main() at the same time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <pillion/json.hpp>
#include <pillion/server.hpp>

namespace pillion::testing {

// Answers a question of the server (see ask.hpp): gets its params, returns the result as JSON
// text, or "" to leave it without an answer. The same for every revision: towards 2026-07-28 the
// client calls again with the answers, and gives back an `input_required` that nobody answers.
using question_handler = std::function<std::string(json::view params)>;

// Who the client is. An ordinary value.
class client_options {
 public:
    client_options() = default;
    // The protocol revision it speaks (default "2025-11-25").
    client_options& revision(std::string_view version);
    // Its capabilities as a JSON object; without this they follow from the questions it answers.
    client_options& capabilities(std::string_view json);
    // It answers "sampling/createMessage", "elicitation/create" or "roots/list". Others are
    // refused with -32601.
    client_options& on(std::string_view method, question_handler handler);

 private:
    friend class client;
    std::string revision_ = "2025-11-25";
    std::string capabilities_;
    std::map<std::string, question_handler, std::less<>> questions_;
};

// One message of the server. A value; copies share the parsed text.
class answer {
 public:
    answer() = default;

    // A result came, and (for tools) it is not marked as an error.
    bool ok() const;
    // The `result` and the `error`; missing where there is none. Notifications have `params`.
    json::view result() const { return root_["result"]; }
    json::view error() const { return root_["error"]; }
    json::view params() const { return root_["params"]; }
    // error.code, 0 without an error.
    int error_code() const;
    // The first text in it: of a tool's content, a prompt's messages or a resource's contents.
    std::string_view text() const;
    // structuredContent of a tool's result.
    json::view structured() const { return root_["result"]["structuredContent"]; }
    // "notifications/progress" …; empty for answers.
    std::string_view method() const { return root_["method"].str(); }
    // The message as it was sent; empty when none came.
    std::string_view raw() const { return text_ == nullptr ? std::string_view() : *text_; }
    json::view root() const { return root_; }

 private:
    friend class client;
    explicit answer(std::string_view text);

    std::shared_ptr<const std::string> text_;
    std::shared_ptr<const void> parsed_;
    json::view root_;
};

class client {
 public:
    // Starts the server's hooks once, checks everything registered and connects. What is wrong
    // with the server is in fault(); every answer is empty then.
    explicit client(server& s, const client_options& options = {});
    ~client();
    client(const client&) = delete;
    client& operator=(const client&) = delete;

    // "" or why the server would refuse to start ("tool \"x\": …"), as main() would print it.
    const std::string& fault() const;
    // What the server said to `initialize` (2026-07-28: to `server/discover`).
    const answer& welcome() const;

    // ---- asking, and waiting for the answer (in virtual time) ----

    // Objects are JSON text; what is none is answered with -32700 without being sent. An answer is
    // empty only when none can come any more: the request was cancelled, or a week of virtual time
    // did not bring one.
    answer call(std::string_view tool, std::string_view arguments = "{}");
    answer prompt(std::string_view name, std::string_view arguments = "{}");
    answer read(std::string_view uri);
    answer request(std::string_view method, std::string_view params = "{}");

    // ---- the same in steps ----

    // Sends a request and lets the server work on it while no time passes. Returns its id.
    std::int64_t start(std::string_view method, std::string_view params = "{}");
    std::int64_t start_call(std::string_view tool, std::string_view arguments = "{}");
    // Whether its answer is here.
    bool answered(std::int64_t id) const;
    // Lets time pass until its answer is here, and takes it.
    answer wait(std::int64_t id);
    // Cancels it, as a client does (notifications/cancelled); no answer comes any more.
    void cancel(std::int64_t id, std::string_view reason = {});
    // Sends a notification.
    void notify(std::string_view method, std::string_view params = "{}");

    // Notifications since the last call, oldest first; only those of `method` where one is given
    // (the others stay). Every request asks for progress.
    std::vector<answer> take_notifications(std::string_view method = {});

    // ---- time ----

    // Lets the clock run for that long.
    void pass(std::chrono::milliseconds time);
    // What the clock has run since the first client was made.
    std::chrono::nanoseconds elapsed() const;
    // Requests whose handlers have not ended, of all clients.
    std::size_t running() const;

 private:
    class impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace pillion::testing
