// tls_stream over the simulated network: both ends, with a wire between them that the test carries
// bytes along, in pieces, late, in the wrong order of completions, or not at all.
#include <memory>

#include <gtest/gtest.h>

#include "sim/tls_wire.hpp"

namespace pillion::sim {
namespace {

// Nothing is left behind at its end.
struct checked_wire : tls_wire {
    using tls_wire::tls_wire;
    ~checked_wire() { EXPECT_EQ(end(), ""); }
};

std::string text_of_size(std::size_t size) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) {
        text += static_cast<char>('a' + i * 7 % 26);
    }
    return text;
}

// Every record begins and ends somewhere in the middle of what is received.
TEST(tls_stream_sim, echo_under_random_sizes_races_and_short_buffers) {
    const std::string text = text_of_size(40'000);
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        sim_options o;
        o.seed = seed;
        o.random_sizes = o.shuffle = o.cancel_random = true;
        o.recv_buffers = 1 + seed % 3;
        o.receive_max = 1 + (seed * 37) % 900;
        o.send_max = 1 + (seed * 71) % 1500;
        checked_wire w(o);
        auto& random = w.world.net().random();
        std::size_t at = 0;
        const auto feed = [&] {
            while (at < text.size()) {
                const std::size_t size =
                    std::min<std::size_t>(1 + random() % 5000, text.size() - at);
                at += size;
                if (!w.write(w.client, std::string_view(text).substr(at - size, size))) {
                    return;
                }
            }
            w.client.stream->shutdown_write();
        };
        w.client.reader.when_drained = feed;
        w.server.reader.when_data = [&](std::string_view got) {
            w.write(w.server, got);
            if (random() % 4 == 0) {
                w.server.stream->pause_reading();
                w.world.net().at(static_cast<std::int64_t>(random() % 3'000'000), [&] {
                    if (w.server.stream != nullptr) {
                        w.server.stream->resume_reading();
                    }
                });
            }
        };
        w.server.reader.when_eof = [&] { w.server.stream->close(true); };
        feed();
        ASSERT_TRUE(w.until([&] { return w.client.reader.eofs == 1; })) << "seed " << seed;
        ASSERT_TRUE(w.client.reader.bytes == text) << "seed " << seed;
        ASSERT_EQ(w.server.reader.error, 0) << "seed " << seed;
        w.client.stream->close(true);
        ASSERT_TRUE(w.until([&] { return w.client.stream == nullptr; })) << "seed " << seed;
    }
}

