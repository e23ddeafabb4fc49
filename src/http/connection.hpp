// connection: one client connection: requests in, replies out, one at a time.
//
// A coroutine serves it: read a head, ask for admission, read the body, run the handler, wait for
// the reply, again; then close. Only received data resumes it on the spot, because the bytes are
// lent; every other event (end of input, timeout, a reply that comes later, the end) sets a flag
// and wakes it through the ready queue, so that nobody who calls an exchange gets called back in
// the middle of it. What a step does is in plain functions: the coroutine only waits.
//
// Owns the stream, the unread input, the body until the handler takes it, and the one exchange.
// Made by server::serve(), deleted by its own coroutine in a turn after stream::on_closed().
// Thread: its shard.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "pillion/task.hpp"

#include "base/byte_buffer.hpp"
#include "base/intrusive_list.hpp"
#include "base/limits.hpp"
#include "coro/ready_queue.hpp"
#include "coro/scope.hpp"
#include "http/chunked.hpp"
#include "http/connection_input.hpp"
#include "http/exchange.hpp"
#include "http/head.hpp"
#include "io/stream.hpp"
#include "io/timer_wheel.hpp"

namespace pillion::http {

class server;

class connection final : public io::stream_reader, public base::list_hook<> {
 public:
    connection(server& owner, std::unique_ptr<io::stream> stream) noexcept;
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection();

    // Starts reading, then the coroutine. `refusal` other than 0: answers whatever comes with that
    // status and closes.
    void start(std::uint16_t refusal) noexcept;
    // The server drains: closes when idle and quiet, else after the answer.
    void drain() noexcept;
    // Closes now, answer or not.
    void cut() noexcept;
    bool rejected() const noexcept { return refusal_ != 0; }
    exchange& first_exchange() noexcept { return exchange_; }

    void on_data(char* data, std::size_t bytes) noexcept override;
    void on_eof() noexcept override;
    void on_drained() noexcept override;
    void on_closed(int os_errno) noexcept override;

 private:
    friend class exchange;

    enum class phase : std::uint8_t { head, body, exchange, discard, closing };
    // What the coroutine does after a step: wait for an event and repeat it, go on to the next
    // step, start over with the next request, or close.
    enum class step : std::uint8_t { wait, proceed, next_request, close };
    // What the deadline is for. `quiet` is idle while the server drains, `stream` is the interval
    // of keep-alive comments.
    enum class timing : std::uint8_t { none, idle, quiet, head, body, stream, discard, flush };
    // How to close: after the output; the same, but reading on until the peer has seen it; at once.
    enum class ending : std::uint8_t { flush, linger, cut };

    // Suspends until something happened. A `final` one lasts until the stream is closed and is
    // always left through the ready queue.
    class event_awaiter {
     public:
        event_awaiter(connection& of, bool final) noexcept : of_(of), final_(final) {}
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> self) noexcept { of_.suspended(self, final_); }
        void await_resume() const noexcept { of_.waiting_ = nullptr; }

     private:
        connection& of_;
        bool final_;
    };

    // The coroutine and its steps (connection.cpp).
    coro::spawned serve(coro::scope& of);
    event_awaiter event() noexcept { return event_awaiter(*this, false); }
    event_awaiter closed() noexcept { return event_awaiter(*this, true); }
    void suspended(std::coroutine_handle<> self, bool final) noexcept;
    void wake() noexcept;
    step advance() noexcept;
    step reject() noexcept;
    step read_head() noexcept;
    step decide() noexcept;
    void admit_again() noexcept;
    step answers_unread() noexcept;
    step head_incomplete() noexcept;
    step end_idle() noexcept;
    bool ends_quietly() noexcept;
    step quiet_in_drain() noexcept;
    void run_handler() noexcept;
    bool exchange_pending() noexcept;
    step end_exchange() noexcept;
    void begin_close() noexcept;
    bool discarding() const noexcept;
    void close_stream() noexcept;

    // Bodies (connection_body.cpp).
    step begin_body(std::size_t bytes_max) noexcept;
    step read_body() noexcept;
    step read_sized() noexcept;
    step read_chunked() noexcept;
    step end_body() noexcept;
    step body_incomplete() noexcept;
    void keep_head() noexcept;
    void release_head() noexcept;
    bool grow_body(std::size_t more) noexcept;

