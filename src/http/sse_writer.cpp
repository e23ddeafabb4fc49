#include "http/sse_writer.hpp"

#include <charconv>

#include "base/ascii.hpp"
#include "base/assert.hpp"

namespace pillion::http {

namespace {

constexpr std::size_t size_digits = 8;
constexpr std::string_view size_placeholder = "00000000\r\n";

void append_field(base::byte_buffer& out, std::string_view name, std::string_view value) noexcept {
    PILLION_ASSERT(is_one_line(value) && value.find('\0') == std::string_view::npos);
    out.append(name);
    out.append(value);
    out.append('\n');
}

}  // namespace

bool is_one_line(std::string_view text) noexcept {
    return text.find('\n') == std::string_view::npos && text.find('\r') == std::string_view::npos;
}

sse_mark begin_sse_event(base::byte_buffer& out, const sse_fields& fields, bool chunked) noexcept {
    sse_mark mark;
    mark.chunked = chunked;
    mark.size_at = out.size();
    if (chunked) {
        out.append(size_placeholder);
    }
    if (fields.id) {
        append_field(out, "id: ", *fields.id);
    }
    if (!fields.event.empty()) {
        append_field(out, "event: ", fields.event);
    }
    if (fields.retry_ms) {
        char digits[10];
        const char* end = std::to_chars(digits, digits + sizeof digits, *fields.retry_ms).ptr;
        append_field(out, "retry: ", {digits, static_cast<std::size_t>(end - digits)});
    }
    out.append("data: ");
    mark.data_at = out.size();
    return mark;
}

void end_sse_event(base::byte_buffer& out, const sse_mark& mark) noexcept {
    PILLION_ASSERT(mark.data_at <= out.size());
    PILLION_ASSERT(is_one_line(out.view().substr(mark.data_at)));
    out.append("\n\n");
    if (!mark.chunked) {
        return;
    }
    std::size_t bytes = out.size() - mark.size_at - size_placeholder.size();
    PILLION_ASSERT(bytes <= UINT32_MAX);
    out.append("\r\n");
    char* digit = out.data() + mark.size_at + size_digits;
    for (std::size_t i = 0; i < size_digits; ++i) {
        *--digit = base::hex_digits[bytes & 0xf];
        bytes >>= 4;
    }
}

void append_sse_event(base::byte_buffer& out, const sse_fields& fields, std::string_view data,
                      bool chunked) noexcept {
    const sse_mark mark = begin_sse_event(out, fields, chunked);
    out.append(data);
    end_sse_event(out, mark);
}

void append_sse_keep_alive(base::byte_buffer& out, bool chunked) noexcept {
    out.append(chunked ? std::string_view{"e\r\n: keep-alive\n\n\r\n"}
                       : std::string_view{": keep-alive\n\n"});
}

void append_sse_end(base::byte_buffer& out, bool chunked) noexcept {
    if (chunked) {
        out.append(last_chunk);
    }
}

}  // namespace pillion::http
