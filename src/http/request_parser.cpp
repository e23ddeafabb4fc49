#include "http/request_parser.hpp"

#include <algorithm>
#include <cstring>

#include "base/ascii.hpp"
#include "base/assert.hpp"
#include "http/authority.hpp"
#include "http/fields.hpp"
#include "http/scan.hpp"

namespace pillion::http {

namespace {

constexpr std::size_t method_bytes_max = 32;
constexpr std::size_t version_bytes = 8;  // "HTTP/1.1"
// So many bytes decide about the method: an empty line and one byte more than it may have.
constexpr std::size_t method_decided_bytes = 2 + method_bytes_max + 1;

text_range make_range(std::size_t at, std::size_t end) noexcept {
    return {static_cast<std::uint16_t>(at), static_cast<std::uint16_t>(end - at)};
}

// Methods are case-sensitive (RFC 9110 §9.1).
method find_method(std::string_view text) noexcept {
    switch (text.size()) {
        case 3:
            return text == "GET" ? method::get : text == "PUT" ? method::put : method::other;
        case 4:
            return text == "POST" ? method::post : text == "HEAD" ? method::head : method::other;
        case 5:
            return text == "PATCH"   ? method::patch
                   : text == "TRACE" ? method::trace
                                     : method::other;
        case 6:
            return text == "DELETE" ? method::delete_ : method::other;
        case 7:
            return text == "OPTIONS"   ? method::options
                   : text == "CONNECT" ? method::connect
                                       : method::other;
        default:
            return method::other;
    }
}

// The work of one call. `at` is where the next piece starts; each step answers `complete` to go on.
class head_reader {
 public:
    head_reader(char* data, std::size_t window, std::size_t target_bytes_max,
                request_head& out) noexcept
        : base_(data), window_(window), target_bytes_max_(target_bytes_max), out_(out) {}

    parse_outcome run() noexcept;

 private:
    parse_outcome skip_empty_line() noexcept;
    parse_outcome read_method() noexcept;
    parse_outcome read_request_line() noexcept;
    parse_outcome read_version(std::string_view text) noexcept;
    parse_outcome read_target(std::size_t at, std::size_t end) noexcept;
    parse_outcome read_absolute_target(std::size_t at, std::size_t end) noexcept;
    parse_outcome check_host() noexcept;
    parse_outcome check_framing() noexcept;
    parse_outcome check_expect() noexcept;
    void split_path(std::size_t at, std::size_t end) noexcept;

    char* base_;
    std::size_t window_;
    std::size_t target_bytes_max_;
    std::size_t at_ = 0;
    request_head& out_;
    bool absolute_ = false;
    bool in_fields_ = false;

