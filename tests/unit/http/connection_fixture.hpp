// What the tests of connections share: a clock that moves when told, a stream whose other end is
// the test, a handler that answers now or later, and a reader of the replies.
//
// Received bytes are handed over in blocks of exactly their size and destroyed when the call
// returns, so that AddressSanitizer sees whoever keeps a view of them.
#pragma once

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/limits.hpp"
#include "coro/frame_pool.hpp"
#include "coro/ready_queue.hpp"
#include "http/exchange.hpp"
#include "http/server.hpp"
#include "io/reactor.hpp"
#include "io/stream.hpp"

namespace pillion::http::testing {

inline constexpr std::string_view get_a = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";

// A backend without descriptors: waiting is what makes its clock go.
class idle_backend final : public io::backend {
 public:
    const char* name() const noexcept override { return "idle"; }
    std::int64_t now_ns() const noexcept override { return now_ns_; }
    std::int64_t unix_ms() const noexcept override { return 784'111'777'000 + now_ns_ / 1'000'000; }
    void accept(io::op&, int) noexcept override { unexpected(); }
    void receive(io::op&, int) noexcept override { unexpected(); }
    void await_hangup(io::op&, int) noexcept override { unexpected(); }
    void send(io::transfer_op&, int, const iovec*, std::size_t) noexcept override { unexpected(); }
    void read(io::transfer_op&, int, char*, std::size_t) noexcept override { unexpected(); }
    void write(io::transfer_op&, int, const char*, std::size_t) noexcept override { unexpected(); }
    void connect(io::transfer_op&, int, const void*, std::size_t) noexcept override {
        unexpected();
    }
    void cancel(io::op&) noexcept override { unexpected(); }
    void shutdown(int, int) noexcept override { unexpected(); }
    std::size_t unread_bytes(int) noexcept override { return 0; }
    // As if the thread had been held up.
    void advance_ms(std::int64_t ms) { now_ns_ += ms * 1'000'000; }
    void close(int) noexcept override { unexpected(); }
    void turn(std::int64_t wait_ns, std::vector<io::completion>&) noexcept override {
        now_ns_ += wait_ns > 0 ? wait_ns : 0;
    }
    void give_back(std::uint32_t) noexcept override { unexpected(); }
    void wake() noexcept override {}
    std::size_t in_flight() const noexcept override { return 0; }
    std::size_t buffers_lent() const noexcept override { return 0; }
    std::uint64_t system_calls() const noexcept override { return 0; }

 private:
    static void unexpected() noexcept { PILLION_ASSERT(false && "no kernel here"); }
    std::int64_t now_ns_ = 1'000'000'000;
};

class fake_stream;

// The test's end of a connection. Outlives the stream.
struct wire {
    // How the stream behaves.
    bool hold = false;            // the peer does not read: output waits for read_some()
    bool close_at_once = false;   // on_closed() comes from inside close()
    bool resume_at_once = false;  // waiting data comes from inside resume_reading()
    bool keep_output = true;      // false: only count (the allocation test)
    bool unread = false;          // the system holds bytes that were not delivered yet
    // What happened.
    fake_stream* stream = nullptr;  // nullptr once destroyed
    std::string sent;
    std::size_t bytes_sent = 0;
    std::size_t writes = 0;
    bool paused = false;
    bool half_closed = false;  // FIN went out
    bool closing = false;
    bool closed = false;  // on_closed() was delivered

    // Delivers bytes; while reading is paused they wait.
    void deliver(std::string_view bytes);
    void eof();
    // Delivers bytes of the caller's block (with room for the padding behind): no copy, no heap.
    void lend_in_place(char* data, std::size_t bytes);
    void reset();
    // The peer reads up to `bytes` of what waits.
    void read_some(std::size_t bytes);
};

class fake_stream final : public io::stream {
 public:
    explicit fake_stream(wire& w) : wire_(w) { w.stream = this; }
    ~fake_stream() override {
        PILLION_ASSERT(wire_.closed || reader_ == nullptr);
        wire_.stream = nullptr;
    }

