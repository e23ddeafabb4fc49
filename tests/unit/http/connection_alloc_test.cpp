// The promise of the hot path: a connection in its steady state never calls the heap, and a reply
// is one write. Counted below operator new, at malloc, over 10 000 requests.
#include <cstdint>

#include <gtest/gtest.h>

#include "connection_fixture.hpp"
#include "unit/counted_malloc.hpp"

namespace pillion::http::testing {
namespace {

// A stream that takes everything and remembers only how much.
class null_stream final : public io::stream {
 public:
    explicit null_stream(io::stream_reader*& reader) : reader_(reader) {}
    void start(io::stream_reader& reader) noexcept override { reader_ = &reader; }
    void pause_reading() noexcept override {}
    void resume_reading() noexcept override {}
    bool write(base::chunk* bytes) noexcept override {
        bytes_sent += bytes->size();
        ++writes;
        base::chunk_pool::give(bytes);
        return true;
    }
    bool write_static(std::string_view bytes) noexcept override {
        bytes_sent += bytes.size();
        ++writes;
        return true;
    }
    std::size_t queued_bytes() const noexcept override { return 0; }
    void shutdown_write() noexcept override {}
    void close(bool) noexcept override { reader_->on_closed(0); }
    std::string_view peer() const noexcept override { return "null"; }
    std::string_view peer_address() const noexcept override { return {}; }

    std::size_t bytes_sent = 0;
    std::size_t writes = 0;

 private:
    io::stream_reader*& reader_;
};

// Answers with 250 bytes, at once or from a later turn.
class quiet_handler final : public request_handler {
 public:
    virtual ~quiet_handler() = default;
    bool later = false;
    exchange* pending = nullptr;

    admission admit(const exchange&) noexcept override { return {0, limits::body_bytes_max}; }
    void handle(exchange& request) noexcept override {
        if (later) {
            pending = &request;
        } else {
            answer(request);
        }
    }
    std::string_view refuse(const request_head*, std::uint16_t, std::string_view, std::string_view,
                            base::byte_buffer&, extra_header*, std::size_t&) noexcept override {
        return {};
    }
    static void answer(exchange& request) noexcept {
        base::byte_buffer body(request.loop().chunks(), exchange::head_gap);
        std::memset(body.reserve(250), 'a', 250);
        body.commit(250);
        request.respond(200, "application/json", std::move(body));
    }
};

// How the bytes of the requests come.
enum class delivery { whole, cut_in_head, cut_in_body, pipelined };

void run(bool later, delivery how, bool chunked) {
    quiet_handler handler;
    handler.later = later;
    io::reactor loop(std::make_unique<idle_backend>());
    server s(loop, handler, server_limits());
    io::stream_reader* reader = nullptr;
    auto owned = std::make_unique<null_stream>(reader);
    null_stream& stream = *owned;
    s.serve(std::move(owned));
    const std::string head =
        "POST /mcp HTTP/1.1\r\nHost: localhost:8080\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nMcp-Method: tools/call\r\n";
    const std::string body(300, 'b');
    const std::string one =
        chunked ? head + "Transfer-Encoding: chunked\r\n\r\n12c\r\n" + body + "\r\n0\r\n\r\n"
                : head + "Content-Length: 300\r\n\r\n" + body;
    static char block[4096];
    const auto deliver = [&](std::string_view bytes) {
        std::memcpy(block, bytes.data(), bytes.size());
        reader->on_data(block, bytes.size());
    };
    const std::size_t cut = how == delivery::cut_in_head   ? 60
                            : how == delivery::cut_in_body ? one.size() - 100
                                                           : one.size();
    const std::string twice = one + one;
    const auto exchange_one = [&] {
        if (how == delivery::pipelined) {
            deliver(twice);
        } else {
            deliver(std::string_view(one).substr(0, cut));
            if (cut < one.size()) {
                deliver(std::string_view(one).substr(cut));
            }
        }
        for (int i = 0; i < 2 && later; ++i) {
            loop.run_one(1'000'000);
            if (handler.pending != nullptr) {
                quiet_handler::answer(*std::exchange(handler.pending, nullptr));
            }
        }
        loop.run_one(1'000'000);
    };
    for (int i = 0; i < 100; ++i) {
        exchange_one();
    }
    constexpr std::size_t count = 10'000;
    const std::size_t writes_before = stream.writes;
    const std::size_t mallocs_before = mallocs;
    for (std::size_t i = 0; i < count; ++i) {
        exchange_one();
    }
    EXPECT_EQ(mallocs - mallocs_before, 0U);
    EXPECT_EQ(stream.writes - writes_before, how == delivery::pipelined ? 2 * count : count);
    s.close_all();
    for (int i = 0; i < 4; ++i) {
        loop.run_one(0);
    }
    EXPECT_TRUE(s.idle());
    EXPECT_EQ(loop.chunks().live(), 0U);
}

TEST(connection_alloc, counter_counts) {
    const std::size_t before = mallocs;
    void* volatile block = std::malloc(100);
    std::free(block);
    EXPECT_GT(mallocs, before);
}

TEST(connection_alloc, steady_state_uses_no_heap_and_one_write_a_reply) {
    for (const bool later : {false, true}) {
        for (const delivery how :
             {delivery::whole, delivery::cut_in_head, delivery::cut_in_body, delivery::pipelined}) {
            for (const bool chunked : {false, true}) {
                SCOPED_TRACE(::testing::Message()
                             << "later " << later << ", delivery " << static_cast<int>(how)
                             << ", chunked " << chunked);
                run(later, how, chunked);
            }
        }
    }
}

}  // namespace
}  // namespace pillion::http::testing
