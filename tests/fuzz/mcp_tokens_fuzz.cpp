// Fuzzes what clients carry around for us: cursors, sealed states, event ids, session ids and the
// ids of questions. What we have not made is refused; what is taken is our own spelling, to the
// byte; and what we made of the input is taken.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "base/arena.hpp"
#include "crypto/key_ring.hpp"
#include "mcp/client_call.hpp"
#include "mcp/cursor.hpp"
#include "mcp/event_log.hpp"
#include "mcp/session.hpp"

namespace {

using namespace pillion::mcp;

void check(bool holds) {
    if (!holds) {
        std::abort();
    }
}

void cursors(std::string_view in, pillion::base::arena& memory) {
    if (const auto at = decode_cursor(in, memory)) {
        check(encode_cursor(*at, memory) == in);
    }
    const position made{list_kind::prompts, static_cast<std::uint32_t>(in.size()), in};
    const std::string text(encode_cursor(made, memory));
    const auto back = decode_cursor(text, memory);
    check(back && back->kind == made.kind && back->number == made.number && back->after == in);
}

void event_ids(std::string_view in) {
    if (const auto id = event_id::parse(in)) {
        char text[event_id::room];
        check(std::string_view(text, id->write(text)) == in);
    }
}

void session_ids(std::string_view in) {
    if (const auto owner = session_table::owner_of(in)) {
        check(*owner < 256 && in.size() == session_table::new_id(*owner).size());
    }
    std::size_t shard = 0;
    check(!client_call::parse_id(in, shard) || shard < 256);
}

// `flip` chooses the byte of a good one that is changed.
void sealed(std::string_view in, std::size_t flip, pillion::base::arena& memory) {
    static const std::unique_ptr<pillion::crypto::key_ring> keys =
        pillion::crypto::key_ring::random();
    check(!keys->open(in, "bound", memory));
    std::string text(keys->seal(in, "bound", memory));
    const auto plain = keys->open(text, "bound", memory);
    check(plain && *plain == in && !keys->open(text, "other", memory));
    char& changed = text[flip % text.size()];
    changed = changed == 'A' ? 'B' : 'A';
    check(!keys->open(text, "bound", memory));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    const std::string_view in(reinterpret_cast<const char*>(data) + 2, size - 2);
    pillion::base::chunk_pool pool;
    pillion::base::arena memory(pool);
    cursors(in, memory);
    event_ids(in);
    session_ids(in);
    sealed(in, data[0] + 256U * data[1], memory);
    return 0;
}
