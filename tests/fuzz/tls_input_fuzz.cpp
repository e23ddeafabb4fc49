// Fuzz target: a client that is the library alone sends a server's end what ours never would:
// warnings, empty records, its end in the middle, more behind it. The bytes come in any pieces,
// while the server pauses, writes, finishes and closes.
//
// What the server's end reads is a beginning of what was written before the client's end; once all
// has been passed on and nobody pauses, it is all of it, unless something was sent that ends a
// connection. Sessions are resumed, so that a run takes no arithmetic on curves.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "fuzz/script.hpp"
#include "sim/tls_wire.hpp"
#include "unit/tls/bare_client.hpp"

namespace pillion::sim {
namespace {

using fuzz::script;

// The library ends a connection that has four empty records in a row; which of them are in a row,
// behind warnings, is its own affair.
constexpr int empty_max = 3;

class input_script {
 public:
    explicit input_script(const tls_contexts& with) : client_(with.client) {
        share_.emplace(world_.loop());
        side_.open(world_, *share_, with.server);
        for (int i = 0; i < 100 && !(client_.shake() && side_.stream->established()); ++i) {
            pass(client_.out.size());
        }
        PILLION_ASSERT(side_.stream->established());
    }

    void play(script s) {
        while (!s.done()) {
            step(s.next() % 12, s);
            world_.loop().run_one(1000);
            PILLION_ASSERT(expected_.starts_with(side_.reader.bytes));
        }
        if (side_.stream != nullptr) {
            side_.stream->resume_reading();
        }
        for (int idle = 0; idle < 50; ++idle) {
            const std::size_t before = side_.reader.bytes.size();
            pass(client_.out.size());
            idle = side_.reader.bytes.size() > before ? 0 : idle;
        }
        if (!may_end_) {
            PILLION_ASSERT(side_.stream != nullptr && side_.stream->established());
            PILLION_ASSERT(side_.reader.bytes == expected_);
            PILLION_ASSERT(side_.reader.eofs == (ended_ ? 1 : 0));
        }
        end();
    }

 private:
    void step(int what, script& s) {
        switch (what) {
            case 0:
                return pass(client_.out.size());
            case 1:
                return pass(s.next());
            case 2:
                return write(s.next());
            case 3:
                return write(std::size_t{1} + s.next() * std::size_t{64});
            case 4:
                return warn(s.next());
            case 5:
                return warn(MBEDTLS_SSL_ALERT_MSG_CLOSE_NOTIFY);
            case 6:
                may_end_ = true;
                client_.alert(MBEDTLS_SSL_ALERT_LEVEL_FATAL, s.next());
                return;
            case 7:
                may_end_ = true;
                client_.out.insert(0, s.bytes(s.next()));
                return;
            case 8:
                client_.read();
                return;
            default:
                if (side_.stream != nullptr) {
                    ours(what, s, *side_.stream);
                }
        }
    }
    // What the server's end is told to do.
    void ours(int what, script& s, tls::tls_stream& stream) {
        if (what == 9) {
            s.next() % 2 == 0 ? stream.pause_reading() : stream.resume_reading();
        } else if (what == 10) {
            const std::string text(std::size_t{1} + s.next() * std::size_t{90}, 'a');
            if (!stream.congested()) {
                stream.write(chunk_of(world_.loop().chunks(), text));
            }
        } else if (s.next() % 4 != 0) {
            stream.shutdown_write();
        } else {
            may_end_ = true;
            stream.close(s.next() % 2 == 0);
        }
    }
    void write(std::size_t bytes) {
        std::string text;
        for (std::size_t i = 0; i < bytes; ++i) {
            text += static_cast<char>('a' + position_++ % 23);
        }
        empty_ += bytes == 0 ? 1 : 0;
        may_end_ = may_end_ || empty_ > empty_max;
        if (client_.write(text) && !ended_) {
            expected_ += text;
        }
    }
    void warn(std::uint8_t of) {
        client_.alert(MBEDTLS_SSL_ALERT_LEVEL_WARNING, of);
        ended_ = ended_ || of == MBEDTLS_SSL_ALERT_MSG_CLOSE_NOTIFY;
    }
    void pass(std::size_t bytes) {
        bytes = std::min(bytes, client_.out.size());
        if (bytes > 0 && !side_.peer.closed()) {
            side_.peer.send(client_.out.substr(0, bytes));
        }
        client_.out.erase(0, bytes);
        world_.loop().run_one(1000);
        client_.in += side_.peer.take();
    }
    void end() {
        if (side_.stream != nullptr) {
            side_.stream->close(false);
        }
        world_.run();
        PILLION_ASSERT(side_.reader.closed == 1 && share_->idle());
        share_.reset();
        PILLION_ASSERT(world_.leftovers().empty());
    }

    sim_world world_;
    std::optional<tls::loop_share> share_;
    tls_side side_;
    tls::testing::bare_client client_;
    std::string expected_;  // was written before the client's end
    std::size_t position_ = 0;
    int empty_ = 0;
    bool ended_ = false;    // the client said so
    bool may_end_ = false;  // something was done that ends a connection
};

}  // namespace
}  // namespace pillion::sim

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace pillion::sim;
    const tls_contexts& with = resuming_contexts();
    if (size <= 4096) {
        input_script(with).play({data, size});
    }
    return 0;
}
