// Fuzzes the reader of event streams: any cutting gives the same events, a byte order mark and the
// kinds of line ends make no difference, nothing grows beyond its limit, and what was read is read
// again from what our writer makes of it.
//
// The first byte of an input chooses the size of the pieces and the limit.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_buffer.hpp"
#include "http/sse_parser.hpp"
#include "http/sse_writer.hpp"

namespace {

using pillion::http::sse_event;
using pillion::http::sse_parser;
using pillion::http::sse_state;

void check(bool holds) {
    if (!holds) {
        std::abort();
    }
}

struct heard {
    std::vector<sse_event> events;
    bool too_large = false;
    std::uint64_t retry_ms = 0;
    std::string last_id;
};

heard read(std::string_view in, std::size_t piece_bytes, std::size_t limit) {
    heard all;
    sse_parser parser(limit);
    while (!in.empty() && !all.too_large) {
        // A block of its exact size, so that any access outside of it is seen.
        std::string_view rest = in.substr(0, piece_bytes);
        const std::vector<char> block(rest.begin(), rest.end());
        in.remove_prefix(rest.size());
        rest = {block.data(), block.size()};
        while (!rest.empty() && !all.too_large) {
            const auto step = parser.feed(rest);
            check(step.consumed <= rest.size());
            all.too_large = step.state == sse_state::too_large;
            if (step.state == sse_state::event) {
                check(parser.event().data.size() <= limit);
                all.events.push_back(parser.event());
            }
            check(step.state != sse_state::need_more || step.consumed == rest.size());
            rest.remove_prefix(step.consumed);
        }
    }
    all.retry_ms = parser.retry_ms().value_or(~std::uint64_t{0});
    all.last_id = parser.last_event_id();
    return all;
}

void same(const heard& a, const heard& b) {
    check(a.too_large == b.too_large && a.events.size() == b.events.size());
    check(a.too_large || (a.retry_ms == b.retry_ms && a.last_id == b.last_id));
    for (std::size_t i = 0; i < a.events.size(); ++i) {
        check(a.events[i].id == b.events[i].id && a.events[i].type == b.events[i].type);
        check(a.events[i].data == b.events[i].data);
    }
}

// Our writer says the same; it writes what has no line ends.
void write_again(const heard& all) {
    const std::string_view ends("\r\n\0", 3);
    pillion::base::chunk_pool pool;
    for (const sse_event& e : all.events) {
        const std::string text = e.data + e.type + e.id;
        if (text.find_first_of(ends) != text.npos) {
            continue;
        }
        pillion::base::byte_buffer out(pool);
        pillion::http::sse_fields fields;
        fields.id = e.id;
        fields.event = e.type;
        pillion::http::append_sse_event(out, fields, e.data, false);
        const heard again = read(out.view(), out.size() + 1, std::size_t{1} << 20);
        check(again.events.size() == 1 && again.events[0].data == e.data);
        check(again.events[0].type == e.type && again.events[0].id == e.id);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 1) {
        return 0;
    }
    const std::string_view in(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::size_t limit = (data[0] & 0x80U) != 0 ? 48 : std::size_t{1} << 20;
    const heard whole = read(in, in.size() + 1, limit);
    same(whole, read(in, 1, limit));
    same(whole, read(in, 1 + data[0] % 17U, limit));
    // The mark counts for the limit of its line.
    if (!whole.too_large && limit > 48 && !in.starts_with("\xEF\xBB\xBF")) {
        const std::string marked = "\xEF\xBB\xBF" + std::string(in);
        same(whole, read(marked, 3, limit));
    }
    if (!whole.too_large) {
        write_again(whole);
    }
    return 0;
}
