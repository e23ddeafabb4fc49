// ask: questions a handler may put to the client while it serves a request: let the model complete
// a conversation (sampling), let the user fill in a form or visit a page (elicitation), list the
// client's root directories.
//
//     elicit_request form("Which city?");
//     form.required("city", string().about("City name"));
//     auto answer = co_await ctx.elicit(form);
//     if (!answer) co_return ctx.error(answer.error());          // no such capability, no answer
//     if (answer->action != elicit_action::accept) co_return ctx.text("As you like.");
//     co_return ctx.text("You chose ", answer->content["city"].str());
//
// The client must have declared the capability; otherwise the call fails at once
// (errc::unsupported) and nothing is sent. A handler that can do without may go on; one that passes
// the error on, by ctx.error(), prompt_error() or unreadable(), gives the client what its revision
// has for it: error -32021 with `requiredCapabilities` (2026-07-28; HTTP 400 if nothing was sent
// yet), before that a failure of the tool that names the capability.
//
// The time a user takes does not count against the request's deadline; a question has a time limit
// of its own. Requests must be named objects, a temporary is refused at compile time (g++ 12 would
// destroy it twice).
//
// Clients up to 2025-11-25 get a request and answer it while the handler waits. From 2026-07-28 on
// a server may not send requests: the call ends with what is asked, and when the client calls again
// with the answers, THE HANDLER RUNS AGAIN FROM THE TOP; answered questions return at once. So what
// stands before the last question runs once per round: keep it free of effects, or guard it with
// ctx.once(). Several questions go into one round with ctx.all(). An answer counts for its key and
// the exact question; without a key() the order of asking is the key. Nothing keeps a client from
// sending a round twice, and then what stands behind the last question happens twice: single_use()
// on that question forbids it.
//
// Thread-safety: ordinary values. Answers live as long as the request.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <pillion/json.hpp>
#include <pillion/schema.hpp>

namespace pillion {

class context;

// What every question has: a time limit (default 5 minutes; from 2026-07-28 on the client's own
// business) and perhaps a key.
class question {
 public:
    std::chrono::milliseconds time_limit() const noexcept { return limit_; }
    const std::string& key_text() const noexcept { return key_; }

 protected:
    std::chrono::milliseconds limit_{std::chrono::minutes(5)};
    std::string key_;
};

// sampling/createMessage.
class sample_request : public question {
 public:
    // At most `max_tokens` are to be generated.
    explicit sample_request(std::int64_t max_tokens) : max_tokens_(max_tokens) {}

    // The conversation, in order.
    sample_request& user(std::string_view text);
    sample_request& assistant(std::string_view text);
    sample_request& user_image(std::string_view bytes, std::string_view mime_type);

    sample_request& system(std::string_view prompt);
    sample_request& temperature(double value);
    sample_request& stop_at(std::string_view sequence);
    // Which model to prefer: names or parts of names, best first; priorities from 0 to 1.
    sample_request& hint(std::string_view model);
    sample_request& prefer(double cost, double speed, double intelligence);
    sample_request& limit(std::chrono::milliseconds time);
    // Names the question among those of its handler (2026-07-28).
    sample_request& key(std::string_view name);

    // For the library: the parameters as JSON text.
    std::string params_json() const;

 private:
    void message(std::string_view role, std::string_view type, std::string_view key,
                 std::string_view value, std::string_view mime_type);

    std::int64_t max_tokens_;
    std::vector<std::string> messages_;  // JSON
    std::vector<std::string> hints_;
    std::vector<std::string> stops_;
    std::string system_;
    double temperature_ = -1;
    double priorities_[3] = {-1, -1, -1};
};

struct sample_answer {
    std::string_view role;
    std::string_view model;
    std::string_view stop_reason;  // "endTurn", "maxTokens", …; may be empty
    json::view content;            // one content block, or an array of them

    // The text of the (first) text block; empty when there is none.
    std::string_view text() const noexcept;
};

enum class elicit_action : std::uint8_t { accept, decline, cancel };

// elicitation/create: a flat form of strings, numbers, booleans and choices, or a page to visit.
class elicit_request : public question {
 public:
    // A form with this message.
    explicit elicit_request(std::string_view message) : message_(message) {}
    // A page the user is asked to visit (clients from 2025-11-25 on that declare it). Never put
    // secrets or personal data into the URL.
    static elicit_request page(std::string_view message, std::string_view url);

    elicit_request& required(std::string_view name, const schema& field);
    elicit_request& optional(std::string_view name, const schema& field);
    elicit_request& limit(std::chrono::milliseconds time);
    // Names the question among those of its handler (2026-07-28).
    elicit_request& key(std::string_view name);
    // Its answer counts once: for the last question before what must not happen twice. A client of
    // 2026-07-28 that sends the same round again gets -32602, and an answer is taken for a question
    // that was put only. Which answers have counted is remembered by this process alone, for the
    // hour they would be good; if it must hold for several processes, a client has to be led back
    // to the same one, or the effect itself must know.
    elicit_request& single_use();

    // For the library.
    bool counts_once() const noexcept { return single_use_; }
    const std::string& message() const noexcept { return message_; }
    const std::string& url() const noexcept { return url_; }
    std::string form_schema() const;

 private:
    std::string message_;
    std::string url_;  // empty: a form
    bool single_use_ = false;
    std::vector<std::pair<std::string, std::string>> fields_;
    std::vector<std::string> required_;
};

struct elicit_answer {
    elicit_action action = elicit_action::cancel;
    // The form's values when accepted, checked against its schema; missing otherwise.
    json::view content;
};

// roots/list.
struct roots_answer {
    // Elements have `uri` (file:) and perhaps `name`.
    json::view roots;
};

}  // namespace pillion
