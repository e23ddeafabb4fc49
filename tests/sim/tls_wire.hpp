// Two ends of TLS in a simulated world, and the wire between them, along which the test carries
// bytes: in pieces, late, changed, or not at all.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/assert.hpp"
#include "sim/sim_world.hpp"
#include "sim/stream_harness.hpp"
#include "tls/tls_stream.hpp"
#include "unit/tls/test_authority.hpp"

namespace pillion::sim {

struct tls_contexts {
    std::shared_ptr<tls::server_context> server;
    std::shared_ptr<tls::client_context> client;
    explicit tls_contexts(bool resume = false) {
        tls::testing::test_authority authority;
        tls::server_files files;
        files.certificates.push_back(authority.issue());
        tls::client_options options;
        options.server_name = "localhost";
        options.authorities = authority.pem();
        options.resume = resume;
        std::string fault;
        int index = 0;
        server =
            tls::server_context::make(files, std::make_shared<tls::ticket_keys>(), fault, index);
        PILLION_ASSERT(server != nullptr);
        client = tls::client_context::make(options, fault);
        PILLION_ASSERT(client != nullptr);
    }
    static const tls_contexts& all() {
        static const tls_contexts one;
        return one;
    }
};

struct tls_side {
    sim_peer peer;
    recording_reader reader;
    std::unique_ptr<tls::tls_stream> stream;
    bool finished = false;  // its end was passed on

    void open(sim_world& world, tls::loop_share& share, std::shared_ptr<tls::context> with) {
        peer = world.net().open();
        stream = std::make_unique<tls::tls_stream>(share, std::move(with), peer.fd(),
                                                   io::peer_name::of_text("sim"), nullptr);
        reader.when_closed = [this] { stream.reset(); };
        stream->start(reader);
    }
};

struct tls_wire {
    sim_world world;
    std::optional<tls::loop_share> share;
    tls_side server;
    tls_side client;

    explicit tls_wire(const sim_options& o = {}, const tls_contexts& with = tls_contexts::all())
        : world(o) {
        share.emplace(world.loop());
        server.open(world, *share, with.server);
        client.open(world, *share, with.client);
    }
    ~tls_wire() { end(); }
    // Closes both; "" when nothing is left behind, else what is. Once more: "".
    std::string end() {
        if (!share) {
            return "";
        }
        for (tls_side* one : {&server, &client}) {
            if (one->stream != nullptr) {
                one->stream->close(false);
            }
        }
        world.run();
        std::string left = share->idle() ? "" : "waiters ";
        left += server.reader.closed == 1 && client.reader.closed == 1 ? "" : "open streams ";
        share.reset();
        return left + world.leftovers();
    }
    bool write(tls_side& from, std::string_view text) {
        return from.stream->write(chunk_of(world.loop().chunks(), text));
    }
    // Carries what was sent; the end comes behind it.
    void carry(tls_side& from, tls_side& to) {
        const std::string bytes = from.peer.take();
        if (!bytes.empty() && !to.peer.closed()) {
            to.peer.send(bytes);
        }
        const bool ended = from.peer.saw_eof() || from.peer.closed();
        if (ended && !from.finished && !to.peer.closed()) {
            from.finished = true;
            to.peer.finish();
        }
    }
    void turn() {
        world.loop().run_one(100'000);
        carry(server, client);
        carry(client, server);
    }
    bool until(const std::function<bool()>& done, int turns = 60'000) {
        for (int i = 0; i < turns && !done(); ++i) {
            turn();
        }
        return done();
    }
};

// Contexts of a client that has a session to resume: their handshakes take no arithmetic on curves.
inline const tls_contexts& resuming_contexts() {
    static const tls_contexts with(true);
    static const bool known = [] {
        tls_wire first({}, with);
        return first.until([&] { return first.client.stream->established(); });
    }();
    PILLION_ASSERT(known);
    return with;
}

}  // namespace pillion::sim