 public:
    // True once the request line is behind us: tells 431 from 414 when the window is full.
    bool in_fields() const noexcept { return in_fields_; }
};

// RFC 9112 §2.2: one empty line before the request line is forgiven, old clients send it after a
// body. The second CR then fails as a method.
parse_outcome head_reader::skip_empty_line() noexcept {
    if (window_ == 0) {
        return parse_outcome::more();
    }
    if (base_[0] != '\r') {
        return parse_outcome::done();
    }
    if (window_ == 1) {
        return parse_outcome::more();
    }
    if (base_[1] != '\n') {
        return parse_outcome::fail(400, "bare CR in the head");
    }
    at_ = 2;
    return parse_outcome::done();
}

// Looks at the method before it looks for the end of the line: TLS or noise on a plain port is
// refused at its first byte.
parse_outcome head_reader::read_method() noexcept {
    const std::size_t start = at_;
    std::size_t i = start;
    while (i < window_ && base::is_token_char(base_[i])) {
        ++i;
        if (i - start > method_bytes_max) {
            return parse_outcome::fail(501, "method too long");
        }
    }
    if (i == window_) {
        return parse_outcome::more();
    }
    if (base_[i] != ' ' || i == start) {
        return parse_outcome::fail(400, "malformed request line");
    }
    out_.method_range = make_range(start, i);
    out_.m = find_method({base_ + start, i - start});
    at_ = i + 1;
    return parse_outcome::done();
}

// HTTP-version is case-sensitive, one digit each (RFC 9112 §2.3).
parse_outcome head_reader::read_version(std::string_view text) noexcept {
    if (text == "HTTP/1.1") {
        out_.minor_version = 1;
        return parse_outcome::done();
    }
    if (!text.starts_with("HTTP/") || !base::is_digit(text[5]) || text[6] != '.' ||
        !base::is_digit(text[7])) {
        return parse_outcome::fail(400, "malformed HTTP version");
    }
    if (text[5] != '1') {
        return parse_outcome::fail(505, "HTTP version not supported");
    }
    out_.minor_version = text[7] == '0' ? 0 : 1;
    return parse_outcome::done();
}

// request-line = method SP request-target SP HTTP-version, with single spaces (RFC 9112 §3).
parse_outcome head_reader::read_request_line() noexcept {
    std::size_t line_end = 0;
    const parse_outcome line = find_line_end(base_, at_, window_, line_end);
    if (line.state != parse_state::complete) {
        return line;
    }
    if (line_end - at_ < version_bytes + 1 || base_[line_end - version_bytes - 1] != ' ') {
        return parse_outcome::fail(400, "malformed request line");
    }
    const parse_outcome version = read_version({base_ + line_end - version_bytes, version_bytes});
    if (version.state != parse_state::complete) {
        return version;
    }
    const parse_outcome target = read_target(at_, line_end - version_bytes - 1);
    if (target.state != parse_state::complete) {
        return target;
    }
    at_ = line_end + 2;
    return target;
}

void head_reader::split_path(std::size_t at, std::size_t end) noexcept {
    const void* mark = end > at ? std::memchr(base_ + at, '?', end - at) : nullptr;
    if (mark == nullptr) {
        out_.path_range = make_range(at, end);
        out_.query_range = make_range(end, end);
        return;
    }
    const auto query = static_cast<std::size_t>(static_cast<const char*>(mark) - base_);
    out_.path_range = make_range(at, query);
    out_.query_range = make_range(query + 1, end);
}

// The four forms of RFC 9112 §3.2. The line has no control bytes left. A fragment never belongs
// into a request; other visible ASCII is left to the router, which compares paths exactly.
parse_outcome head_reader::read_target(std::size_t at, std::size_t end) noexcept {
    if (end - at > target_bytes_max_) {
        return parse_outcome::fail(414, "request target too long");
    }
    for (std::size_t i = at; i < end; ++i) {
        const auto c = static_cast<unsigned char>(base_[i]);
        if (c <= ' ' || c > '~' || c == '#') {
            return parse_outcome::fail(400, "invalid character in the request target");
        }
    }
    out_.target_range = make_range(at, end);
    const std::string_view target{base_ + at, end - at};
    if (out_.m == method::connect) {
        authority where;
        if (!parse_authority(target, where) || !where.has_port) {
            return parse_outcome::fail(400, "invalid request target");
        }
        return parse_outcome::fail(501, "this server is no proxy");  // RFC 9110 §9.3.6
    }
    if (target.starts_with('/')) {
        split_path(at, end);
        return parse_outcome::done();
    }
    if (target == "*" && out_.m == method::options) {
        out_.path_range = out_.target_range;
        out_.query_range = make_range(end, end);
        return parse_outcome::done();
    }
    return read_absolute_target(at, end);
}

parse_outcome head_reader::read_absolute_target(std::size_t at, std::size_t end) noexcept {
    const std::string_view target{base_ + at, end - at};
    std::size_t scheme = 0;
    if (base::equals_ignore_case(target.substr(0, 7), "http://")) {
        scheme = 7;
    } else if (base::equals_ignore_case(target.substr(0, 8), "https://")) {
        scheme = 8;
    } else {
        return parse_outcome::fail(400, "invalid request target");
    }
    const std::size_t path = std::min(target.find_first_of("/?", scheme), target.size());
    authority where;
    if (!parse_authority(target.substr(scheme, path - scheme), where)) {
        return parse_outcome::fail(400, "invalid authority in the request target");
    }
    absolute_ = true;
    out_.host_range = make_range(at + scheme, at + path);
    split_path(at + path, end);
    return parse_outcome::done();
}

// RFC 9112 §3.2: exactly one valid Host in HTTP/1.1, whatever the form of the target.
parse_outcome head_reader::check_host() noexcept {
    const std::uint8_t hosts = out_.count(header_id::host);
    if (hosts == 0) {
        if (out_.minor_version >= 1) {
            return parse_outcome::fail(400, "missing Host");
        }
        return parse_outcome::done();
    }
    const std::string_view text = out_.get(header_id::host);
    authority where;
    if (hosts > 1 || !parse_authority(text, where)) {
        return parse_outcome::fail(400, hosts > 1 ? "repeated Host" : "invalid Host");
    }
    if (absolute_) {
        out_.replace(header_id::host, out_.host_range);  // RFC 9112 §3.2.2
    } else {
        const auto at = static_cast<std::size_t>(text.data() - base_);
        out_.host_range = make_range(at, at + text.size());
    }
    return parse_outcome::done();
}

// RFC 9112 §6.1 and §6.3. Content-Length beside Transfer-Encoding may be repaired by dropping the
// former; it is also the first thing a smuggler tries.
parse_outcome head_reader::check_framing() noexcept {
    const bool has_length = out_.has(header_id::content_length);
    switch (read_transfer_coding(out_)) {
        case transfer_coding::absent:
            break;
        case transfer_coding::malformed:
            return parse_outcome::fail(400, "invalid Transfer-Encoding");
        case transfer_coding::unsupported:
            return out_.minor_version == 0 || has_length
                       ? parse_outcome::fail(400, "contradictory Transfer-Encoding")
                       : parse_outcome::fail(501, "transfer coding not implemented");
        case transfer_coding::chunked:
            if (out_.minor_version == 0) {
                return parse_outcome::fail(400, "Transfer-Encoding in HTTP/1.0");
            }
            if (has_length) {
                return parse_outcome::fail(400, "Content-Length beside Transfer-Encoding");
            }
            out_.chunked = true;
            return parse_outcome::done();
    }
    if (has_length) {
        if (!read_content_length(out_, out_.content_length)) {
            return parse_outcome::fail(400, "invalid Content-Length");
        }
        out_.has_content_length = true;
    }
    return parse_outcome::done();
}

parse_outcome head_reader::check_expect() noexcept {
    if (!out_.has(header_id::expect)) {
        return parse_outcome::done();
    }
    if (out_.count(header_id::expect) > 1 ||
        !base::equals_ignore_case(out_.get(header_id::expect), "100-continue")) {
        return parse_outcome::fail(417, "unknown expectation");
    }
    // RFC 9110 §10.1.1: ignored from HTTP/1.0, needless without a body.
    out_.expect_continue = out_.minor_version >= 1 && (out_.chunked || out_.content_length > 0);
    return parse_outcome::done();
}

parse_outcome head_reader::run() noexcept {
    using step = parse_outcome (head_reader::*)() noexcept;
    for (const step next : {&head_reader::skip_empty_line, &head_reader::read_method,
                            &head_reader::read_request_line}) {
        const parse_outcome outcome = (this->*next)();
        if (outcome.state != parse_state::complete) {
            return outcome;
        }
    }
    in_fields_ = true;
    std::size_t end = 0;
    parse_outcome outcome = read_field_lines(base_, at_, window_, out_, end);
    // Checks that need the whole head come after all that read it, so that the first fault of a
    // head does not depend on how much of it has arrived.
    for (const step next :
         {&head_reader::check_host, &head_reader::check_framing, &head_reader::check_expect}) {
        if (outcome.state != parse_state::complete) {
            return outcome;
        }
        outcome = (this->*next)();
    }
    out_.keep_alive = read_keep_alive(out_, out_.minor_version);
    out_.bytes = static_cast<std::uint32_t>(end);
    return outcome;
}

void reset(request_head& out, const char* data, std::size_t fields_max) noexcept {
    out.reset_fields(data, fields_max);
    out.host_range = {};
    out.verdict = 0;
    out.content_length = 0;
    out.chunked = out.has_content_length = out.expect_continue = false;
}

}  // namespace

parse_outcome parse_request_head(char* data, std::size_t size, std::size_t scanned_before,
                                 request_head& out, const head_limits& most) noexcept {
    PILLION_ASSERT(scanned_before <= size && most.bytes_max <= limits::head_bytes_most &&
                   most.fields_max <= limits::headers_most);
    // A line ends at a control byte. Without one behind the last byte of the earlier call (which
    // may be a CR) nothing can have been decided since, except about the method.
    if (scanned_before >= method_decided_bytes && size < most.bytes_max) {
        const std::size_t from = scanned_before - 1;
        if (find_control(data + from, size - from) == size - from) {
            return parse_outcome::more();
        }
    }
    reset(out, data, most.fields_max);
    const std::size_t window = std::min(size, most.bytes_max);
    head_reader reader(data, window, most.target_bytes_max, out);
    const parse_outcome outcome = reader.run();
    if (outcome.state == parse_state::need_more && window == most.bytes_max) {
        return reader.in_fields() ? parse_outcome::fail(431, "head too large")
                                  : parse_outcome::fail(414, "request target too long");
    }
    return outcome;
}

}  // namespace pillion::http
