// What handlers return: results of tools, prompts, resource reads and completions.
//
// All of them are small handles into the memory of the request they belong to (made by the
// context), cheap to copy and valid until the handler returns. Texts and bytes handed to them are
// copied; binary data is given raw and encoded as base64 by the server.
//
// The server translates results to the revision the client speaks: kinds of content that it does
// not know are degraded to text, fields it does not know are left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pillion {

class context;

namespace detail {
struct request_state;
struct result_state;
}  // namespace detail

// Who a piece of content is for, how important it is (0…1; negative: not stated) and when it was
// last changed (ISO 8601; empty: not stated). Given to the content added just before.
struct content_annotations {
    bool for_user = false;
    bool for_assistant = false;
    double priority = -1;
    std::string_view last_modified{};

    content_annotations() = default;
    content_annotations(bool user, bool assistant, double importance = -1,
                        std::string_view modified = {})
        : for_user(user), for_assistant(assistant), priority(importance), last_modified(modified) {}
};

// An icon of a server, tool, prompt or resource.
struct icon {
    std::string src;                 // https:, http: or data: URI
    std::string mime_type;           // may be empty
    std::vector<std::string> sizes;  // "48x48", "any"
    std::string theme;               // "light", "dark" or empty

    explicit icon(std::string source, std::string mime = {},
                  std::vector<std::string> size_list = {}, std::string theme_name = {})
        : src(std::move(source)),
          mime_type(std::move(mime)),
          sizes(std::move(size_list)),
          theme(std::move(theme_name)) {}

    bool operator==(const icon&) const = default;
};

// Result of a tool call.
class tool_result {
 public:
    tool_result& text(std::string_view text);
    tool_result& image(std::string_view bytes, std::string_view mime_type);
    tool_result& audio(std::string_view bytes, std::string_view mime_type);
    // An embedded resource, as text or as raw bytes.
    tool_result& resource_text(std::string_view uri, std::string_view mime_type,
                               std::string_view text);
    tool_result& resource_blob(std::string_view uri, std::string_view mime_type,
                               std::string_view bytes);
    // A link to a resource the client may read (degrades to text before 2025-06-18).
    tool_result& link(std::string_view uri, std::string_view name, std::string_view mime_type = {},
                      std::string_view description = {});
    // Annotates the content added last.
    tool_result& annotate(const content_annotations& what);
    // Structured content as JSON text (json::builder::text()). When no text content was added the
    // same JSON is sent as text, too. Checked against the tool's output schema.
    tool_result& structured(std::string_view json);
    // For the library (fields.hpp): the same with JSON that is known to satisfy the output schema.
    tool_result& structured_proven(std::string_view json);
    // One `_meta` member of the result, value as JSON text.
    tool_result& meta(std::string_view key, std::string_view json);
    // Marks the result as a failure of the tool (isError).
    tool_result& failed();

 private:
    friend class context;
    friend class refusal;
    friend struct detail::request_state;
    explicit tool_result(detail::result_state* state) noexcept : state_(state) {}
    detail::result_state* state_;
};

// Result of a prompt: messages in order.
class prompt_result {
 public:
    prompt_result& user(std::string_view text);
    prompt_result& assistant(std::string_view text);
    prompt_result& user_image(std::string_view bytes, std::string_view mime_type);
    prompt_result& user_audio(std::string_view bytes, std::string_view mime_type);
    prompt_result& user_resource(std::string_view uri, std::string_view mime_type,
                                 std::string_view text);
    prompt_result& annotate(const content_annotations& what);
    prompt_result& meta(std::string_view key, std::string_view json);

 private:
    friend class context;
    friend class refusal;
    friend struct detail::request_state;
    explicit prompt_result(detail::result_state* state) noexcept : state_(state) {}
    detail::result_state* state_;
};

// Result of reading a resource: one or more contents.
class resource_result {
 public:
    resource_result& text(std::string_view uri, std::string_view mime_type, std::string_view text);
    resource_result& blob(std::string_view uri, std::string_view mime_type, std::string_view bytes);
    // How long a client may keep it (2026-07-28; default 0) and whether caches shared between
    // users may (default: no).
    resource_result& cache(std::int64_t ttl_ms, bool shared = false);
    resource_result& meta(std::string_view key, std::string_view json);

 private:
    friend class context;
    friend class refusal;
    friend struct detail::request_state;
    explicit resource_result(detail::result_state* state) noexcept : state_(state) {}
    detail::result_state* state_;
};

// Suggestions for an argument; at most 100 are sent, the total says how many there are.
class completion_result {
 public:
    completion_result& add(std::string_view value);
    // How many there are in all (negative: not known) and whether there are more than were added.
    completion_result& total(std::int64_t count, bool more);

 private:
    friend class context;
    friend class refusal;
    friend struct detail::request_state;
    explicit completion_result(detail::result_state* state) noexcept : state_(state) {}
    detail::result_state* state_;
};

// An error that any handler may give in the place of its result: context::unavailable() and the
// like make one.
class refusal {
 public:
    operator tool_result() const noexcept { return tool_result(state_); }
    operator prompt_result() const noexcept { return prompt_result(state_); }
    operator resource_result() const noexcept { return resource_result(state_); }
    operator completion_result() const noexcept { return completion_result(state_); }

 private:
    friend class context;
    explicit refusal(detail::result_state* state) noexcept : state_(state) {}
    detail::result_state* state_;
};

}  // namespace pillion