    void start(io::stream_reader& reader) noexcept override { reader_ = &reader; }
    void pause_reading() noexcept override { wire_.paused = true; }
    void resume_reading() noexcept override {
        wire_.paused = false;
        if (wire_.resume_at_once) {
            deliver_waiting();
        }
    }
    bool write(base::chunk* bytes) noexcept override {
        const bool below = put({bytes->data() + bytes->begin, bytes->size()});
        base::chunk_pool::give(bytes);
        return below;
    }
    bool write_static(std::string_view bytes) noexcept override { return put(bytes); }
    std::size_t queued_bytes() const noexcept override { return queue_.size(); }
    bool congested() const noexcept override { return over_high_; }
    void shutdown_write() noexcept override {
        shut_ = true;
        settle();
    }
    void close(bool flush) noexcept override {
        if (!flush) {
            queue_.clear();
        }
        wire_.closing = true;
        if (wire_.close_at_once) {
            settle();
        }
    }
    bool close_if_quiet() noexcept override { return !wire_.unread && stream::close_if_quiet(); }
    std::string_view peer() const noexcept override { return "test:1"; }
    std::string_view peer_address() const noexcept override { return "test"; }

    void deliver_waiting() {
        while (!wire_.paused && !wire_.closing && !waiting_.empty()) {
            const std::string bytes = std::exchange(waiting_, {});
            lend(bytes);
        }
        if (eof_waits_ && !wire_.paused && !wire_.closing && waiting_.empty()) {
            eof_waits_ = false;
            reader_->on_eof();
        }
    }
    // What the loop would do at the end of a turn.
    void turn() {
        deliver_waiting();
        settle();
    }

 private:
    friend struct wire;

    void lend(std::string_view bytes) {
        char* block = static_cast<char*>(std::malloc(bytes.size() + limits::padding));
        std::memcpy(block, bytes.data(), bytes.size());
        std::memset(block + bytes.size(), '\n', limits::padding);
        reader_->on_data(block, bytes.size());
        std::memset(block, '#', bytes.size() + limits::padding);
        std::free(block);
    }
    bool put(std::string_view bytes) {
        PILLION_ASSERT(!shut_);
        ++wire_.writes;
        if (wire_.closing || wire_.closed) {
            return true;
        }
        if (!wire_.hold) {
            wire_.bytes_sent += bytes.size();
            if (wire_.keep_output) {
                wire_.sent += bytes;
            }
            return true;
        }
        queue_ += bytes;
        if (queue_.size() > limits::out_queue_bytes_hard) {
            close(false);
        }
        over_high_ = over_high_ || queue_.size() > limits::out_queue_bytes_high;
        return queue_.size() <= limits::out_queue_bytes_high;
    }
    void settle() {
        if (!queue_.empty()) {
            return;
        }
        wire_.half_closed = wire_.half_closed || shut_;
        if (wire_.closing && !wire_.closed) {
            wire_.closed = true;
            reader_->on_closed(errno_);
        }
    }

    wire& wire_;
    io::stream_reader* reader_ = nullptr;
    std::string queue_;
    std::string waiting_;
    bool eof_waits_ = false;
    bool shut_ = false;
    bool over_high_ = false;
    int errno_ = 0;
};

inline void wire::deliver(std::string_view bytes) {
    if (stream == nullptr || closing || bytes.empty()) {
        return;
    }
    stream->waiting_ += bytes;
    stream->deliver_waiting();
}
inline void wire::lend_in_place(char* data, std::size_t bytes) {
    stream->reader_->on_data(data, bytes);
}
inline void wire::eof() {
    if (stream != nullptr && !closing) {
        stream->eof_waits_ = true;
        stream->deliver_waiting();
    }
}
inline void wire::reset() {
    if (stream != nullptr && !closed) {
        stream->errno_ = 104;
        stream->close(false);
        stream->settle();
    }
}
inline void wire::read_some(std::size_t bytes) {
    if (stream == nullptr) {
        return;
    }
    std::string& queue = stream->queue_;
    const std::size_t n = bytes < queue.size() ? bytes : queue.size();
    sent += queue.substr(0, n);
    bytes_sent += n;
    queue.erase(0, n);
    if (stream->over_high_ && queue.size() < limits::out_queue_bytes_low) {
        stream->over_high_ = false;
        stream->reader_->on_drained();
    }
    stream->settle();
}

// Answers requests with "METHOD target body", at once or when the test says so.
class test_handler : public request_handler, public exchange_listener {
 public:
    virtual ~test_handler() = default;

