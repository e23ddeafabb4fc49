// Fuzz target: somebody sits between the two ends of a TLS connection: carries bytes in any pieces,
// changes, repeats, drops and makes up some, while the ends write, pause, finish and close.
//
// Whatever is done, what an end reads is a beginning of what the other wrote, and nothing is left
// behind. Sessions are resumed from the second input on, so that a run takes no arithmetic on
// curves; before the first byte is carried the fuzzer may be the client itself.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/script.hpp"
#include "sim/tls_wire.hpp"

namespace pillion::sim {
namespace {

using fuzz::script;

// What is repeated again and again grows.
constexpr std::size_t repeated_bytes_max = 64 * 1024;

// What one end wrote, and what is on its way from it.
struct direction {
    std::string written;
    std::string under_way;
    bool changed = false;
};

class man_in_the_middle {
 public:
    explicit man_in_the_middle(const tls_contexts& with) : wire_({}, with) {}

    void play(script s) {
        while (!s.done()) {
            const std::uint8_t what = s.next();
            const bool up = what % 2 == 0;
            tls_side& from = up ? wire_.client : wire_.server;
            tls_side& to = up ? wire_.server : wire_.client;
            direction& way = up ? up_ : down_;
            way.under_way += from.peer.take();
            step(what / 2 % 12, s, from, to, way);
            wire_.world.loop().run_one(1000);
            check();
        }
        // Left alone, it comes to an end of some kind.
        for (int i = 0; i < 50; ++i) {
            wire_.turn();
        }
        check();
        PILLION_ASSERT(wire_.end().empty());
    }

 private:
    void step(int what, script& s, tls_side& from, tls_side& to, direction& way) {
        switch (what) {
            case 0:
            case 1:
                return carry(way.under_way.size(), to, way);
            case 2:
                return carry(s.next(), to, way);
            case 3:
                if (!way.under_way.empty()) {
                    way.under_way[s.next() % way.under_way.size()] ^=
                        static_cast<char>(1U << (s.next() % 8U));
                    way.changed = true;
                }
                return;
            case 4:
                way.under_way.erase(0, s.next());
                return;
            case 5:
                way.under_way.insert(0, s.bytes(s.next()));
                return;
            case 6:
                if (way.under_way.size() <= repeated_bytes_max) {
                    way.under_way += way.under_way;
                }
                return;
            case 7:
                return write(std::string(std::size_t{1} + s.next() * std::size_t{90}, 'w'), from,
                             way);
            case 8:
                if (to.stream != nullptr) {
                    s.next() % 2 == 0 ? to.stream->pause_reading() : to.stream->resume_reading();
                }
                return;
            case 9:
                if (from.stream != nullptr) {
                    from.stream->shutdown_write();
                }
                return;
            case 10:
                if (from.stream != nullptr && s.next() % 4 == 0) {
                    from.stream->close(s.next() % 2 == 0);
                }
                return;
            default:
                if (s.next() % 8 == 0) {
                    to.peer.finish();
                }
        }
    }
    void carry(std::size_t bytes, tls_side& to, direction& way) {
        bytes = bytes < way.under_way.size() ? bytes : way.under_way.size();
        if (bytes > 0 && !to.peer.closed()) {
            to.peer.send(way.under_way.substr(0, bytes));
        }
        way.under_way.erase(0, bytes);
    }
    void write(const std::string& text, tls_side& from, direction& way) {
        if (from.stream != nullptr) {
            way.written += text;
            wire_.write(from, text);
        }
    }
    void check() {
        PILLION_ASSERT(up_.written.starts_with(wire_.server.reader.bytes));
        PILLION_ASSERT(down_.written.starts_with(wire_.client.reader.bytes));
    }

    tls_wire wire_;
    direction up_;
    direction down_;
};

}  // namespace
}  // namespace pillion::sim

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace pillion::sim;
    const tls_contexts& with = resuming_contexts();
    if (size <= 4096) {
        man_in_the_middle(with).play({data, size});
    }
    return 0;
}
