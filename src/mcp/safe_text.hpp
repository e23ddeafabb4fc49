// safe_text: the only text an error may carry to a client (STANDARD row 95). It is a constant of
// this program, or it has been through the sanitizer below; the compiler refuses anything else.
//
// Strict, for JSON-RPC errors: one short line without paths, addresses, SQL, opaque tokens, stack
// traces, places in source files and what the request itself said. Results of tools with isError
// are meant for the model, which needs names to act upon: they lose secrets and stack traces, and
// in the corporate profile absolute paths, internal addresses and SQL as well. The log keeps the
// whole text, except for secrets (row 39).
//
// A word that may not leave becomes "[removed]". Text is cut into words, not understood: it errs on
// the side of removing. Thread: the request's shard; these are cold paths and may take arena
// memory.
#pragma once

#include <string_view>

#include <pillion/json.hpp>

#include "base/arena.hpp"

namespace pillion::detail {
struct request_state;
}

namespace pillion::mcp {

class safe_text {
 public:
    constexpr safe_text() noexcept = default;
    // Literals only.
    consteval safe_text(const char* literal) noexcept : text_(literal) {}
    // For constants that lie in tables of layers below. REQUIRES: no byte of it came from outside.
    static constexpr safe_text of_constant(std::string_view text) noexcept {
        return safe_text(text, 0);
    }

    constexpr std::string_view view() const noexcept { return text_; }
    constexpr bool empty() const noexcept { return text_.empty(); }

 private:
    friend safe_text error_text(detail::request_state& r, std::string_view said);
    constexpr safe_text(std::string_view text, int) noexcept : text_(text) {}
    std::string_view text_;
};

// What the sanitizer leaves of a text.
struct redaction {
    bool places = false;  // no absolute paths, internal addresses, SQL
    bool strict = false;  // … nor any path, address, opaque token; the first line only
    // Strict: words that hold this byte go, too. A caller overwrites with it what must not leave.
    static constexpr char mark = '\x01';
};
// Where nothing has to go, `said` itself; else a copy in `memory`. Secrets and stack traces always
// go. Time is linear in the text.
std::string_view redact(std::string_view said, redaction how, base::arena& memory);

// What a handler said, as message of a JSON-RPC error: strict, at most 300 bytes. When something
// had to go, the log has the rest under the request's id.
safe_text error_text(detail::request_state& r, std::string_view said);
// The same for a text of a result with isError.
std::string_view tool_text(detail::request_state& r, std::string_view said);
// What may be logged of a text that comes from elsewhere, such as that of an exception.
std::string_view log_text(detail::request_state& r, std::string_view said);

// What a handler gave as error.data, as JSON text of an object or empty: of its members only those
// that the specification or the standard define (row 96), and those the server declared by
// server::error_data(). requestId is never among them.
std::string_view error_data(detail::request_state& r, json::view given);

// A JSON Pointer into what the client sent, as data.field: names that do not look like names of
// fields become "*" (raw text of the user is not repeated).
std::string_view safe_pointer(std::string_view pointer, base::arena& memory);

}  // namespace pillion::mcp
