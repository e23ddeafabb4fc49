// Fuzzes the chunked decoder: any cutting gives the same bytes and verdict, in place or not; what
// it accepts stays within its limit and is accepted again when it is encoded anew.
//
// The first byte of an input chooses the size of the pieces and the body limit.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "http/chunked.hpp"

namespace {

using pillion::http::chunk_decoder;
using pillion::http::chunk_outcome;
using pillion::http::parse_state;

struct decoded {
    parse_state state = parse_state::need_more;
    int status = 0;
    std::size_t consumed = 0;
    std::string body;
};

void check(bool holds) {
    if (!holds) {
        std::abort();
    }
}

// Each piece is a heap block of its exact size, so that any access outside of it is seen.
decoded decode(std::string_view in, std::size_t piece_bytes, std::uint64_t limit, bool in_place) {
    decoded all;
    chunk_decoder decoder(limit);
    while (all.state == parse_state::need_more && all.consumed < in.size()) {
        const std::string_view piece = in.substr(all.consumed, piece_bytes);
        std::vector<char> from(piece.begin(), piece.end());
        std::vector<char> to(in_place ? 0 : piece.size());
        char* out = in_place ? from.data() : to.data();
        const chunk_outcome outcome = decoder.feed(from.data(), from.size(), out);
        check(outcome.consumed <= piece.size() && outcome.produced <= outcome.consumed);
        check(outcome.state != parse_state::need_more || outcome.consumed == piece.size());
        all.body.append(out, outcome.produced);
        all.consumed += outcome.consumed;
        all.state = outcome.state;
        all.status = outcome.status;
    }
    return all;
}

void same(const decoded& a, const decoded& b) {
    check(a.state == b.state && a.status == b.status && a.consumed == b.consumed);
    check(a.body == b.body);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    const std::string_view in(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::uint64_t limit = (data[0] & 0x80U) != 0 ? 64 : 1 << 20;
    const decoded whole = decode(in, in.size(), limit, false);
    same(whole, decode(in, in.size(), limit, true));
    same(whole, decode(in, 1, limit, false));
    same(whole, decode(in, 1 + data[0] % 17U, limit, true));
    check(whole.body.size() <= limit);
    if (whole.state == parse_state::complete && !whole.body.empty()) {
        char line[32];
        std::snprintf(line, sizeof line, "%zx\r\n", whole.body.size());
        const std::string again = line + whole.body + "\r\n0\r\n\r\n";
        const decoded second = decode(again, again.size(), limit, false);
        check(second.state == parse_state::complete && second.body == whole.body);
    }
    return 0;
}
