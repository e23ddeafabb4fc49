// Fuzz target: bytes in any partition into a connection whose handler answers now, later, with an
// event stream or not at all, while the peer stops reading, closes or resets, and time passes.
//
// The input is a script: an opcode byte, then its operands. Whatever it does, at the end nothing
// may be left: no connection, frame, chunk or timer (asserted by the world's destructor), and every
// byte sent must read as replies.
#include <cstddef>
#include <cstdint>

#include "fuzz/script.hpp"
#include "unit/http/connection_fixture.hpp"

namespace pillion::http::testing {
namespace {

using fuzz::script;

constexpr std::string_view ready_made[] = {
    "GET /a HTTP/1.1\r\nHost: x\r\n\r\n",
    "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
    "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "POST /d HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n",
    "GET /404 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "POST /404 HTTP/1.1\r\nHost: x\r\nContent-Length: 30\r\n\r\n",
    "POST /e HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
    "HEAD /f HTTP/1.1\r\nHost: x\r\nX-Request-Id: q\r\n\r\n",
};

// Does to the open exchange what the script says.
void use_exchange(test_handler& handler, std::uint8_t how) {
    if (handler.pending == nullptr) {
        return;
    }
    exchange& to = *handler.pending;
    const auto event = [&to](std::size_t bytes) {
        base::byte_buffer data(to.loop().chunks(), exchange::head_gap);
        data.append(std::string(bytes, 'e'));
        to.send_event(std::move(data), "id");
    };
    if (to.streaming()) {
        switch (how % 4) {
            case 0:
                handler.pending = nullptr;
                to.end_sse();
                return;
            case 1:
                event(5);
                return;
            case 2:
                event(200'000);
                return;
            default:
                handler.pending = nullptr;
                to.abort();
                return;
        }
    }
    switch (how % 6) {
        case 0:
            handler.answer();
            return;
        case 1:
            to.begin_sse();
            return;
        case 2:
            to.close_after();
            return;
        case 3:
            base::chunk_pool::give(to.take_body());
            return;
        case 4:
            handler.pending = nullptr;
            to.respond_empty(204);
            return;
        default:
            handler.pending = nullptr;
            to.abort();
            return;
    }
}

void step(world& all, wire& w, script& in) {
    const std::uint8_t code = in.next();
    const std::uint8_t operand = static_cast<std::uint8_t>(code >> 4U);
    switch (code & 15U) {
        case 0:
        case 1:
        case 2:
            w.deliver(in.bytes(in.next()));
            return;
        case 3:
        case 4:
            w.deliver(ready_made[operand % 8]);
            return;
        case 5: {
            const std::string_view request = ready_made[operand % 8];
            const std::size_t cut = in.next() % (request.size() + 1);
            w.deliver(request.substr(0, cut));
            w.deliver(request.substr(cut));
            return;
        }
        case 6:
            w.deliver(std::string(std::size_t{operand} * 1500, 'x'));
            return;
        case 7:
        case 8:
            use_exchange(all.handler, operand);
            return;
        case 9:
            all.handler.later = (operand & 1U) != 0;
            return;
        case 10:
            w.hold = (operand & 1U) != 0;
            return;
        case 11:
            w.read_some(std::size_t{operand} * 20'000);
            return;
        case 12:
            all.turn();
            return;
        case 13:
            all.pass_ms(operand * std::int64_t{6'000});
            return;
        case 14:
            if (operand < 12) {
                w.eof();
            } else {
                w.reset();
            }
            return;
        default:
            w.resume_at_once = (operand & 1U) != 0;
            w.close_at_once = (operand & 2U) != 0;
            all.handler.body_bytes_max = (operand & 4U) != 0 ? 7 : limits::body_bytes_max;
            if (operand == 15) {
                all.server_.drain();
            }
            return;
    }
}

}  // namespace
}  // namespace pillion::http::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace pillion::http::testing;
    script in(data, size);
    world all;
    wire& w = all.connect();
    w.keep_output = true;
    while (!in.done()) {
        step(all, w, in);
    }
    if (all.handler.pending != nullptr && !all.handler.pending->streaming()) {
        all.handler.answer();
    }
    all.turns(4);
    return 0;
}
