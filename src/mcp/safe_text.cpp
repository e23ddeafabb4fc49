#include "mcp/safe_text.hpp"

#include <algorithm>
#include <cstring>

#include "base/ascii.hpp"
#include "base/byte_buffer.hpp"
#include "base/log.hpp"
#include "base/utf8.hpp"
#include "json/writer.hpp"
#include "mcp/request.hpp"

namespace pillion::mcp {

namespace {

constexpr std::size_t message_bytes_max = 300;
constexpr std::size_t logged_bytes_max = 4096;
// Nobody reads more of an error, and the loop has other things to do.
constexpr std::size_t tool_text_bytes_max = 16 * 1024;
// Shorter texts of the client are words like any other.
constexpr std::size_t echo_bytes_min = 4;
constexpr std::size_t echoes_max = 256;
constexpr int depth_max = 8;

std::string_view cut(std::string_view text, std::size_t bytes_max) noexcept {
    if (text.size() > bytes_max) {
        text = text.substr(0, bytes_max);
        text = text.substr(0, base::utf8::valid_prefix(text));
    }
    return text;
}

// Marks in a text what the request said.
class echo_marker {
 public:
    explicit echo_marker(std::string_view in, char* copy) noexcept
        : copy_(copy), bytes_(in.size()) {
        in.copy(copy_, in.size());
    }
    void mark(std::string_view said) noexcept {
        if (said.size() < echo_bytes_min || ++seen_ > echoes_max) {
            return;
        }
        const std::string_view text(copy_, bytes_);
        for (std::size_t at = text.find(said); at != text.npos;
             at = text.find(said, at + said.size())) {
            std::memset(copy_ + at, redaction::mark, said.size());
            found_ = true;
        }
    }
    void mark(json::view value, int depth = 0) noexcept {
        if (value.is_string()) {
            return mark(value.str());
        }
        if (depth == depth_max) {
            return;
        }
        for (const json::view one : value.elements()) {
            mark(one, depth + 1);
        }
        for (const json::member m : value.members()) {
            mark(m.value, depth + 1);
        }
    }
    bool found() const noexcept { return found_; }

 private:
    char* copy_;
    std::size_t bytes_;
    std::size_t seen_ = 0;
    bool found_ = false;
};

std::string_view strictly(detail::request_state& r, std::string_view said) {
    said = cut(said, logged_bytes_max);
    char* const copy = static_cast<char*>(r.memory.allocate(said.size(), 1));
    echo_marker echoes(said, copy);
    echoes.mark(r.arguments);
    if (r.tool == nullptr && r.prompt == nullptr) {
        echoes.mark(r.target);
    }
    redaction how;
    how.strict = true;
    return redact({copy, said.size()}, how, r.memory);
}

// Whole, for who looks after the server.
void log_rest(detail::request_state& r, std::string_view said) {
    log::warn("mcp.error_text",
              {log::kv("method", r.method), log::kv("target", r.target),
               log::kv("request_id", r.request_id), log::kv("text", log_text(r, said))});
}

// Members that the specification or the standard define; what they hold stays as it is.
constexpr std::string_view defined_members[] = {
    "uri", "supported", "requested", "requiredCapabilities", "elicitations", "retryAfter",
};
constexpr std::string_view worded_members[] = {"field", "reason"};

bool is_in(std::string_view name, const auto& list) noexcept {
    return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

void write_safely(detail::request_state& r, json::writer& w, json::view value, int depth) {
    if (value.is_string()) {
        return w.string_lossy(strictly(r, value.str()));
    }
    if (depth == depth_max) {
        return w.raw("null");
    }
    if (value.is_array()) {
        w.begin_array();
        for (const json::view one : value.elements()) {
            write_safely(r, w, one, depth + 1);
        }
        return w.end_array();
    }
    if (value.is_object()) {
        w.begin_object();
        for (const json::member m : value.members()) {
            w.string_lossy(strictly(r, m.key));
            w.fragment(":");
            write_safely(r, w, m.value, depth + 1);
        }
        return w.end_object();
    }
    w.value(value);
}

bool is_field_name(std::string_view name) noexcept {
    constexpr std::size_t bytes_max = 64;
    return !name.empty() && name.size() <= bytes_max &&
           std::all_of(name.begin(), name.end(), [](char c) {
               return base::is_alnum(c) || c == '_' || c == '-' || c == '.' || c == '$' || c == '*';
           });
}

}  // namespace

safe_text error_text(detail::request_state& r, std::string_view said) {
    const std::string_view text = strictly(r, said);
    if (text != said) {
        log_rest(r, said);
    }
    return safe_text(cut(text, message_bytes_max), 0);
}

std::string_view tool_text(detail::request_state& r, std::string_view said) {
    redaction how;
    how.places = r.registered().corporate();
    const std::string_view whole = cut(said, tool_text_bytes_max);
    const std::string_view text = redact(whole, how, r.memory);
    if (text == said) {
        return said;
    }
    log_rest(r, said);
    if (whole.size() == said.size()) {
        return text;
    }
    constexpr std::string_view mark = " [truncated]";
    char* const to = static_cast<char*>(r.memory.allocate(text.size() + mark.size(), 1));
    text.copy(to, text.size());
    mark.copy(to + text.size(), mark.size());
    return {to, text.size() + mark.size()};
}

std::string_view log_text(detail::request_state& r, std::string_view said) {
    return redact(cut(said, logged_bytes_max), redaction(), r.memory);
}

std::string_view error_data(detail::request_state& r, json::view given) {
    if (!given.is_object()) {
        return {};
    }
    base::byte_buffer text(r.memory.pool());
    json::writer w(text);
    w.begin_object();
    bool left_out = false;
    for (const json::member m : given.members()) {
        const bool defined = is_in(m.key, defined_members);
        const bool declared = is_in(m.key, r.registered().error_members());
        if (m.key == "requestId" || (!defined && !declared && !is_in(m.key, worded_members))) {
            left_out = true;
            continue;
        }
        w.key(m.key);
        if (defined) {
            w.value(m.value);
        } else if (m.key == "field" && m.value.is_string()) {
            const bool named = safe_pointer(m.value.str(), r.memory) == m.value.str();
            w.string_lossy(named ? m.value.str() : "*");
        } else {
            write_safely(r, w, m.value, 0);
        }
    }
    w.end_object();
    if (left_out) {
        base::byte_buffer all(r.memory.pool());
        json::writer(all).value(given);
        log_rest(r, all.view());
    }
    return r.memory.dup(text.view());
}

std::string_view safe_pointer(std::string_view pointer, base::arena& memory) {
    char* const start = static_cast<char*>(memory.allocate(pointer.size(), 1));
    char* to = start;
    while (!pointer.empty()) {
        if (pointer[0] == '/') {
            *to++ = '/';
            pointer.remove_prefix(1);
        }
        const std::string_view name = pointer.substr(0, pointer.find('/'));
        pointer.remove_prefix(name.size());
        if (is_field_name(name)) {
            to += name.copy(to, name.size());
        } else if (!name.empty()) {
            *to++ = '*';
        }
    }
    return {start, static_cast<std::size_t>(to - start)};
}

}  // namespace pillion::mcp
