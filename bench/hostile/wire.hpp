// wire: plain sockets, request texts and the framing of answers, shared by everything that
// bench/hostile throws at a server. No byte of it comes from the server's own sources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hostile {

// CLOCK_MONOTONIC in nanoseconds.
std::int64_t now_ns();
// Processor time of the calling thread in nanoseconds.
std::int64_t thread_cpu_ns();

[[noreturn]] void fail(const char* what);

struct dial_options {
    bool small = false;   // a small window and short segments, as of a slow reader far away
    bool patient = true;  // failing to connect ends the program; else 50 ms are tried
    int host = 1;         // from 127.0.0.<host>
};
// A connected, non-blocking socket, or -1.
int dial(int port, const dial_options& how = {});
// Sends all of `text`; false when the peer has gone or does not take it.
bool send_all(int fd, std::string_view text);
// Sends, and reads until `until` has come (for setting up; blocks at most 10 s).
std::string ask(int fd, const std::string& text, std::string_view until);

// POST /mcp with `body`; `headers` end with CRLF each.
std::string post(std::string_view headers, std::string_view body);
// A tools/call of 2026-07-28.
std::string call(std::string_view tool, std::string_view arguments, std::string_view headers = {});
// A subscriptions/listen of 2026-07-28 for `uri`, and the text that its first event ends with.
std::string listen(std::string_view uri);
inline constexpr std::string_view listen_granted = "subscriptionId\":1}}}\n";
// Opens a session (2025-06-18) on `fd` and returns its id.
std::string open_session(int fd);
// The GET that opens the stream of a session.
std::string get_stream(std::string_view session);

// Cuts what a connection receives into answers with a Content-Length.
class answer_reader {
 public:
    void add(const char* data, std::size_t bytes) { text_.append(data, bytes); }
    // The next whole answer; false when it is not all there. Views are good until the next call.
    bool next();
    int status() const { return status_; }
    std::string_view head() const { return std::string_view(text_).substr(0, head_bytes_); }
    std::string_view body() const {
        return std::string_view(text_).substr(head_bytes_, taken_ - head_bytes_);
    }
    bool closes() const { return closes_; }
    void clear() { *this = {}; }

 private:
    std::string text_;
    std::size_t taken_ = 0;  // of the answer that next() returned
    std::size_t head_bytes_ = 0;
    int status_ = 0;
    bool closes_ = false;
};

}  // namespace hostile
