// Goal: the chunked decoder beyond what framing_test covers: in-place decoding, limits at their
// edges, what it reports. Method: every piece size over one body.

#include "http/chunked.hpp"

#include <string>

#include <gtest/gtest.h>

namespace pillion::http {
namespace {

struct decoded {
    chunk_outcome last;
    std::string body;
    std::size_t consumed = 0;
};

// Decodes `in` in pieces, each on top of itself.
decoded decode(std::string in, std::size_t piece_bytes, std::uint64_t limit) {
    decoded all;
    chunk_decoder decoder(limit);
    while (all.consumed < in.size() && all.last.state == parse_state::need_more) {
        char* piece = in.data() + all.consumed;
        const std::size_t size = std::min(piece_bytes, in.size() - all.consumed);
        all.last = decoder.feed(piece, size, piece);
        all.body.append(piece, all.last.produced);
        all.consumed += all.last.consumed;
    }
    return all;
}

TEST(chunk_decoder, any_piece_size_gives_the_same_body) {
    const std::string body =
        "4;ext=\"q\"\r\nWiki\r\n1\r\np\r\nC\r\nedia in \r\n\r\n\r\n"
        "0;last\r\nTrailer: x\r\n\r\n";
    for (std::size_t piece = 1; piece <= body.size() + 5; ++piece) {
        const decoded d = decode(body + "NEXT", piece, 100);
        ASSERT_EQ(d.last.state, parse_state::complete) << d.last.reason;
        ASSERT_EQ(d.body, "Wikipedia in \r\n\r\n");
        ASSERT_EQ(d.consumed, body.size());
    }
}

TEST(chunk_decoder, output_may_lie_before_the_input) {
    std::string memory = "....5\r\nhello\r\n0\r\n\r\n";
    chunk_decoder decoder(5);
    const chunk_outcome outcome = decoder.feed(memory.data() + 4, memory.size() - 4, memory.data());
    EXPECT_EQ(outcome.state, parse_state::complete);
    EXPECT_EQ(memory.substr(0, outcome.produced), "hello");
}

TEST(chunk_decoder, limit_counts_decoded_bytes) {
    EXPECT_EQ(decode("5\r\nhello\r\n0\r\n\r\n", 99, 5).last.state, parse_state::complete);
    const decoded over = decode("5\r\nhello\r\n0\r\n\r\n", 99, 4);
    EXPECT_EQ(over.last.status, 413);
    EXPECT_EQ(over.body, "");
    EXPECT_EQ(decode("3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", 1, 4).last.status, 413);
    EXPECT_EQ(decode("0\r\n\r\n", 99, 0).last.state, parse_state::complete);
}

TEST(chunk_decoder, trailers_at_their_limit) {
    const std::string field = "X: " + std::string(trailer_bytes_max - 5, 'y');  // and its CRLF
    EXPECT_EQ(decode("0\r\n" + field + "\r\n\r\n", 99, 0).last.state, parse_state::complete);
    EXPECT_EQ(decode("0\r\n" + field + "y\r\n\r\n", 99, 0).last.status, 431);
}

TEST(chunk_decoder, extensions_of_a_body_are_bounded_together) {
    std::string in;
    for (std::size_t sum = 0; sum + 250 <= chunk_extensions_bytes_max; sum += 250) {
        in += "1;" + std::string(249, 'x') + "\r\nd\r\n";
    }
    EXPECT_EQ(decode(in + "0\r\n\r\n", 7, 100).last.state, parse_state::complete);
    EXPECT_EQ(decode(in + "1;" + std::string(249, 'x') + "\r\n", 7, 100).last.status, 400);
}

TEST(chunk_decoder, empty_input_wants_more) {
    chunk_decoder decoder(1);
    const chunk_outcome outcome = decoder.feed(nullptr, 0, nullptr);
    EXPECT_EQ(outcome.state, parse_state::need_more);
    EXPECT_EQ(outcome.consumed, 0U);
}

}  // namespace
}  // namespace pillion::http
