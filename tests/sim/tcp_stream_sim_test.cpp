#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "base/limits.hpp"
#include "io/stdio_stream.hpp"
#include "io/tcp_stream.hpp"
#include "sim/sim_world.hpp"
#include "sim/stream_harness.hpp"

namespace pillion::sim {
namespace {

struct connected {
    sim_world world;
    sim_peer peer;
    recording_reader reader;
    std::unique_ptr<io::tcp_stream> stream;
    explicit connected(const sim_options& o = {}) : world(o), peer(world.net().open()) {
        stream = std::make_unique<io::tcp_stream>(world.loop(), peer.fd(),
                                                  io::peer_name::of_text("sim"));
        reader.when_closed = [this] { stream.reset(); };
        stream->start(reader);
    }
    bool write(std::string_view text) {
        return stream->write(chunk_of(world.loop().chunks(), text));
    }
    ~connected() {
        if (stream != nullptr) {
            stream->close(false);
            world.run();
        }
        EXPECT_EQ(stream, nullptr);
        EXPECT_EQ(reader.closed, 1);
        EXPECT_EQ(world.leftovers(), "");
    }
};

TEST(tcp_stream_sim, echo_with_every_pair_of_split_positions) {
    const std::string text = "0123456789abcdefghij";
    for (std::size_t a = 1; a < text.size(); ++a) {
        for (std::size_t b = a; b < text.size(); ++b) {
            connected c;
            c.peer.split_at({a, b});
            c.reader.when_data = [&](std::string_view got) { c.write(got); };
            c.reader.when_eof = [&] { c.stream->close(true); };
            c.peer.send(text);
            c.peer.finish();
            c.world.run();
            ASSERT_EQ(c.peer.received(), text);
            ASSERT_EQ(c.reader.eofs, 1);
            ASSERT_TRUE(c.peer.closed());
        }
    }
}

TEST(tcp_stream_sim, echo_under_random_sizes_races_and_short_buffers) {
    std::string text;
    for (int i = 0; i < 3000; ++i) {
        text += static_cast<char>('a' + i % 26);
    }
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        sim_options o;
        o.seed = seed;
        o.random_sizes = o.shuffle = o.cancel_random = true;
        o.recv_buffers = 1 + seed % 3;
        o.receive_max = 1 + seed % 300;
        o.send_max = 1 + (seed * 7) % 500;
        connected c(o);
        auto& random = c.world.net().random();
        c.reader.when_data = [&](std::string_view got) {
            c.write(got);
            if (random() % 4 == 0) {
                c.stream->pause_reading();
                c.world.net().at(static_cast<std::int64_t>(random() % 3000000), [&] {
                    if (c.stream != nullptr) {
                        c.stream->resume_reading();
                    }
                });
            }
        };
        c.reader.when_eof = [&] { c.stream->close(true); };
        for (std::size_t at = 0; at < text.size(); at += 500) {
            c.peer.send_after(static_cast<std::int64_t>(at) * 1000, text.substr(at, 500));
        }
        c.world.net().at(5'000'000, [&] { c.peer.finish(); });
        c.world.run();
        ASSERT_EQ(c.peer.received(), text) << "seed " << seed;
        ASSERT_EQ(c.reader.eofs, 1) << "seed " << seed;
        ASSERT_EQ(c.reader.error, 0) << "seed " << seed;
    }
}

TEST(tcp_stream_sim, teardown_at_every_turn_by_every_means) {
    for (int how = 0; how < 4; ++how) {
        for (std::uint64_t turn = 0; turn < 12; ++turn) {
            for (const bool loses : {false, true}) {
                sim_options o;
                o.cancel_loses = loses;
                o.send_max = 3;
                connected c(o);
                c.reader.when_data = [&](std::string_view got) { c.write(got); };
                c.peer.send("some bytes to echo");
                for (std::uint64_t i = 0; i < turn; ++i) {
                    c.world.loop().run_one(1000);
                }
                c.peer.block(how == 3);
                switch (how) {
                    case 0:
                        c.stream->close(false);
                        c.stream->close(true);
                        break;
                    case 1:
                        c.stream->close(true);
                        break;
                    case 2:
                        c.peer.reset();
                        break;
                    default:
                        c.stream->close(true);
                        c.world.loop().run_one(1000);
                        if (c.stream != nullptr) {
                            c.stream->close(false);
                        }
                        break;
                }
                c.world.run();
                ASSERT_EQ(c.reader.closed, 1);
                ASSERT_EQ(c.reader.error, how == 2 ? ECONNRESET : 0);
            }
        }
    }
}

TEST(tcp_stream_sim, closing_inside_each_callback) {
    for (int where = 0; where < 2; ++where) {
        connected c;
        c.reader.when_data = [&](std::string_view) {
            if (where == 0) {
                c.stream->close(false);
            }
        };
        c.reader.when_eof = [&] { c.stream->close(false); };
        c.peer.send("x");
        c.peer.finish();
        c.world.run();
        EXPECT_EQ(c.stream, nullptr);
    }
}

TEST(tcp_stream_sim, back_pressure_water_marks_and_the_hard_cap) {
    connected c;
    c.peer.block(true);
    const std::string block(limits::out_queue_bytes_high * 2 / 5, 'b');
    EXPECT_TRUE(c.write(block));
    EXPECT_TRUE(c.write(block));
    EXPECT_FALSE(c.write(block));
    c.world.run();
    EXPECT_EQ(c.reader.drained, 0);
    c.peer.block(false);
    c.world.run();
    EXPECT_EQ(c.reader.drained, 1);
    EXPECT_EQ(c.peer.received().size(), 3 * block.size());
    c.peer.block(true);
    while (c.stream->queued_bytes() <= limits::out_queue_bytes_hard) {
        c.write(block);
    }
    c.write(block);
    c.world.run();
    EXPECT_EQ(c.stream, nullptr);
    EXPECT_EQ(c.reader.error, ENOBUFS);
}

TEST(tcp_stream_sim, one_large_reply_may_pass_the_cap) {
    connected c;
    const std::string large(limits::out_queue_bytes_hard * 2, 'l');
    c.peer.block(true);
    EXPECT_FALSE(c.write(large));
    c.peer.block(false);
    c.world.run();
    EXPECT_EQ(c.peer.received().size(), large.size());
    // What waits beside it is still bounded.
    c.peer.block(true);
    const std::string block(limits::out_queue_bytes_hard / 10, 'b');
    EXPECT_FALSE(c.write(block));
    EXPECT_FALSE(c.write(large));
    std::size_t most = 0;
    for (int i = 0; i < 20 && c.stream != nullptr; ++i) {
        most = c.stream->queued_bytes();
        c.write(block);
        c.world.run();
    }
    EXPECT_EQ(c.stream, nullptr);
    EXPECT_EQ(c.reader.error, ENOBUFS);
    EXPECT_GT(most, large.size() + limits::out_queue_bytes_hard - 2 * block.size());
    EXPECT_LE(most, large.size() + limits::out_queue_bytes_hard);
}

TEST(tcp_stream_sim, paused_reader_gets_nothing_but_hears_of_the_disconnect) {
    connected c;
    c.stream->pause_reading();
    c.world.run();
    c.peer.finish();
    c.world.run();
    EXPECT_EQ(c.reader.eofs, 1);
    connected d;
    d.stream->pause_reading();
    d.world.run();
    d.peer.send("late");
    d.peer.finish();
    d.world.run();
    EXPECT_EQ(d.reader.bytes, "");
    EXPECT_EQ(d.reader.eofs, 0);
    d.stream->resume_reading();
    d.world.run();
    EXPECT_EQ(d.reader.bytes, "late");
    EXPECT_EQ(d.reader.eofs, 1);
    connected e;
    e.stream->pause_reading();
    e.world.run();
    e.peer.reset();
    e.world.run();
    EXPECT_EQ(e.reader.error, ECONNRESET);
}

TEST(tcp_stream_sim, half_close_after_the_queue) {
    connected c;
    c.peer.block(true);
    c.write("reply");
    c.stream->shutdown_write();
    c.write("too late");
    c.world.run();
    EXPECT_FALSE(c.peer.saw_eof());
    c.peer.block(false);
    c.world.run();
    EXPECT_EQ(c.peer.received(), "reply");
    EXPECT_TRUE(c.peer.saw_eof());
    c.peer.send("still read");
    c.world.run();
    EXPECT_EQ(c.reader.bytes, "still read");
}

TEST(tcp_stream_sim, many_pieces_leave_in_order) {
    for (const std::size_t size : {1U, 100U, 1000U}) {
        connected c;
        std::string all;
        for (int i = 0; i < 300; ++i) {
            const std::string piece(size, static_cast<char>('a' + i % 26));
            all += piece + "|";
            c.write(piece);
            c.stream->write_static("|");
        }
        c.world.run();
        ASSERT_EQ(c.peer.received(), all);
    }
}

TEST(stdio_stream_sim, echoes_pauses_and_ends) {
    sim_options o;
    o.random_sizes = o.shuffle = true;
    for (o.seed = 1; o.seed < 50; ++o.seed) {
        sim_world world(o);
        sim_peer peer = world.net().open();
        recording_reader reader;
        std::optional<io::stdio_stream> stream;
        stream.emplace(world.loop(), peer.fd(), peer.fd());
        reader.when_data = [&](std::string_view got) {
            stream->write(chunk_of(world.loop().chunks(), got));
            stream->pause_reading();
            world.net().at(1'000'000, [&] { stream->resume_reading(); });
        };
        reader.when_eof = [&] { stream->close(true); };
        stream->start(reader);
        peer.send("a line of input\n");
        peer.finish();
        world.run();
        EXPECT_EQ(peer.received(), "a line of input\n");
        EXPECT_EQ(reader.closed, 1);
        EXPECT_EQ(reader.error, 0);
        stream.reset();
        world.net().close(peer.fd());
        EXPECT_EQ(world.leftovers(), "");
    }
}

TEST(stdio_stream_sim, a_vanished_reader_of_the_output_closes) {
    sim_world world;
    sim_peer in = world.net().open();
    sim_peer out = world.net().open();
    recording_reader reader;
    io::stdio_stream stream(world.loop(), in.fd(), out.fd());
    stream.start(reader);
    world.net().shutdown(out.fd(), 1);
    stream.write_static("x");
    world.run();
    EXPECT_EQ(reader.error, EPIPE);
    EXPECT_EQ(reader.closed, 1);
}

}  // namespace
}  // namespace pillion::sim
