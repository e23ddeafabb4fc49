// Fuzzes request framing: the verdict must not depend on how the bytes were cut, a truncated input
// must never complete more than the whole, and all scanners must agree.
//
// The first two bytes of an input choose where it is cut.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "../unit/http/framing_driver.hpp"
#include "http/response_parser.hpp"
#include "http/scan.hpp"

namespace {

using pillion::http::testing::framing_driver;

void check(bool holds) {
    if (!holds) {
        std::abort();
    }
}

void compare_scanners(std::string_view bytes) {
    using pillion::http::scan_level;
    std::string padded(bytes);
    padded.append(pillion::limits::padding, '\n');
    const std::size_t want =
        pillion::http::find_control_at(scan_level::portable, padded.data(), bytes.size());
    for (const scan_level level : {scan_level::sse2, scan_level::avx2}) {
        if (level <= pillion::http::scan_level_best()) {
            check(pillion::http::find_control_at(level, padded.data(), bytes.size()) == want);
        }
    }
    check(pillion::http::find_control(padded.data(), bytes.size()) == want);
}

void compare_cuts(std::string_view bytes, std::size_t cut, std::size_t stride) {
    framing_driver whole(bytes.size());
    whole.feed(bytes);
    framing_driver split(bytes.size());
    split.feed(bytes.substr(0, cut));
    check(split.requests <= whole.requests);
    check(split.status == 0 || split.status == whole.status);
    check(whole.transcript.starts_with(split.transcript));
    split.feed(bytes.substr(cut));
    framing_driver pieces(bytes.size());
    for (std::size_t at = 0; at < bytes.size(); at += stride) {
        pieces.feed(bytes.substr(at, stride));
    }
    // With all heads known that any input had.
    static pillion::http::head_memo known;
    framing_driver recalled(bytes.size(), &known);
    recalled.feed(bytes);
    for (const framing_driver* other : {&split, &pieces, &recalled}) {
        check(other->status == whole.status);
        check(other->requests == whole.requests);
        check(other->transcript == whole.transcript);
    }
}

// The same bytes as a response: incremental verdicts agree with the verdict on all of them.
void compare_response(std::string_view bytes, std::size_t cut) {
    using pillion::http::parse_state;
    std::string padded(bytes);
    padded.append(pillion::limits::padding, '\n');
    pillion::http::response_head whole;
    const auto verdict =
        pillion::http::parse_response_head(padded.data(), bytes.size(), 0, false, whole);
    std::string again(bytes);
    again.append(pillion::limits::padding, '\r');
    pillion::http::response_head part;
    auto outcome = pillion::http::parse_response_head(again.data(), cut, 0, false, part);
    if (outcome.state == parse_state::need_more) {
        outcome = pillion::http::parse_response_head(again.data(), bytes.size(), cut, false, part);
    }
    check(outcome.state == verdict.state && outcome.status == verdict.status);
    if (verdict.state == parse_state::complete) {
        check(part.bytes == whole.bytes && part.body == whole.body);
        check(part.size() == whole.size() && part.content_length == whole.content_length);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
    const std::size_t cut = std::min<std::size_t>(data[0] * 4U + data[1] % 4U, bytes.size());
    compare_scanners(bytes);
    compare_cuts(bytes, cut, 1 + data[1] % 7U);
    compare_response(bytes, cut);
    return 0;
}
