// Plays the input side of a connection over the parsers: head, body, next head, as bytes come in
// pieces of any size. Keeps a transcript, so that two ways of cutting can be compared exactly.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "base/limits.hpp"
#include "http/chunked.hpp"
#include "http/head_memo.hpp"
#include "http/request_parser.hpp"

namespace pillion::http::testing {

class framing_driver {
 public:
    // For at most `bytes_max` bytes of input. The buffer is exactly as large as the parser's
    // contract asks for, so that the address sanitizer sees the first byte read too many.
    // `known`: asked about each head first, as a connection does, and told of those it lacks.
    explicit framing_driver(std::size_t bytes_max, head_memo* known = nullptr)
        : known_(known), memory_(new char[bytes_max + limits::padding]), capacity_(bytes_max) {}

    // Takes bytes; ignored after a refusal.
    void feed(std::string_view bytes) {
        if (size_ + bytes.size() > capacity_) {
            std::abort();
        }
        std::memcpy(memory_.get() + size_, bytes.data(), bytes.size());
        size_ += bytes.size();
        // What lies behind the input must never count: here it would end any head and any line.
        for (std::size_t i = 0; i < limits::padding; ++i) {
            memory_[size_ + i] = "\r\n"[i % 2];
        }
        while (status == 0 && step()) {
        }
    }

    int status = 0;
    int requests = 0;
    int recalled = 0;  // heads that were known
    std::string transcript;

 private:
    enum class part { head, length_body, chunked_body };

    // One piece of work; false when more bytes are needed or the connection is refused.
    bool step() {
        switch (part_) {
            case part::head:
                return read_head();
            case part::length_body:
                return read_length_body();
            default:
                return read_chunked_body();
        }
    }

    char* at() { return memory_.get() + begin_; }
    std::size_t left() const { return size_ - begin_; }

    bool refuse(int with) {
        status = with;
        return false;
    }

    bool read_head() {
        if (known_ != nullptr) {
            if (const request_head* const head = known_->find(at(), left())) {
                ++recalled;
                return take(*head);
            }
        }
        request_head head;
        const parse_outcome outcome = parse_request_head(at(), left(), scanned_, head);
        if (outcome.state == parse_state::failed) {
            return refuse(outcome.status);
        }
        if (outcome.state == parse_state::need_more) {
            scanned_ = left();
            return false;
        }
        if (known_ != nullptr) {
            known_->add(head);
        }
        return take(head);
    }

    bool take(const request_head& head) {
        note(head);
        scanned_ = 0;
        begin_ += head.bytes;
        if (head.chunked) {
            decoder_ = chunk_decoder(limits::body_bytes_max);
            part_ = part::chunked_body;
        } else {
            if (head.content_length > limits::body_bytes_max) {
                return refuse(413);
            }
            body_left_ = head.content_length;
            part_ = part::length_body;
        }
        return true;
    }

    void note(const request_head& head) {
        transcript += std::string(head.method_text()) + ' ' + std::string(head.target()) + '|' +
                      std::string(head.path()) + '|' + std::string(head.query()) + '|' +
                      std::string(head.host()) + '|' + std::to_string(head.minor_version) +
                      (head.keep_alive ? 'k' : 'c') + (head.expect_continue ? 'e' : '-') +
                      std::to_string(head.content_length) + '\n';
        for (const header h : head.headers()) {
            transcript += std::string(h.name) + '=' + std::string(h.value) + '\n';
        }
    }

    bool read_length_body() {
        const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(body_left_, left()));
        transcript.append(at(), now);
        begin_ += now;
        body_left_ -= now;
        if (body_left_ > 0) {
            return false;
        }
        return finish();
    }

    bool read_chunked_body() {
        if (left() == 0) {
            return false;
        }
        const chunk_outcome outcome = decoder_.feed(at(), left(), at());
        transcript.append(at(), outcome.produced);
        begin_ += outcome.consumed;
        if (outcome.state == parse_state::failed) {
            return refuse(outcome.status);
        }
        return outcome.state == parse_state::complete && finish();
    }

    bool finish() {
        ++requests;
        transcript += "\n--\n";
        part_ = part::head;
        return left() > 0;
    }

    head_memo* known_;
    std::unique_ptr<char[]> memory_;
    std::size_t capacity_;
    std::size_t size_ = 0;
    std::size_t begin_ = 0;
    std::size_t scanned_ = 0;
    std::uint64_t body_left_ = 0;
    chunk_decoder decoder_{0};
    part part_ = part::head;
};

}  // namespace pillion::http::testing