    // Time (connection_body.cpp).
    void set_deadline(timing what, std::int64_t ms) noexcept;
    void set_deadline_at(timing what, std::int64_t due_ns) noexcept;
    void clear_deadline() noexcept;
    void watch_rate(timing what, std::int64_t timeout_ms) noexcept;
    bool comes_too_slowly() noexcept;
    void look_at_reader() noexcept;
    static void on_timer(io::timer& self, void* owner) noexcept;
    void deadline_passed() noexcept;

    // Replies (connection_reply.cpp, connection_sse.cpp).
    void learn_request() noexcept;
    void forget_request() noexcept;
    std::string_view request_id() const noexcept;
    void choose_request_id(std::string_view wanted) noexcept;
    step refuse_request(std::uint16_t status, const char* reason) noexcept;
    step refuse_and_close(const request_head* head, std::uint16_t status,
                          const char* reason) noexcept;
    step refuse_malformed(const request_head* head, std::uint16_t status,
                          const char* reason) noexcept;
    void refuse(const request_head* head, std::uint16_t status, const char* reason) noexcept;
    void send_reply(std::uint16_t status, std::string_view content_type, base::byte_buffer body,
                    const extra_header* extra, std::size_t extra_count,
                    base::chunk* rest = nullptr) noexcept;
    void respond(std::uint16_t status, std::string_view content_type, base::byte_buffer body,
                 const extra_header* extra, std::size_t extra_count,
                 base::chunk* rest = nullptr) noexcept;
    void begin_sse(const extra_header* extra, std::size_t extra_count) noexcept;
    bool send_named_event(std::string_view event, std::string_view data) noexcept;
    bool send_event(base::byte_buffer data, std::string_view id, std::int64_t retry_ms) noexcept;
    bool write_event(base::byte_buffer event) noexcept;
    void end_sse() noexcept;
    bool send(base::byte_buffer message) noexcept;
    void count_response(std::uint16_t status) noexcept;
    void keep_stream_alive() noexcept;
    void abort() noexcept;
    void abandon() noexcept;
    void finish() noexcept;
    std::string_view body_view() const noexcept;
    base::chunk* take_body() noexcept;

    server& server_;
    std::unique_ptr<io::stream> stream_;
    exchange exchange_{*this};
    exchange_listener* listener_ = nullptr;
    void* tag_ = nullptr;
    void (*free_tag_)(void*) noexcept = nullptr;

    coro::resume_node resume_;

    connection_input input_;
    std::uint32_t head_scanned_ = 0;  // of an incomplete head
    std::uint32_t discarded_ = 0;
    base::chunk* body_ = nullptr;
    chunk_decoder chunks_{0};

    io::timer timer_{&connection::on_timer, this};
    std::int64_t deadline_ns_ = 0;
    std::int64_t timer_due_ns_ = 0;
    std::size_t queued_before_ = 0;  // output that waited when the deadline was last looked at
    std::int64_t since_ns_ = 0;  // head, body: its first byte; stream: nothing read since (or 0)

    phase phase_ = phase::head;
    timing timing_ = timing::none;
    ending ending_ = ending::flush;
    // About the peer and the connection.
    std::uint16_t refusal_ = 0;  // of the whole connection
    bool eof_ = false;
    bool closed_ = false;
    bool paused_ = false;
    bool held_back_ = false;  // its next request waits until it has read more of the answers
    bool timed_out_ = false;
    bool came_late_ = false;  // when the server was draining already
    bool undecided_ = false;  // admit() has not decided yet…
    bool ask_again_ = false;  // …and is to be called again
    // About the current request.
    bool open_ = false;         // the handler owes an answer
    bool streaming_ = false;    // begin_sse() was called…
    bool chunked_out_ = false;  // …and the stream is framed in chunks
    bool eof_told_ = false;
    bool close_ = false;          // the connection ends with this answer…
    bool client_closes_ = false;  // …because the client asked for it
    bool head_only_ = false;      // HEAD
    std::uint8_t minor_version_ = 1;
    std::uint8_t request_id_bytes_ = 0;
    char request_id_[40];             // room for the usual ones
    base::chunk* long_id_ = nullptr;  // holds any other

    // The head of the request under way until its handler has returned: the server's, one that its
    // memo knows, or a copy of our own while the body is coming.
    request_head* head_ = nullptr;
    base::chunk* kept_head_ = nullptr;
};

}  // namespace pillion::http
