#include "http/response_writer.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>

#include "base/ascii.hpp"
#include "base/assert.hpp"
#include "http/media.hpp"

namespace pillion::http {

namespace {

constexpr std::size_t number_bytes_max = 20;

struct reason {
    std::uint16_t status;
    std::string_view phrase;
};

// In order of the numbers (RFC 9110 §15, RFC 6585; 499 is what others log for a client that left).
constexpr reason reasons[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {426, "Upgrade Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {499, "Client Closed Request"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};
static_assert(std::is_sorted(std::begin(reasons), std::end(reasons),
                             [](const reason& a, const reason& b) { return a.status < b.status; }));

// A cursor over memory that is known to be large enough: head_bytes() has measured it.
class head_writer {
 public:
    explicit head_writer(char* out) noexcept : begin_(out), at_(out) {}

    void text(std::string_view value) noexcept {
        if (!value.empty()) {
            std::memcpy(at_, value.data(), value.size());
            at_ += value.size();
        }
    }
    void number(std::uint64_t value) noexcept {
        at_ = std::to_chars(at_, at_ + number_bytes_max, value).ptr;
    }
    // A value that may come from a peer.
    void clean_text(std::string_view value) noexcept {
        char* const begin = at_;
        text(value);
        if (!base::is_field_value(value)) {
            std::replace_if(begin, at_, base::is_control, ' ');
        }
    }
    void status_line(std::uint16_t status) noexcept {
        // Always our own version, also to HTTP/1.0 clients (RFC 9110 §2.5).
        if (status == 200) {
            return text("HTTP/1.1 200 OK\r\n");
        }
        text("HTTP/1.1 ");
        number(status);
        text(" ");
        text(reason_phrase(status));
        text("\r\n");
    }
    void field(std::string_view name, std::string_view value) noexcept {
        if (!value.empty()) {
            text(name);
            text(": ");
            text(value);
            text("\r\n");
        }
    }
    void request_id(std::string_view id) noexcept { field("X-Request-Id", id); }
    void extra(std::span<const header_line> lines) noexcept {
        for (const header_line& line : lines) {
            text(line.name);
            text(": ");
            clean_text(line.value);
            text("\r\n");
        }
    }
    std::size_t size() const noexcept { return static_cast<std::size_t>(at_ - begin_); }

 private:
    char* begin_;
    char* at_;
};

// An upper bound for the bytes of a head.
std::size_t head_bytes_bound(const response_spec& spec) noexcept {
    // Status line, the fixed fields with their names, and the blank line stay below this.
    constexpr std::size_t fixed_bytes = 256;
    std::size_t sum = fixed_bytes + spec.content_type.size() + spec.date.size() +
                      spec.allow.size() + spec.request_id.size();
    for (const header_line& line : spec.extra) {
        sum += line.name.size() + line.value.size() + 4;
    }
    return sum;
}

void check_ours(const response_spec& spec) noexcept {
    PILLION_ASSERT(spec.status >= 100 && spec.status <= 999);
    // Beside a usual beginning the type is written nowhere.
    PILLION_ASSERT(!spec.usual.empty() || base::is_field_value(spec.content_type));
    PILLION_ASSERT(base::is_field_value(spec.allow));
    PILLION_DEBUG_ASSERT(base::is_field_value(spec.request_id));
    for (const header_line& line : spec.extra) {
        PILLION_ASSERT(base::is_token(line.name));
    }
}

bool has_no_body(std::uint16_t status) noexcept {
    return status < 200 || status == 204 || status == 304;
}

// The lines that every reply begins with.
void write_begin(head_writer& to, const response_spec& spec, std::size_t body_bytes) noexcept {
    if (!spec.usual.empty() && body_bytes > 0) {
        to.text(spec.usual);
    } else {
        to.status_line(spec.status);
        to.field("Date", spec.date);
        if (has_no_body(spec.status)) {
            return;
        }
        if (body_bytes > 0) {
            to.field("Content-Type", spec.content_type);
        }
        to.text("Content-Length: ");
    }
    to.number(body_bytes);
    to.text("\r\n");
}

void write_fields(head_writer& to, const response_spec& spec, std::size_t body_bytes) noexcept {
    write_begin(to, spec, body_bytes);
    to.field("Allow", spec.allow);
    if (!spec.keep_alive) {
        to.text("Connection: close\r\n");
    } else if (spec.minor_version == 0) {
        to.text("Connection: keep-alive\r\n");
    }
    to.request_id(spec.request_id);
    to.extra(spec.extra);
    to.text("\r\n");
}

// For a head that outgrows the gap: the body moves behind it into new memory.
void rebuild(base::byte_buffer& out, const response_spec& spec, std::size_t body_bytes,
             std::size_t bound) noexcept {
    base::byte_buffer whole(out.pool());
    head_writer writer(whole.reserve(bound + out.size()));
    write_fields(writer, spec, body_bytes);
    whole.commit(writer.size());
    whole.append(out.view());
    out = std::move(whole);
}

}  // namespace

std::string_view reason_phrase(std::uint16_t status) noexcept {
    const auto* found = std::lower_bound(
        std::begin(reasons), std::end(reasons), status,
        [](const reason& entry, std::uint16_t wanted) { return entry.status < wanted; });
    return found != std::end(reasons) && found->status == status ? found->phrase : "Unknown";
}

std::string_view usual_begin::at(std::int64_t unix_seconds, std::string_view date) noexcept {
    if (unix_seconds != seconds_) {
        seconds_ = unix_seconds;
        head_writer to(text_);
        to.status_line(200);
        to.field("Date", date);
        to.field("Content-Type", json_media_type);
        to.text("Content-Length: ");
        bytes_ = to.size();
        PILLION_ASSERT(bytes_ <= sizeof text_);
    }
    return {text_, bytes_};
}

void write_head(base::byte_buffer& out, const response_spec& spec) noexcept {
    check_ours(spec);
    const std::size_t body_bytes = out.size() + spec.rest_bytes;
    if (spec.head_request || has_no_body(spec.status)) {
        out.truncate(0);
    }
    const std::size_t bound = head_bytes_bound(spec);
    constexpr std::size_t stack_bytes = 1024;
    char stack[stack_bytes];
    if (bound <= stack_bytes) {
        head_writer writer(stack);
        write_fields(writer, spec, body_bytes);
        if (writer.size() <= head_gap_bytes) {
            out.prepend({stack, writer.size()});
            return;
        }
    }
    rebuild(out, spec, body_bytes, bound);
}

bool write_chunked_head(base::byte_buffer& out, const response_spec& spec) noexcept {
    check_ours(spec);
    const bool chunked = spec.minor_version >= 1;
    head_writer writer(out.reserve(head_bytes_bound(spec)));
    writer.status_line(spec.status);
    writer.field("Date", spec.date);
    writer.text(
        "Content-Type: text/event-stream\r\nCache-Control: no-store\r\n"
        "X-Accel-Buffering: no\r\n");
    if (chunked) {
        writer.text("Transfer-Encoding: chunked\r\n");
    }
    if (!chunked || !spec.keep_alive) {
        writer.text("Connection: close\r\n");
    }
    writer.request_id(spec.request_id);
    writer.extra(spec.extra);
    writer.text("\r\n");
    out.commit(writer.size());
    return chunked;
}

}  // namespace pillion::http
