// Goal: all implementations of the line-end search agree with a byte loop.
// Method: every byte value at every position of buffers at every alignment, every size to 130;
// hostile bytes behind the end.

#include "http/scan.hpp"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "base/ascii.hpp"
#include "base/limits.hpp"

namespace pillion::http {
namespace {

std::size_t reference(const char* data, std::size_t size) {
    std::size_t at = 0;
    while (at < size && !base::is_control(data[at])) {
        ++at;
    }
    return at;
}

std::vector<scan_level> levels() {
    std::vector<scan_level> all = {scan_level::portable};
    for (const scan_level level : {scan_level::sse2, scan_level::avx2}) {
        if (level <= scan_level_best()) {
            all.push_back(level);
        }
    }
    return all;
}

void expect_agreement(const char* data, std::size_t size) {
    const std::size_t want = reference(data, size);
    for (const scan_level level : levels()) {
        ASSERT_EQ(find_control_at(level, data, size), want) << int(level) << " size " << size;
    }
    ASSERT_EQ(find_control(data, size), want) << "size " << size;
}

TEST(scan, every_byte_value_at_every_place) {
    std::vector<char> memory(160 + limits::padding, 'a');
    for (int value = 0; value < 256; ++value) {
        for (std::size_t at = 0; at < 100; ++at) {
            memory[at] = static_cast<char>(value);
            expect_agreement(memory.data(), 100);
            memory[at] = 'a';
        }
    }
}

TEST(scan, every_size_and_alignment_with_controls_behind_the_end) {
    for (std::size_t align = 0; align < 64; ++align) {
        for (std::size_t size = 0; size <= 130; ++size) {
            std::vector<char> memory(align + size + limits::padding, '\n');
            std::fill_n(memory.begin() + static_cast<std::ptrdiff_t>(align), size, '\t');
            expect_agreement(memory.data() + align, size);
        }
    }
}

TEST(scan, first_of_several_wins) {
    std::mt19937 random(1);
    for (int round = 0; round < 20000; ++round) {
        const std::size_t size = random() % 200;
        std::vector<char> memory(size + limits::padding, '\r');
        for (std::size_t i = 0; i < size; ++i) {
            memory[i] = random() % 40 == 0 ? static_cast<char>(random()) : 'x';
        }
        expect_agreement(memory.data(), size);
    }
}

}  // namespace
}  // namespace pillion::http
