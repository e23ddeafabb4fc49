#include "http/response_parser.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/assert.hpp"
#include "http/fields.hpp"
#include "http/scan.hpp"

namespace pillion::http {

namespace {

// To our own client a broken upstream is one thing, whatever is broken about it.
parse_outcome broken(const char* reason) noexcept { return parse_outcome::fail(502, reason); }

// status-line = HTTP-version SP 3DIGIT SP [ reason-phrase ]; the second space is forgiven when the
// phrase is missing too, as most clients do.
parse_outcome read_status_line(const char* data, std::size_t window, response_head& out,
                               std::size_t& end) noexcept {
    constexpr std::size_t line_bytes_min = 12;  // "HTTP/1.1 200"
    std::size_t line_end = 0;
    const parse_outcome line = find_line_end(data, 0, window, line_end);
    if (line.state != parse_state::complete) {
        return line;
    }
    const std::string_view text{data, line_end};
    if (text.size() < line_bytes_min || !text.starts_with("HTTP/1.") || !base::is_digit(text[7]) ||
        text[8] != ' ') {
        return broken("malformed status line");
    }
    std::uint64_t status = 0;
    if (!base::parse_decimal(text.substr(9, 3), status) || status < 100) {
        return broken("malformed status code");
    }
    if (text.size() > line_bytes_min && text[line_bytes_min] != ' ') {
        return broken("malformed status line");
    }
    const std::size_t phrase = std::min(line_bytes_min + 1, line_end);
    out.reason_range = {static_cast<std::uint16_t>(phrase),
                        static_cast<std::uint16_t>(line_end - phrase)};
    out.status = static_cast<std::uint16_t>(status);
    out.minor_version = text[7] == '0' ? 0 : 1;
    end = line_end + 2;
    return line;
}

// RFC 9112 §6.3 in its order, refusing what it would have us repair.
parse_outcome read_framing(bool to_head_request, response_head& out) noexcept {
    const transfer_coding coding = read_transfer_coding(out);
    const bool has_length = out.has(header_id::content_length);
    if (has_length) {
        if (!read_content_length(out, out.content_length)) {
            return broken("invalid Content-Length");
        }
        out.has_content_length = true;
    }
    if (coding != transfer_coding::absent &&
        (coding != transfer_coding::chunked || has_length || out.minor_version == 0)) {
        return broken("invalid Transfer-Encoding");
    }
    if (to_head_request || out.status < 200 || out.status == 204 || out.status == 304) {
        out.body = body_kind::none;
    } else if (coding == transfer_coding::chunked) {
        out.body = body_kind::chunked;
    } else if (has_length) {
        out.body = out.content_length == 0 ? body_kind::none : body_kind::length;
    } else {
        out.body = body_kind::until_close;
    }
    out.keep_alive = out.body != body_kind::until_close && read_keep_alive(out, out.minor_version);
    return parse_outcome::done();
}

}  // namespace

parse_outcome parse_response_head(char* data, std::size_t size, std::size_t scanned_before,
                                  bool to_head_request, response_head& out) noexcept {
    PILLION_ASSERT(scanned_before <= size);
    if (scanned_before > 0 && size < limits::head_bytes_max) {
        const std::size_t from = scanned_before - 1;  // see parse_request_head
        if (find_control(data + from, size - from) == size - from) {
            return parse_outcome::more();
        }
    }
    out.reset_fields(data);
    out.content_length = 0;
    out.has_content_length = false;
    const std::size_t window = std::min(size, limits::head_bytes_max);
    std::size_t end = 0;
    parse_outcome outcome = read_status_line(data, window, out, end);
    if (outcome.state == parse_state::complete) {
        outcome = read_field_lines(data, end, window, out, end);
    }
    if (outcome.state == parse_state::need_more && window == limits::head_bytes_max) {
        return broken("response head too large");
    }
    if (outcome.state == parse_state::failed) {
        return broken(outcome.reason);
    }
    if (outcome.state == parse_state::complete) {
        out.bytes = static_cast<std::uint32_t>(end);
        outcome = read_framing(to_head_request, out);
    }
    return outcome;
}

}  // namespace pillion::http
