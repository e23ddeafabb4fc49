// Goal: answers are read the same however they are cut, and hostile ones end soon and bounded.
// Method: each answer whole, cut in two at every byte, and byte by byte.

#include "bench/load/reply_reader.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "base/limits.hpp"
#include "unit/http/padded.hpp"

namespace pillion::load {
namespace {

constexpr std::size_t answer_bytes_max = 100'000;

struct recorder final : message_sink {
    std::vector<std::string> messages;
    void on_message(char* text, std::size_t size) noexcept override {
        // What follows must be readable.
        volatile char last = size > 0 ? text[size + limits::padding - 1] : '\0';
        static_cast<void>(last);
        messages.emplace_back(size > 0 ? std::string(text, size) : std::string());
    }
};

struct outcome {
    reply_state state = reply_state::need_more;
    std::vector<std::string> messages;
    std::uint16_t status = 0;
    bool keep_alive = false;
    std::string session;

    friend bool operator==(const outcome&, const outcome&) = default;
};

// Reads pieces that end at `cuts`, then, where asked for, the end of the connection.
outcome read(std::string_view text, const std::vector<std::size_t>& cuts, bool ends) {
    base::chunk_pool pool;
    recorder to;
    outcome out;
    {
        reply_reader reader(pool, answer_bytes_max, to);
        reader.begin();
        std::size_t from = 0;
        for (const std::size_t cut : cuts) {
            if (out.state != reply_state::need_more || cut == from) {
                break;
            }
            http::testing::padded piece(text.substr(from, cut - from));
            out.state = reader.feed(piece.data(), piece.size());
            from = cut;
        }
        if (ends && out.state == reply_state::need_more) {
            out.state = reader.end();
        }
        out.status = reader.status();
        out.keep_alive = reader.keep_alive();
        out.session = reader.session();
    }
    out.messages = to.messages;
    EXPECT_EQ(pool.live(), 0U);
    return out;
}

outcome read_every_way(std::string_view text, bool ends = false) {
    outcome whole = read(text, {text.size()}, ends);
    std::vector<std::size_t> bytes;
    for (std::size_t cut = 1; cut <= text.size(); ++cut) {
        EXPECT_EQ(read(text, {cut, text.size()}, ends), whole) << "cut at " << cut;
        bytes.push_back(cut);
    }
    EXPECT_EQ(read(text, bytes, ends), whole) << "byte by byte";
    return whole;
}

TEST(reply_reader, content_length) {
    const outcome out = read_every_way(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s1\r\n"
        "Content-Length: 7\r\n\r\n{\"a\":1}");
    EXPECT_EQ(out.state, reply_state::complete);
    EXPECT_EQ(out.messages, std::vector<std::string>{"{\"a\":1}"});
    EXPECT_EQ(out.session, "s1");
    EXPECT_TRUE(out.keep_alive);
}

TEST(reply_reader, chunked_with_extensions_and_trailers) {
    const outcome out = read_every_way(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3;x=y\r\n{\"a\r\n4\r\n\":1}\r\n0\r\nX-T: z\r\n\r\n");
    EXPECT_EQ(out.state, reply_state::complete);
    EXPECT_EQ(out.messages, std::vector<std::string>{"{\"a\":1}"});
}

TEST(reply_reader, event_streams) {
    const outcome out = read_every_way(
        "HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
        "d\r\nid: 1\r\ndata:\n\r\n1f\r\n\n: note\nevent: message\ndata: {\n\r\n"
        "b\r\ndata: \"a\":1\r\n9\r\n}\n\ndata:x\r\n2\r\n\n\n\r\n0\r\n\r\n");
    EXPECT_EQ(out.state, reply_state::complete);
    EXPECT_EQ(out.messages, (std::vector<std::string>{"{\n\"a\":1}", "x"}));
}

TEST(reply_reader, bodies_that_end_with_the_connection) {
    const std::string text = "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{}";
    EXPECT_EQ(read_every_way(text).state, reply_state::need_more);
    const outcome out = read_every_way(text, true);
    EXPECT_EQ(out.state, reply_state::complete);
    EXPECT_EQ(out.messages, std::vector<std::string>{"{}"});
    EXPECT_FALSE(out.keep_alive);
}

TEST(reply_reader, no_body) {
    const outcome out = read_every_way("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(out.state, reply_state::complete);
    EXPECT_EQ(out.status, 202);
    EXPECT_EQ(read_every_way("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").keep_alive,
              false);
}

TEST(reply_reader, interim_heads_are_passed_over) {
    const outcome out = read_every_way(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
        "HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno");
    EXPECT_EQ(out.state, reply_state::complete);
    EXPECT_EQ(out.status, 500);
    EXPECT_EQ(out.messages, std::vector<std::string>{"no"});
}

// Heads, sizes and bodies that are cut off, and bytes that nobody asked for.
TEST(reply_reader, hostile_answers) {
    const char* const heads[] = {
        "\r\n\r\n",
        "garbage\r\n\r\n",
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n11111111111111111\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        "HTTP/1.1 101 Switching\r\n\r\n",
    };
    for (const char* const text : heads) {
        EXPECT_EQ(read_every_way(text).state, reply_state::malformed) << text;
    }
    const std::string right = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
    EXPECT_EQ(read(right + "x", {right.size() + 1}, false).state, reply_state::malformed);
    for (std::size_t size = 0; size < right.size(); ++size) {
        EXPECT_EQ(read(right.substr(0, size), {size}, true).state, reply_state::malformed);
    }
}

TEST(reply_reader, heads_without_end_are_bounded) {
    const std::string endless = "HTTP/1.1 200 OK\r\nX: " + std::string(limits::head_bytes_max, 'x');
    std::vector<std::size_t> cuts;
    for (std::size_t cut = 4096; cut < endless.size(); cut += 4096) {
        cuts.push_back(cut);
    }
    cuts.push_back(endless.size());
    EXPECT_EQ(read(endless, cuts, false).state, reply_state::malformed);
}

TEST(reply_reader, bodies_are_bounded) {
    const std::string head = "HTTP/1.1 200 OK\r\n";
    const std::string big(answer_bytes_max + 1, 'x');
    const std::string length = head + "Content-Length: " + std::to_string(big.size()) + "\r\n\r\n";
    // Before any of it has come.
    EXPECT_EQ(read(length, {length.size()}, false).state, reply_state::too_large);
    const auto in_pieces = [](const std::string& text) {
        std::vector<std::size_t> cuts;
        for (std::size_t cut = 4096; cut < text.size(); cut += 4096) {
            cuts.push_back(cut);
        }
        cuts.push_back(text.size());
        return read(text, cuts, false).state;
    };
    EXPECT_EQ(in_pieces(head + "\r\n" + big), reply_state::too_large);
    EXPECT_EQ(in_pieces(head + "Transfer-Encoding: chunked\r\n\r\nfffff\r\n" + big),
              reply_state::too_large);
    EXPECT_EQ(in_pieces(head + "Content-Type: text/event-stream\r\n\r\ndata: " + big),
              reply_state::too_large);
}

// An event stream is bounded by its events, not by how many there are.
TEST(reply_reader, long_streams_of_short_events) {
    std::string text = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    for (std::size_t i = 0; i < answer_bytes_max / 100; ++i) {
        text += "data: " + std::string(200, 'x') + "\n\n";
    }
    const outcome out = read(text, {text.size()}, true);
    EXPECT_EQ(out.state, reply_state::complete);
    EXPECT_EQ(out.messages.size(), answer_bytes_max / 100);
}

TEST(reply_reader, one_answer_after_the_other) {
    base::chunk_pool pool;
    recorder to;
    reply_reader reader(pool, answer_bytes_max, to);
    const std::string streamed =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9\r\n\r\n"
        "data: a\n\n";
    const std::string plain = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nb";
    for (const std::string& text : {streamed, plain, streamed, plain}) {
        reader.begin();
        http::testing::padded piece(text);
        EXPECT_EQ(reader.feed(piece.data(), piece.size()), reply_state::complete);
    }
    EXPECT_EQ(to.messages, (std::vector<std::string>{"a", "b", "a", "b"}));
    reader.begin();
}

}  // namespace
}  // namespace pillion::load