    bool later = false;  // keep the exchange for answer()
    bool listens = true;
    std::size_t body_bytes_max = limits::body_bytes_max;
    std::uint16_t refuse_all = 0;        // what admit() answers; "/404" is refused anyway
    bool undecided = false;              // admit() waits…
    std::vector<const exchange*> asked;  // …for these
    int admissions = 0;
    // What happened.
    exchange* pending = nullptr;
    std::string pending_text;
    std::vector<std::string> handled;
    std::string trace;  // of the last request
    int open = 0;
    std::uint16_t unwelcome = 0;  // what connections are refused with
    std::string address;          // of the last one
    int peer_eofs = 0, drains = 0, gones = 0;

    admission admit(const exchange& request) noexcept override {
        ++admissions;
        if (undecided) {
            asked.push_back(&request);
            return {0, body_bytes_max, true};
        }
        const bool unknown = request.head().path() == "/404";
        return {unknown ? std::uint16_t{404} : refuse_all, body_bytes_max, false};
    }
    void handle(exchange& request) noexcept override {
        std::string text(request.head().method_text());
        text += " ";
        text += request.head().target();
        text += " ";
        text += request.body();
        handled.push_back(text);
        trace = request.head().get(header_id::traceparent);
        if (later) {
            pending = &request;
            pending_text = text;
            if (listens) {
                request.listen(this);
            }
            return;
        }
        reply(request, text);
    }
    std::string_view refuse(const request_head*, std::uint16_t status, std::string_view reason,
                            std::string_view, base::byte_buffer& body, extra_header*,
                            std::size_t&) noexcept override {
        body.append(std::to_string(status));
        body.append(" ");
        body.append(reason);
        return "text/plain";
    }
    std::uint16_t on_open(exchange& first) noexcept override {
        open += unwelcome == 0 ? 1 : 0;
        address = first.peer_address();
        return unwelcome;
    }
    void on_close() noexcept override { --open; }
    void on_peer_eof() noexcept override { ++peer_eofs; }
    void on_drained() noexcept override { ++drains; }
    void on_gone() noexcept override {
        ++gones;
        pending = nullptr;
    }

