// The promise of the hot path: once warm, a tools/call of a plain tool allocates nothing on the
// heap, in either era. Counted at malloc, below operator new, over 10 000 calls.
#include <chrono>
#include <cstdlib>
#include <cstring>

#include <gtest/gtest.h>

#include "base/log.hpp"
#include "unit/counted_malloc.hpp"
#include "unit/http/connection_fixture.hpp"
#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {
namespace {

constexpr std::size_t calls = 10'000;

// Every budget in force, and none that is used up.
service_options budgeted() {
    service_options o;
    const bucket_rate wide = bucket_rate::of(1e9, 1'000'000);
    o.limit.address_rate = o.limit.handshake_rate = {wide, true};
    o.limit.address_in_flight = o.limit.address_connections = {100, true};
    return o;
}

void furnish_gated(server& s) {
    s.tool("gated")
        .input(object().required("text", string()))
        .rate(1e9, 1'000'000)
        .max_concurrent(1)
        .run([](context& ctx, json::view args) { return ctx.text(args["text"].str()); });
}

// An engine and its HTTP server on a stream that takes everything and remembers how much.
class bench {
 public:
    bench()
        : host("bench", "1"),
          loop(std::make_unique<http::testing::idle_backend>()),
          service((furnish(host, on), furnish_gated(host), frozen(host)), host, helpers, 1,
                  budgeted()),
          engine(service, loop, 0),
          transport(engine, http_options("/mcp", http::origin_policy("127.0.0.1", 8080, true, {}),
                                         true, true)),
          http(loop, transport, http::server_limits()) {
        log::set_level(log::level::warn);
        end.keep_output = true;
        http.serve(std::make_unique<http::testing::fake_stream>(end));
    }
    ~bench() {
        engine.drain();
        engine.stop_all();
        http.close_all();
        for (int i = 0; i < 8; ++i) {
            turn();
        }
        PILLION_ASSERT(http.idle() && engine.live_requests() == 0);
    }
    void turn() {
        if (end.stream != nullptr) {
            end.stream->turn();
        }
        loop.run_one(0);
    }
    // One request in a block that is lent, as the loop does it.
    void ask(std::string_view bytes) {
        std::memcpy(block_, bytes.data(), bytes.size());
        end.lend_in_place(block_, bytes.size());
        loop.run_one(0);
    }

    stage on;
    server host;
    sim::inline_offload helpers;
    io::reactor loop;
    mcp::service service;
    mcp::engine engine;
    http_transport transport;
    http::server http;
    http::testing::wire end;

 private:
    char block_[8192];
};

void calls_without_heap(const std::function<std::string(bench&)>& request_of, const char* era) {
    bench b;
    const std::string request = request_of(b);
    b.ask(request);
    b.turn();
    const auto first = read_replies(b.end.sent);
    ASSERT_FALSE(first.empty());
    ASSERT_EQ(first.back().status, 200);
    ASSERT_EQ(parsed(first.back().message()).text(), "hello") << first.back().body;
    b.end.keep_output = false;
    for (int i = 0; i < 200; ++i) {
        b.ask(request);
    }
    const std::size_t bytes_each = first.back().body.size();
    const std::size_t bytes_before = b.end.bytes_sent;
    const std::size_t mallocs_before = mallocs;
    const auto from = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < calls; ++i) {
        b.ask(request);
    }
    const auto took = std::chrono::steady_clock::now() - from;
    EXPECT_EQ(mallocs - mallocs_before, 0U);
    EXPECT_GT(b.end.bytes_sent - bytes_before, calls * bytes_each);
    ::testing::Test::RecordProperty(
        std::string("ns_per_call_") + era,
        std::to_string(std::chrono::nanoseconds(took).count() / static_cast<long>(calls)));
}

TEST(mcp_allocation, counter_counts) {
    const std::size_t before = mallocs;
    void* volatile block = std::malloc(100);
    std::free(block);
    EXPECT_GT(mallocs, before);
}

TEST(mcp_allocation, modern_calls_use_no_heap) {
    calls_without_heap([](bench&) { return modern_call("1", "echo", R"({"text":"hello"})"); },
                       "modern");
}

TEST(mcp_allocation, modern_calls_of_a_tool_with_a_rate_and_a_cap_use_no_heap) {
    calls_without_heap([](bench&) { return modern_call("1", "gated", R"({"text":"hello"})"); },
                       "gated");
}

TEST(mcp_allocation, legacy_calls_use_no_heap) {
    calls_without_heap(
        [](bench& b) {
            b.end.deliver(http_request("POST", {}, initialize_body("2025-11-25")));
            b.turn();
            const auto replies = read_replies(b.end.sent);
            b.end.sent.clear();
            return legacy_call(replies.at(0).headers.at("mcp-session-id"), "1", "echo",
                               R"({"text":"hello"})");
        },
        "legacy");
}

TEST(mcp_allocation, parts_of_a_request_in_two_pieces_use_no_heap) {
    bench b;
    const std::string request = modern_call("1", "echo", R"({"text":"hello"})");
    b.end.keep_output = false;
    const auto ask = [&](std::size_t cut) {
        b.ask(std::string_view(request).substr(0, cut));
        b.ask(std::string_view(request).substr(cut));
    };
    for (int i = 0; i < 3; ++i) {
        for (std::size_t cut = 1; cut < request.size(); ++cut) {
            ask(cut);
        }
    }
    const std::size_t before = mallocs;
    for (std::size_t cut = 1; cut < request.size(); ++cut) {
        ask(cut);
    }
    EXPECT_EQ(mallocs - before, 0U);
}

}  // namespace
}  // namespace pillion::mcp::testing
