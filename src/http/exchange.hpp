// exchange: one HTTP request and its response, as the layer above sees it.
//
// A connection has one exchange, reused for every request on it (one live request a connection;
// the next pipelined head is parsed when the reply is queued). The layer above implements
// request_handler: admit() decides on the head alone, before the body is read; handle() gets the
// whole request and must, now or later, finish the exchange with respond() or with
// begin_sse() … end_sse(), or abort() it. Nothing here knows what the bodies mean.
//
// Lifetime: the exchange is valid until it is finished or exchange_listener::on_gone() was called.
// head() is valid until handle() returns (the body has its own buffer and may be taken).
// Thread: the shard of its connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/byte_buffer.hpp"
#include "base/chunk.hpp"
#include "http/head.hpp"
#include "http/response_writer.hpp"

namespace pillion::io {
class reactor;
}

namespace pillion::http {

class connection;

using extra_header = header_line;

// What a listener wants to hear while its exchange is open.
class exchange_listener {
 public:
    // The peer closed its sending side: the request is complete, an answer may still be read.
    virtual void on_peer_eof() noexcept = 0;
    // Queued output fell below the low-water mark after send_event() had returned false.
    virtual void on_drained() noexcept = 0;
    // The connection is gone. The exchange must not be touched afterwards.
    virtual void on_gone() noexcept = 0;

 protected:
    ~exchange_listener() = default;
};

class exchange {
 public:
    // Room that a body's byte_buffer must leave in front (its head gap), so that the response head
    // or the event framing can be written before it without a copy.
    static constexpr std::size_t head_gap = 512;
    // The same for an event with an id of at most 32 bytes and no retry time.
    static constexpr std::size_t event_gap = 128;
    // Headers that one answer may add, and one made by request_handler::refuse().
    static constexpr std::size_t extra_headers_max = 16;
    static constexpr std::size_t refuse_headers_max = 5;

    exchange(const exchange&) = delete;
    exchange& operator=(const exchange&) = delete;

    const request_head& head() const noexcept;
    // The body; empty when there is none. `take_body` passes the chunk's ownership (data at
    // begin..end, at least limits::padding readable bytes behind), or nullptr when empty.
    std::string_view body() const noexcept;
    base::chunk* take_body() noexcept;

    // The peer, for logs and limits. Lives with the connection.
    std::string_view peer() const noexcept;
    std::string_view peer_address() const noexcept;
    // Who it is, where the system vouches for it (io/stream.hpp); lives as long.
    std::string_view peer_principal() const noexcept;
    // The value for X-Request-Id: the client's if it was acceptable (visible ASCII, at most
    // limits::request_id_bytes_max), else one made here. Sent on every response by the connection.
    // Valid until the exchange is finished or gone.
    std::string_view request_id() const noexcept;
    io::reactor& loop() noexcept;
    // A place for the layer above to remember something for the life of the connection (for
    // example the session last seen on it). Released with `free_tag` at the end.
    void* tag() const noexcept;
    void set_tag(void* tag, void (*free_tag)(void*) noexcept) noexcept;

    // Hears about the peer while the exchange is open; nullptr takes it back.
    void listen(exchange_listener* listener) noexcept;

    // Answers with a complete body (made with head_gap room in front, may be empty) and finishes
    // the exchange. `content_type` empty: none is sent. On HEAD the body is dropped.
    void respond(std::uint16_t status, std::string_view content_type, base::byte_buffer body,
                 const extra_header* extra = nullptr, std::size_t extra_count = 0) noexcept;
    // The same with the text of a chunk behind that body, which is not copied: for what many
    // answers share (chunk_pool::share()). Takes this owner's part of it. REQUIRES: not a HEAD
    // request.
    void respond(std::uint16_t status, std::string_view content_type, base::byte_buffer body,
                 base::chunk& rest, const extra_header* extra, std::size_t extra_count) noexcept;
    // Answers with no body.
    void respond_empty(std::uint16_t status, const extra_header* extra = nullptr,
                       std::size_t extra_count = 0) noexcept;

    // Starts a text/event-stream response. Keep-alive comments are sent by the connection.
    void begin_sse(const extra_header* extra = nullptr, std::size_t extra_count = 0) noexcept;
    bool streaming() const noexcept;
    // Sends one event at once (flushed with the turn). `data` holds one line of text and was made
    // with head_gap room in front. `id` and `retry_ms` (negative: none) are optional. Returns
    // false when the peer reads too slowly: wait for on_drained() before sending much more.
    bool send_event(base::byte_buffer data, std::string_view id = {},
                    std::int64_t retry_ms = -1) noexcept;
    // Sends one event of a type of its own; `data` is one line.
    bool send_named_event(std::string_view event, std::string_view data) noexcept;
    // Ends the stream properly and finishes the exchange.
    void end_sse() noexcept;

    // Closes the connection without an (or with half an) answer, whatever else waits to be sent.
    void abort() noexcept;
    // For a peer that has finished sending and wants no answer any more. What was written until
    // now still goes out, answers to earlier requests among it; then the connection is closed.
    void abandon() noexcept;
    // The connection is to be closed after this exchange.
    void close_after() noexcept;

    // After an admission that waits: admit() is called again, in a turn to come. Does nothing when
    // that is not waited for any more.
    void admit_again() const noexcept;

    // True until respond(), end_sse(), abort() or on_gone().
    bool open() const noexcept;

 private:
    friend class connection;
    explicit exchange(connection& owner) noexcept : owner_(owner) {}
    connection& owner_;
};

// What to do with a request whose head is known.
struct admission {
    // 0: read the body (at most body_bytes_max) and call handle(). Otherwise refuse with this
    // status now; the body is not read (lingering close when one is coming).
    std::uint16_t refuse_status = 0;
    std::size_t body_bytes_max = 0;
    // Not decided yet: nothing more is read until exchange::admit_again(), but for what is under
    // way already. The exchange lives as long as its connection, which frees the tag at its end.
    bool wait = false;
};

class request_handler {
 public:
    // Decides on the head. When it refuses, the connection calls refuse() for the body of the
    // answer. Must not keep anything, but for the exchange while it waits.
    virtual admission admit(const exchange& request) noexcept = 0;
    // The whole request is there.
    virtual void handle(exchange& request) noexcept = 0;
    // Renders the body of an answer that the HTTP layer (or admit) decided on: 400, 403, 404, 405,
    // 408, 411, 413, 414, 415, 417, 429, 431, 500, 501, 503, 505. `head` is nullptr when none could
    // be read; `reason` is a constant or empty. Returns the content type; extra headers, at most
    // exchange::refuse_headers_max, go to `extra`.
    virtual std::string_view refuse(const request_head* head, std::uint16_t status,
                                    std::string_view reason, std::string_view request_id,
                                    base::byte_buffer& body, extra_header* extra,
                                    std::size_t& extra_count) noexcept = 0;
    // A connection has been opened; `first` is its exchange, of which nothing but peer() and the
    // tag may be used yet. A status other than 0 refuses it: whatever comes is answered with that,
    // and it is closed. on_close() follows for those that were not refused.
    virtual std::uint16_t on_open(exchange& first) noexcept {
        static_cast<void>(first);
        return 0;
    }
    virtual void on_close() noexcept {}

 protected:
    ~request_handler() = default;
};

}  // namespace pillion::http
