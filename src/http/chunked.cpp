#include "http/chunked.hpp"

#include <algorithm>
#include <cstring>

#include "base/ascii.hpp"
#include "base/assert.hpp"

namespace pillion::http {

namespace {

constexpr std::uint8_t size_digits_max = 16;  // 64 bits: cannot overflow

}  // namespace

// chunk-size = 1*HEXDIG, then CRLF or an extension.
const char* chunk_decoder::take_size(char c) noexcept {
    const int digit = base::hex_digit(c);
    if (digit >= 0) {
        if (digits_ == size_digits_max) {
            return fail(400, "chunk size too long");
        }
        ++digits_;
        chunk_ = (chunk_ << 4) | static_cast<std::uint64_t>(digit);
        step_ = step::size;
        return nullptr;
    }
    if (digits_ == 0) {
        return fail(400, "invalid chunk size");
    }
    switch (c) {
        case '\r':
            step_ = step::size_lf;
            return nullptr;
        case ';':
            step_ = step::extension;
            break;
        case ' ':
        case '\t':
            step_ = step::extension_blank;
            break;
        default:
            return fail(400, "invalid chunk size");
    }
    return take_extension(c);
}

// chunk-ext = *( BWS ";" BWS name [ BWS "=" BWS value ] ): skipped, but bounded and free of
// controls. A blank that no ';' follows is outside the grammar.
const char* chunk_decoder::take_extension(char c) noexcept {
    if (step_ == step::extension_blank && !base::is_ows(c)) {
        if (c != ';') {
            return fail(400, "invalid chunk size");
        }
        step_ = step::extension;
    }
    if (c == '\r') {
        step_ = step::size_lf;
        return nullptr;
    }
    if (base::is_control(c)) {
        return fail(400, "control character in a chunk extension");
    }
    ++extension_bytes_;
    ++extensions_bytes_;
    if (extension_bytes_ > chunk_extension_bytes_max ||
        extensions_bytes_ > chunk_extensions_bytes_max) {
        return fail(400, "chunk extension too long");
    }
    return nullptr;
}

const char* chunk_decoder::end_size_line(char c) noexcept {
    if (c != '\n') {
        return fail(400, "bare CR in a chunk size line");
    }
    if (chunk_ > left_) {
        return fail(413, "body too large");
    }
    left_ -= chunk_;
    step_ = chunk_ == 0 ? step::trailer_first : step::data;
    digits_ = 0;
    extension_bytes_ = 0;
    return nullptr;
}

// trailer-section = *( field-line CRLF ), by the rules of the head (see fields.cpp).
const char* chunk_decoder::take_trailer(char c) noexcept {
    if (step_ == step::trailer_first && c == '\r') {
        step_ = step::last_lf;
        return nullptr;
    }
    if (++trailer_bytes_ > trailer_bytes_max) {
        return fail(431, "trailers too large");
    }
    switch (step_) {
        case step::trailer_first:
        case step::trailer_name:
            if (c == ':' && step_ == step::trailer_name) {
                step_ = step::trailer_value;
            } else if (base::is_token_char(c)) {
                step_ = step::trailer_name;
            } else {
                return fail(400, "invalid trailer name");
            }
            return nullptr;
        case step::trailer_value:
            if (c == '\r') {
                step_ = step::trailer_lf;
            } else if (base::is_control(c)) {
                return fail(400, "control character in a trailer");
            }
            return nullptr;
        default:
            if (c != '\n') {
                return fail(400, "bare CR in a trailer");
            }
            step_ = step::trailer_first;
            return nullptr;
    }
}

const char* chunk_decoder::take(char c) noexcept {
    switch (step_) {
        case step::size_first:
        case step::size:
            return take_size(c);
        case step::extension_blank:
        case step::extension:
            return take_extension(c);
        case step::size_lf:
            return end_size_line(c);
        case step::data_cr:
            step_ = step::data_lf;
            return c == '\r' ? nullptr : fail(400, "chunk data without its CRLF");
        case step::data_lf:
            step_ = step::size_first;
            return c == '\n' ? nullptr : fail(400, "chunk data without its CRLF");
        case step::last_lf:
            step_ = step::finished;
            return c == '\n' ? nullptr : fail(400, "bare CR in a trailer");
        default:
            return take_trailer(c);
    }
}

chunk_outcome chunk_decoder::feed(const char* in, std::size_t size, char* out) noexcept {
    PILLION_ASSERT(step_ != step::finished);
    chunk_outcome outcome;
    while (outcome.consumed < size) {
        if (step_ == step::data) {
            const auto take_now =
                static_cast<std::size_t>(std::min<std::uint64_t>(chunk_, size - outcome.consumed));
            std::memmove(out + outcome.produced, in + outcome.consumed, take_now);
            outcome.consumed += take_now;
            outcome.produced += take_now;
            chunk_ -= take_now;
            step_ = chunk_ == 0 ? step::data_cr : step::data;
            continue;
        }
        const char* fault = take(in[outcome.consumed]);
        ++outcome.consumed;
        if (fault != nullptr) {
            outcome.state = parse_state::failed;
            outcome.status = status_;
            outcome.reason = fault;
            step_ = step::finished;
            return outcome;
        }
        if (step_ == step::finished) {
            outcome.state = parse_state::complete;
            return outcome;
        }
    }
    return outcome;
}

}  // namespace pillion::http
