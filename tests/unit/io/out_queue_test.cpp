#include "io/out_queue.hpp"

#include <cstring>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/chunk.hpp"
#include "unit/base/shared_chunk.hpp"

namespace pillion::io {
namespace {

base::chunk* chunk_of(base::chunk_pool& pool, std::string_view text, std::size_t room) {
    base::chunk* c = pool.take(room);
    std::memcpy(c->data(), text.data(), text.size());
    c->end = static_cast<std::uint32_t>(text.size());
    return c;
}

std::string text_of(const iovec* parts, std::size_t count) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i) {
        all.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
    }
    return all;
}

// Sends all of it, at most `most` bytes at a time.
std::string drain(out_queue& queue, std::size_t most) {
    std::string all;
    while (!queue.empty()) {
        iovec parts[out_queue::gather_max];
        std::string part = text_of(parts, queue.gather(parts)).substr(0, most);
        queue.sent(part.size());
        all += part;
    }
    return all;
}

// Answers of 300 bytes that nobody read took 4 KiB each.
TEST(out_queue, small_chunks_that_wait_share_their_memory) {
    base::chunk_pool pool;
    out_queue queue(pool);
    std::string sent;
    for (int i = 0; i < 200; ++i) {
        const std::string text(300, static_cast<char>('a' + i % 26));
        queue.push(chunk_of(pool, text, 3000));
        sent += text;
    }
    EXPECT_EQ(queue.bytes(), sent.size());
    EXPECT_LT(pool.live(), 20U);
    EXPECT_EQ(drain(queue, 7000), sent);
    EXPECT_EQ(pool.live(), 0U);
}

TEST(out_queue, what_is_being_sent_stays_where_it_is) {
    for (std::size_t before = 1; before < 40; ++before) {
        base::chunk_pool pool;
        out_queue queue(pool);
        std::string sent;
        const auto push = [&](std::size_t i) {
            // Large ones are not copied, static ones have no room.
            const std::string text(i % 5 == 0 ? 3000 : 100, static_cast<char>('a' + i % 26));
            queue.push(chunk_of(pool, text, 3500));
            sent += text;
            if (i % 7 == 0) {
                queue.push_static("static");
                sent += "static";
            }
        };
        for (std::size_t i = 0; i < before; ++i) {
            push(i);
        }
        iovec parts[out_queue::gather_max];
        const std::size_t count = queue.gather(parts);
        const std::string gathered = text_of(parts, count);
        EXPECT_TRUE(sent.starts_with(gathered));
        for (std::size_t i = 0; i < 20; ++i) {
            push(i);
        }
        EXPECT_EQ(text_of(parts, count), gathered);
        queue.sent(gathered.size() / 2);
        for (std::size_t i = 0; i < 20; ++i) {
            push(i);
        }
        EXPECT_EQ(gathered.substr(0, gathered.size() / 2) + drain(queue, 999), sent);
        EXPECT_EQ(pool.live(), 0U);
    }
}

// What answers share is neither copied into others nor appended to, however it is cut.
TEST(out_queue, shared_chunks_stay_as_they_are_between_others) {
    for (const std::size_t bytes : {10U, 1000U, 2040U, 5000U}) {
        for (const std::size_t most : {1U, 7U, 1500U, 2048U, 100'000U}) {
            base::chunk_pool pool;
            out_queue queue(pool);
            const std::string text(bytes, 's');
            base::chunk* const shared = pillion::testing::full_chunk(pool, text);
            std::string sent;
            for (int i = 0; i < 5; ++i) {
                const std::string own(static_cast<std::size_t>(10 + i * 40), 'o');
                queue.push(chunk_of(pool, own, 500));
                ASSERT_TRUE(base::chunk_pool::share(*shared));
                queue.push(shared);
                sent += own + text;
            }
            EXPECT_EQ(queue.bytes(), sent.size());
            EXPECT_EQ(drain(queue, most), sent);
            EXPECT_EQ(shared->shares, 0U);
            EXPECT_EQ(std::string_view(shared->data() + shared->begin, shared->size()), text);
            base::chunk_pool::give(shared);
            EXPECT_EQ(pool.live(), 0U);
        }
    }
}

}  // namespace
}  // namespace pillion::io