TEST(tls_stream_sim, teardown_at_every_turn_by_every_means) {
    for (int how = 0; how < 5; ++how) {
        for (int turn = 0; turn < 14; ++turn) {
            sim_options o;
            o.cancel_loses = turn % 2 == 0;
            o.send_max = 700;
            checked_wire w(o);
            w.write(w.client, "some bytes to echo");
            w.server.reader.when_data = [&](std::string_view got) { w.write(w.server, got); };
            for (int i = 0; i < turn; ++i) {
                w.turn();
            }
            ASSERT_NE(w.server.stream, nullptr);
            switch (how) {
                case 0:
                    w.server.stream->close(false);
                    break;
                case 1:
                    w.server.stream->close(true);
                    break;
                case 2:
                    w.server.peer.reset();
                    break;
                case 3:
                    w.server.stream->pause_reading();
                    w.server.stream->shutdown_write();
                    w.server.stream->close(true);
                    w.server.stream->close(false);
                    break;
                default:
                    w.client.stream->close(true);
                    w.server.reader.when_eof = [&] { w.server.stream->close(true); };
                    break;
            }
            // A close that waits for the handshake, or a handshake that nobody goes on with, ends
            // by its timeout.
            ASSERT_TRUE(w.until([&] { return w.server.stream == nullptr; }, 200'000))
                << how << " in turn " << turn;
            ASSERT_EQ(w.server.reader.closed, 1);
        }
    }
}

TEST(tls_stream_sim, closing_inside_each_callback) {
    for (int where = 0; where < 3; ++where) {
        checked_wire w;
        const auto close = [&] { w.server.stream->close(where != 0); };
        if (where < 2) {
            w.server.reader.when_data = [&](std::string_view) { close(); };
        } else {
            w.server.reader.when_eof = close;
        }
        w.write(w.client, "first");
        ASSERT_TRUE(w.until([&] { return w.client.stream->established(); }));
        // Two records, which arrive together.
        w.world.loop().run_one(0);
        w.write(w.client, "second");
        w.world.loop().run_one(0);
        w.client.stream->shutdown_write();
        ASSERT_TRUE(w.until([&] { return w.server.stream == nullptr; }));
        EXPECT_TRUE(where == 2 || w.server.reader.bytes == "first") << w.server.reader.bytes;
    }
}

// Nobody goes on with the handshake.
TEST(tls_stream_sim, handshakes_have_their_time) {
    for (const std::string& first : {std::string(), std::string("\x16\x03\x01\x00\xff", 5)}) {
        checked_wire w;
        w.client.stream->close(false);
        ASSERT_TRUE(w.until([&] { return w.client.stream == nullptr; }));
        w.world.run();
        // Half a record, or nothing, and no end.
        sim_peer silent = w.world.net().open();
        tls_side late;
        late.stream =
            std::make_unique<tls::tls_stream>(*w.share, tls_contexts::all().server, silent.fd(),
                                              io::peer_name::of_text("sim"), nullptr);
        std::string fault;
        late.reader.when_closed = [&] {
            fault = late.stream->fault();
            late.stream.reset();
        };
        late.stream->start(late.reader);
        silent.send(first);
        w.world.run_for_ms(9'900);
        EXPECT_NE(late.stream, nullptr);
        w.world.run_for_ms(200);
        EXPECT_EQ(late.stream, nullptr);
        EXPECT_EQ(fault, "the handshake took too long");
    }
}

// What the peer has not read of a large answer is not forgotten when it is closed.
// Its buffers go back to the system, and the next records find them again.
TEST(tls_stream_sim, a_connection_that_rests_gives_its_memory_back) {
    checked_wire w;
    const std::string text = text_of_size(40'000);
    w.server.reader.when_data = [&](std::string_view got) { w.write(w.server, got); };
    const auto echo = [&] {
        w.client.reader.bytes.clear();
        w.write(w.client, text);
        return w.until([&] { return w.client.reader.bytes.size() == text.size(); }) &&
               w.client.reader.bytes == text;
    };
    const auto pass_ms = [&](std::int64_t ms) {
        const std::int64_t end = w.world.loop().now_ns() + ms * 1'000'000;
        ASSERT_TRUE(w.until([&] { return w.world.loop().now_ns() >= end; }, 1'000'000));
    };
    ASSERT_TRUE(echo());
    EXPECT_EQ(w.share->counts().rested, 0U);
    for (std::uint64_t round = 1; round <= 3; ++round) {
        pass_ms(2 * limits::tls_rest_ms + 100);
        // Each end once: whoever rests stays so.
        EXPECT_EQ(w.share->counts().rested, 2 * round);
        pass_ms(5 * limits::tls_rest_ms);
        EXPECT_EQ(w.share->counts().rested, 2 * round);
        ASSERT_TRUE(echo());
    }
    // Who is in use is left alone.
    for (int i = 0; i < 10; ++i) {
        pass_ms(limits::tls_rest_ms / 2);
        ASSERT_TRUE(echo());
    }
    EXPECT_EQ(w.share->counts().rested, 6U);
}

// A part of a record stays.
TEST(tls_stream_sim, half_a_record_is_waited_for) {
    checked_wire w;
    ASSERT_TRUE(w.until([&] { return w.client.stream->established(); }));
    ASSERT_TRUE(w.until([&] { return w.server.stream->established(); }));
    w.write(w.client, "hello");
    w.world.loop().run_one(100'000);
    std::string record;
    ASSERT_TRUE(w.until([&] { return !(record += w.client.peer.take()).empty(); }));
    for (std::size_t cut = 1; cut < record.size(); ++cut) {
        // One byte at a time, with a long rest before each.
        w.server.peer.send(record.substr(cut - 1, 1));
        const std::int64_t end = w.world.loop().now_ns() + 3 * limits::tls_rest_ms * 1'000'000;
        ASSERT_TRUE(w.until([&] { return w.world.loop().now_ns() >= end; }, 1'000'000));
        EXPECT_LE(w.share->counts().rested, 1U);  // the client alone
    }
    w.server.peer.send(record.substr(record.size() - 1));
    ASSERT_TRUE(w.until([&] { return w.server.reader.bytes == "hello"; }));
}

TEST(tls_stream_sim, a_flushing_close_sends_everything) {
    sim_options o;
    o.send_max = 1000;
    checked_wire w(o);
    const std::string text = text_of_size(100'000);
    w.server.reader.when_data = [&](std::string_view) {
        w.write(w.server, text);
        w.server.stream->close(true);
    };
    w.write(w.client, "x");
    ASSERT_TRUE(w.until([&] { return w.client.reader.eofs == 1; }));
    EXPECT_TRUE(w.client.reader.bytes == text);
}

}  // namespace
}  // namespace pillion::sim
