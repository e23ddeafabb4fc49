// Runs a fuzz target without a fuzzer: every seed of a directory, then deterministic mutations of
// them. A finding ends the process.
//
// Usage: PROGRAM CORPUS MUTATIONS
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void run(const std::string& input) {
    // A block of exactly its size, so that a sanitizer sees every byte read behind it.
    const std::vector<std::uint8_t> bytes(input.begin(), input.end());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

std::string mutated(std::string text, const std::string& other, std::mt19937_64& random) {
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    for (std::size_t i = 1 + below(4); i > 0; --i) {
        const std::size_t at = below(text.size() + 1);
        switch (below(5)) {
            case 0:
                text.insert(at, 1, static_cast<char>(below(256)));
                break;
            case 1:
                text.erase(at, 1 + below(8));
                break;
            case 2:
                if (at < text.size()) {
                    text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
                }
                break;
            case 3:
                text.insert(at, other.substr(below(other.size() + 1), below(64)));
                break;
            default:
                text = text.substr(0, at) + other.substr(below(other.size() + 1));
        }
    }
    return text;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: %s CORPUS MUTATIONS\n", argv[0]);
        return 2;
    }
    std::vector<std::filesystem::path> names;
    for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
        names.push_back(entry.path());
    }
    std::sort(names.begin(), names.end());
    std::vector<std::string> seeds;
    for (const auto& name : names) {
        std::ifstream file(name, std::ios::binary);
        seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
        run(seeds.back());
    }
    if (seeds.empty()) {
        std::fprintf(stderr, "%s holds no seed\n", argv[1]);
        return 1;
    }
    const long count = std::atol(argv[2]);
    std::mt19937_64 random(1);
    for (long i = 0; i < count; ++i) {
        run(mutated(seeds[random() % seeds.size()], seeds[random() % seeds.size()], random));
    }
    std::printf("%zu seeds and %ld mutations\n", seeds.size(), count);
    return 0;
}
