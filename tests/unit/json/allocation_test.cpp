// The promise of the hot path: once warm, parsing a message and writing one takes nothing from the
// heap. Counted at malloc, below operator new.
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "bench/micro/json_samples.hpp"
#include "samples.hpp"
#include "unit/counted_malloc.hpp"

namespace pillion::json {
namespace {

// A message goes through: copied into a chunk, parsed, and written behind an envelope.
class round_trip {
 public:
    explicit round_trip(const std::string& text) : text_(text) {}

    void operator()() {
        base::arena memory(pool_);
        char* const bytes = static_cast<char*>(memory.allocate(text_.size() + limits::padding, 8));
        std::memcpy(bytes, text_.data(), text_.size());
        const parse_result parsed = parse(bytes, text_.size(), memory);
        PILLION_ASSERT(parsed.ok);
        base::byte_buffer out(pool_);
        writer w(out);
        w.fragment(R"({"jsonrpc":"2.0","id":)");
        w.value(parsed.root["id"]);
        w.key("result");
        w.value(parsed.root);
        w.key("text");
        w.string(text_);
        w.key("number");
        w.number(0.1);
        w.end_object();
        bytes_written += out.size();
    }
    std::size_t bytes_written = 0;

 private:
    const std::string& text_;
    base::chunk_pool pool_;
};

std::size_t mallocs_of(const std::string& text, std::size_t rounds) {
    round_trip trip(text);
    for (int i = 0; i < 10; ++i) {
        trip();
    }
    const std::size_t before = mallocs;
    for (std::size_t i = 0; i < rounds; ++i) {
        trip();
    }
    EXPECT_GT(trip.bytes_written, rounds * text.size());
    return mallocs - before;
}

TEST(json_allocation, the_count_counts) {
    const std::size_t before = mallocs;
    const std::string large(1000, 'x');
    // Or clang leaves the block out: nobody would look at it.
    const char* const volatile shown = large.data();
    EXPECT_EQ(*shown, 'x');
    EXPECT_EQ(mallocs, before + 1);
}

TEST(json_allocation, a_warm_message_allocates_nothing) {
    EXPECT_EQ(mallocs_of(bench::call_300(), 10'000), 0U);
    EXPECT_EQ(mallocs_of(bench::call_dense(), 10'000), 0U);
    EXPECT_EQ(mallocs_of(bench::list_10k(), 1'000), 0U);
    // The reply has two texts of 20 KiB: more would not fit a pooled chunk.
    EXPECT_EQ(mallocs_of(bench::call_with(std::string(20'000, 'x')), 1'000), 0U);
    EXPECT_EQ(mallocs_of(bench::call_with(bench::repeated("\xD0\x9F\\n", 20'000)), 1'000), 0U);
}

// A body of 1 MiB needs blocks that no pool keeps: for itself, its nodes and the reply, whose
// buffer doubles. Their number does not depend on what is in it.
TEST(json_allocation, a_large_body_takes_a_few_blocks) {
    constexpr std::size_t rounds = 10;
    EXPECT_LE(mallocs_of(bench::mixed_1m(), rounds), rounds * 16);
}

}  // namespace
}  // namespace pillion::json