    static void reply(exchange& to, std::string_view text) {
        base::byte_buffer body(to.loop().chunks(), exchange::head_gap);
        body.append(text);
        to.respond(200, "text/plain", std::move(body));
    }
    // Decides on all that were asked about.
    void decide() {
        undecided = false;
        for (const exchange* one : std::exchange(asked, {})) {
            one->admit_again();
        }
    }
    void answer() {
        exchange* to = std::exchange(pending, nullptr);
        if (to != nullptr) {
            reply(*to, pending_text);
        }
    }
};

// One reply as a client reads it.
struct reply {
    int status = 0;
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body;
    bool complete = false;
};

// Splits what was sent into replies. `heads_only`: they answer HEAD.
inline std::vector<reply> read_replies(std::string_view sent, bool heads_only = false) {
    std::vector<reply> all;
    while (!sent.empty()) {
        reply r;
        const std::size_t end = sent.find("\r\n\r\n");
        if (end == std::string_view::npos) {
            all.push_back(r);
            break;
        }
        std::string_view head = sent.substr(0, end + 2);
        sent.remove_prefix(end + 4);
        r.status = std::atoi(std::string(head.substr(9, 3)).c_str());
        head.remove_prefix(head.find("\r\n") + 2);
        while (!head.empty()) {
            const std::size_t eol = head.find("\r\n");
            const std::size_t colon = head.find(": ");
            std::string name(head.substr(0, colon));
            for (char& c : name) {
                c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
            }
            r.headers[name] = std::string(head.substr(colon + 2, eol - colon - 2));
            head.remove_prefix(eol + 2);
        }
        if (heads_only || r.status == 100 || r.status == 204 || r.status == 304) {
            r.complete = true;
        } else if (r.headers.count("content-length") > 0) {
            const auto bytes = static_cast<std::size_t>(std::stoul(r.headers["content-length"]));
            r.complete = sent.size() >= bytes;
            r.body = std::string(sent.substr(0, bytes));
            sent.remove_prefix(r.body.size());
        } else if (r.headers.count("transfer-encoding") > 0) {
            while (!r.complete && !sent.empty()) {
                const std::size_t bytes = std::stoul(std::string(sent.substr(0, 8)), nullptr, 16);
                sent.remove_prefix(sent.find("\r\n") + 2);
                r.body += sent.substr(0, bytes);
                sent.remove_prefix(bytes + 2);
                r.complete = bytes == 0;
            }
        } else {
            r.body = std::string(sent);
            sent = {};
        }
        all.push_back(r);
    }
    return all;
}

// Timeouts and no rates, which have a test of their own.
inline server_limits unhurried() {
    server_limits made;
    made.head_rate_min = made.body_rate_min = 0;
    return made;
}

// A loop, a handler and a server. Whatever a test leaves behind is an assertion at its end.
class world {
 public:
    explicit world(const server_limits& limits = unhurried())
        : world(std::make_unique<idle_backend>(), limits) {}
    ~world() {
        server_.close_all();
        // A turn resumes a bounded number of coroutines.
        for (int i = 0; i < 8 || (i < 10'000 && !server_.idle()); ++i) {
            turn();
        }
        PILLION_ASSERT(server_.idle() && server_.connections() == 0 && handler.open == 0);
        PILLION_ASSERT(handler.pending == nullptr || !handler.listens);
        PILLION_ASSERT(loop.chunks().live() == 0);
        PILLION_ASSERT(loop.timers().armed() == 0);
        PILLION_ASSERT(coro::frame_pool::live() == 0);
        PILLION_ASSERT(coro::ready_queue::current().empty());
    }

    // Opens a connection; the wire lives with the world.
    wire& connect() {
        wires_.push_back(std::make_unique<wire>());
        server_.serve(std::make_unique<fake_stream>(*wires_.back()));
        return *wires_.back();
    }
    // One turn of the loop in which no time passes.
    void turn() {
        for (const auto& w : wires_) {
            if (w->stream != nullptr) {
                w->stream->turn();
            }
        }
        loop.run_one(0);
    }
    void turns(int n) {
        for (int i = 0; i < n; ++i) {
            turn();
        }
    }
    // The thread is held up in the middle of a turn.
    void hold_up_ms(std::int64_t ms) { clock_.advance_ms(ms); }
    // Lets `ms` of virtual time pass.
    void pass_ms(std::int64_t ms) {
        const std::int64_t until = loop.now_ns() + ms * 1'000'000;
        while (loop.now_ns() < until) {
            turn();
            loop.run_one(until - loop.now_ns());
        }
        turns(3);
    }

    test_handler handler;
    io::reactor loop;
    class server server_;

 private:
    world(std::unique_ptr<idle_backend> clock, const server_limits& limits)
        : loop(std::move(clock)),
          server_(loop, handler, limits),
          clock_(static_cast<idle_backend&>(loop.ops())) {}

    idle_backend& clock_;
    std::vector<std::unique_ptr<wire>> wires_;
};

}  // namespace pillion::http::testing
