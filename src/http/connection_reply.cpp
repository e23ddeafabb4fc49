// The part of connection that answers: replies and refusals.

#include <cstring>
#include <utility>

#include "base/ascii.hpp"
#include "base/assert.hpp"
#include "base/log.hpp"
#include "http/connection.hpp"
#include "http/media.hpp"
#include "http/response_writer.hpp"
#include "http/server.hpp"
#include "io/reactor.hpp"

namespace pillion::http {

namespace {

bool is_visible_ascii(std::string_view text) noexcept {
    for (const char c : text) {
        if (c <= ' ' || c > '~') {
            return false;
        }
    }
    return true;
}

constexpr std::size_t uuid_bytes = 36;

// Without a loop over digits: every request that brings no id of its own gets one.
using bytes_16 = unsigned char __attribute__((vector_size(16)));

bytes_16 hex_of(bytes_16 nibbles) noexcept {
    constexpr int letters = 'a' - '0' - 10;
    return nibbles + '0' + (reinterpret_cast<bytes_16>(nibbles > 9) & letters);
}

// A UUID of 122 random bits (RFC 9562 §5.4; STANDARD row 104).
void write_uuid(std::uint64_t a, std::uint64_t b, char* to) noexcept {
    const std::uint64_t random[] = {a, b};
    bytes_16 bytes;
    std::memcpy(&bytes, random, sizeof bytes);
    // Its version in the first byte of the third group, its variant in that of the fourth.
    constexpr unsigned char all = 0xFF;
    constexpr bytes_16 free = {all,  all, all, all, all, all, 0x0F, all,
                               0x3F, all, all, all, all, all, all,  all};
    constexpr bytes_16 fixed = {0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 0};
    bytes = (bytes & free) | fixed;
    const bytes_16 high = bytes >> 4;
    const bytes_16 low = bytes & 0x0F;
    char digits[2 * sizeof bytes];
    const bytes_16 left = hex_of(
        __builtin_shufflevector(high, low, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));
    const bytes_16 right = hex_of(__builtin_shufflevector(high, low, 8, 24, 9, 25, 10, 26, 11, 27,
                                                          12, 28, 13, 29, 14, 30, 15, 31));
    std::memcpy(digits, &left, sizeof left);
    std::memcpy(digits + sizeof left, &right, sizeof right);
    const char* from = digits;
    for (const std::size_t group : {8U, 4U, 4U, 4U}) {
        std::memcpy(to, from, group);
        from += group;
        to += group;
        *to++ = '-';
    }
    std::memcpy(to, from, 12);
}

}  // namespace

void connection::learn_request() noexcept {
    ++server_.counts_.requests;
    minor_version_ = head_->minor_version;
    head_only_ = head_->m == method::head;
    client_closes_ = !head_->keep_alive;
    close_ = client_closes_;
    choose_request_id(head_->get(header_id::x_request_id));
}

void connection::forget_request() noexcept {
    base::chunk_pool::give(body_);
    body_ = nullptr;
    release_head();
    base::chunk_pool::give(std::exchange(long_id_, nullptr));
    request_id_bytes_ = 0;
    clear_deadline();
    listener_ = nullptr;
    server_.counts_.streams -= streaming_ ? 1 : 0;
    streaming_ = false;
    eof_told_ = false;
    head_only_ = false;
    minor_version_ = 1;
    undecided_ = false;
    phase_ = phase::head;
}

std::string_view connection::request_id() const noexcept {
    return {long_id_ != nullptr ? long_id_->data() : request_id_, request_id_bytes_};
}

void connection::choose_request_id(std::string_view wanted) noexcept {
    base::chunk_pool::give(std::exchange(long_id_, nullptr));
    if (!wanted.empty() && wanted.size() <= limits::request_id_bytes_max &&
        is_visible_ascii(wanted)) {
        char* to = request_id_;
        if (wanted.size() > sizeof(request_id_)) {
            long_id_ = server_.loop().chunks().take(wanted.size());
            to = long_id_->data();
        }
        std::memcpy(to, wanted.data(), wanted.size());
        request_id_bytes_ = static_cast<std::uint8_t>(wanted.size());
        return;
    }
    static_assert(sizeof(request_id_) >= uuid_bytes);
    const std::uint64_t first = server_.random_.next();
    write_uuid(first, server_.random_.next(), request_id_);
    request_id_bytes_ = uuid_bytes;
}

connection::step connection::refuse_request(std::uint16_t status, const char* reason) noexcept {
    const bool here = !head_->chunked && head_->content_length <= input_.size();
    if (!here) {
        // The body is coming, or not: after a refusal instead of 100 the client may do either
        // (RFC 9110 §10.1.1), so that nothing behind it could be told apart from it.
        return refuse_and_close(head_, status, reason);
    }
    // The memory of what is consumed stays as it is until this step has ended.
    input_.consume(head_->content_length);
    refuse(head_, status, reason);
    return end_exchange();
}

connection::step connection::refuse_and_close(const request_head* head, std::uint16_t status,
                                              const char* reason) noexcept {
    close_ = true;
    refuse(head, status, reason);
    ending_ = ending::linger;
    return step::close;
}

// Who sends such a thing may be trying to smuggle something past a proxy.
connection::step connection::refuse_malformed(const request_head* head, std::uint16_t status,
                                              const char* reason) noexcept {
    const step end = refuse_and_close(head, status, reason);
    log::info("http.malformed",
              {log::kv("request_id", request_id()), log::kv("peer", stream_->peer()),
               log::kv("status", status), log::kv("reason", reason)});
    return end;
}

void connection::refuse(const request_head* head, std::uint16_t status,
                        const char* reason) noexcept {
    if (request_id().empty()) {  // no head could be read
        choose_request_id({});
    }
    base::byte_buffer body(server_.loop().chunks(), exchange::head_gap);
    extra_header extra[exchange::refuse_headers_max];
    std::size_t extra_count = 0;
    const std::string_view type =
        server_.handler().refuse(head, status, reason, request_id(), body, extra, extra_count);
    send_reply(status, type, std::move(body), extra, extra_count);
}

void connection::send_reply(std::uint16_t status, std::string_view content_type,
                            base::byte_buffer body, const extra_header* extra,
                            std::size_t extra_count, base::chunk* rest) noexcept {
    PILLION_DEBUG_ASSERT(rest == nullptr || !head_only_);
    count_response(status);
    // What was pipelined and has been read is answered, too.
    close_ = close_ || (server_.draining() && input_.size() == 0);
    PILLION_ASSERT(extra_count <= exchange::extra_headers_max);
    response_spec spec;
    spec.status = status;
    spec.minor_version = minor_version_;
    spec.keep_alive = !close_;
    spec.head_request = head_only_;
    spec.content_type = content_type;
    const std::int64_t now_s = server_.loop().unix_ms() / 1000;
    spec.date = server_.dates_.at(now_s);
    if (status == 200 && content_type == json_media_type) {
        spec.usual = server_.usual_.at(now_s, spec.date);
    }
    spec.request_id = request_id();
    spec.extra = {extra, extra_count};
    spec.rest_bytes = rest == nullptr ? 0 : rest->size();
    write_head(body, spec);
    send(std::move(body));
    if (rest != nullptr) {
        server_.counts_.bytes_out += rest->size();
        stream_->write(rest);
    }
}

void connection::respond(std::uint16_t status, std::string_view content_type,
                         base::byte_buffer body, const extra_header* extra, std::size_t extra_count,
                         base::chunk* rest) noexcept {
    PILLION_ASSERT(open_ && !streaming_);
    send_reply(status, content_type, std::move(body), extra, extra_count, rest);
    finish();
}

// False when the peer reads too slowly.
bool connection::send(base::byte_buffer message) noexcept {
    server_.counts_.bytes_out += message.size();
    return stream_->write(message.take());
}

void connection::count_response(std::uint16_t status) noexcept {
    PILLION_ASSERT(status >= 100 && status <= 599);
    ++server_.counts_.responses[status / 100U - 1];
}

void connection::abort() noexcept {
    PILLION_ASSERT(open_);
    cut();
    finish();
}

void connection::abandon() noexcept {
    PILLION_ASSERT(open_ && eof_);
    close_ = true;
    finish();
}

void connection::finish() noexcept {
    open_ = false;
    wake();
}

std::string_view connection::body_view() const noexcept {
    if (body_ == nullptr) {
        return {};
    }
    return {body_->data() + body_->begin, body_->size()};
}

base::chunk* connection::take_body() noexcept {
    if (body_ != nullptr && body_->size() == 0) {
        return nullptr;
    }
    return std::exchange(body_, nullptr);
}

}  // namespace pillion::http
