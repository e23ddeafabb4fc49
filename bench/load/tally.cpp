#include "tally.hpp"

namespace pillion::load {

namespace {

constexpr std::size_t example_bytes_max = 160;
constexpr std::size_t rpc_codes_max = 32;

// What a server sends must not steer a terminal.
std::string printable(std::string_view text) {
    std::string out;
    for (const char c : text.substr(0, example_bytes_max)) {
        out.push_back(c >= ' ' && c < 0x7f ? c : '.');
    }
    return out;
}

}  // namespace

void tally::add_error(const verdict& what, std::string_view example) {
    const auto at = static_cast<std::size_t>(what.what);
    if (++errors_[at] == 1) {
        examples_[at] = printable(example);
    }
    if (what.what == fault::rpc_error) {
        const bool room = rpc_codes_.size() < rpc_codes_max || rpc_codes_.contains(what.rpc_code);
        ++rpc_codes_[room ? what.rpc_code : 0];
    }
}

std::uint64_t tally::errors() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint64_t n : errors_) {
        sum += n;
    }
    return sum;
}

double tally::error_rate() const noexcept {
    const std::uint64_t bad = errors();
    return bad == 0 ? 0 : static_cast<double>(bad) / static_cast<double>(bad + ok);
}

}  // namespace pillion::load
