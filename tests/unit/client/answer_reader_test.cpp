#include "client/answer_reader.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/limits.hpp"

namespace pillion::client {
namespace {

using state = answer_reader::state;

struct outcome {
    state how;
    std::uint16_t status = 0;
    std::string body{};
    bool operator==(const outcome&) const = default;
};

// Reads `text` in two pieces, then the end if it is still wanted.
outcome read(std::string_view text, std::size_t cut, std::size_t bytes_max = 100) {
    base::chunk_pool pool;
    answer_reader reader(pool, bytes_max);
    state how = state::need_more;
    for (std::string piece : {std::string(text.substr(0, cut)), std::string(text.substr(cut))}) {
        const std::size_t size = piece.size();
        piece.append(limits::padding, '\0');
        if (how == state::need_more && size > 0) {
            how = reader.feed(piece.data(), size);
        }
    }
    if (how == state::need_more) {
        how = reader.end();
    }
    return how == state::complete ? outcome{how, reader.status(), reader.body()} : outcome{how};
}

TEST(answer_reader, the_same_at_every_cut) {
    struct {
        std::string text;
        outcome wanted;
    } const cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", {state::complete, 200, "hello"}},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x\r\nllo\r\n0\r\n\r\n",
         {state::complete, 200, "hello"}},
        {"HTTP/1.0 200 OK\r\n\r\nhello", {state::complete, 200, "hello"}},
        {"HTTP/1.1 204 No\r\n\r\n", {state::complete, 204, ""}},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 E\r\nA: b\r\n\r\n"
         "HTTP/1.1 404 N\r\nContent-Length: 0\r\n\r\n",
         {state::complete, 404, ""}},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", {state::malformed}},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello!", {state::malformed}},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n", {state::malformed}},
        {"HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n", {state::too_large}},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
         {state::malformed}},
        {"HTTP/1.1 101 Switch\r\n\r\n", {state::malformed}},
        {"HTTP/2 200\r\n\r\n", {state::malformed}},
        {"", {state::malformed}},
    };
    for (const auto& one : cases) {
        for (std::size_t cut = 0; cut <= one.text.size(); ++cut) {
            const outcome got = read(one.text, cut);
            // What is behind an answer is not looked for once that is whole.
            if (one.wanted.how == state::malformed && got.how == state::complete) {
                EXPECT_EQ(cut + 1, one.text.size()) << one.text;
                continue;
            }
            EXPECT_EQ(got, one.wanted) << one.text << " cut at " << cut;
        }
    }
}

TEST(answer_reader, nothing_is_unbounded) {
    std::string interim;
    for (int i = 0; i < 20; ++i) {
        interim += "HTTP/1.1 100 C\r\n\r\n";
    }
    EXPECT_EQ(read(interim, 0).how, state::malformed);
    std::string head = "HTTP/1.1 200 OK\r\n";
    while (head.size() < 2 * limits::head_bytes_max) {
        head += "X: y\r\n";
    }
    EXPECT_EQ(read(head, 1000).how, state::malformed);
    const std::string open_end = "HTTP/1.0 200 OK\r\n\r\n" + std::string(101, 'x');
    EXPECT_EQ(read(open_end, 30).how, state::too_large);
    const std::string chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" +
                               std::string(101, 'x') + "\r\n0\r\n\r\n";
    EXPECT_EQ(read(chunks, 60).how, state::too_large);
}

}  // namespace
}  // namespace pillion::client
