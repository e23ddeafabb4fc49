// What the tests of tls_stream share: two ends of a socket pair, over the real kernel.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/stream_harness.hpp"
#include "test_authority.hpp"
#include "tls/tls_stream.hpp"
#include "unit/io/backend_fixture.hpp"

namespace pillion::tls::testing {

inline constexpr std::string_view plain_refusal = "HTTP/1.1 400 Bad Request\r\n\r\n";
inline std::string refuse_plain() { return std::string(plain_refusal); }

// One end.
struct end final : handshake_listener {
    std::unique_ptr<tls_stream> stream;
    sim::recording_reader reader;
    int handshakes = 0;
    bool resumed = false;
    std::string fault;

    void on_handshake(bool was_resumed) noexcept override {
        ++handshakes;
        resumed = was_resumed;
    }
    void open(loop_share& share, std::shared_ptr<context> with, int fd) {
        stream = std::make_unique<tls_stream>(share, std::move(with), fd,
                                              io::peer_name::of_text("test"), &refuse_plain, this);
        reader.when_closed = [this] {
            fault = stream->fault();
            stream.reset();
        };
        stream->start(reader);
    }
    bool write(loop_share& share, std::string_view text) {
        return stream->write(sim::chunk_of(share.loop().chunks(), text));
    }
};

class tls_stream_test : public io::testing::backend_test {
 protected:
    void SetUp() override {
        io::testing::backend_test::SetUp();
        if (loop != nullptr) {
            share.emplace(*loop);
            leaf_options options;
            options.dns = {"localhost"};
            files.certificates.push_back(authority().issue(options));
        }
    }
    void TearDown() override {
        if (loop == nullptr) {
            return;
        }
        for (end* one : {&server, &client}) {
            if (one->stream != nullptr) {
                one->stream->close(false);
                EXPECT_TRUE(until([&] { return one->stream == nullptr; }));
            }
        }
        EXPECT_TRUE(until([&] { return share->idle(); }));
        share.reset();
        io::testing::backend_test::TearDown();
    }

    std::shared_ptr<server_context> serving() {
        std::string fault;
        int index = 0;
        auto made = server_context::make(files, tickets, fault, index);
        EXPECT_NE(made, nullptr) << fault;
        return made;
    }
    std::shared_ptr<client_context> calling(const certificate_text* identity = nullptr) {
        client_options options;
        options.server_name = name;
        options.authorities = authority().pem();
        options.verify = verify;
        options.resume = resume;
        options.identity = identity;
        std::string fault;
        auto made = client_context::make(options, fault);
        EXPECT_NE(made, nullptr) << fault;
        return made;
    }
    void connect(std::shared_ptr<context> from, std::shared_ptr<context> to) {
        int ends[2] = {-1, -1};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
        server = end();
        client = end();
        server.open(*share, std::move(to), ends[0]);
        client.open(*share, std::move(from), ends[1]);
    }
    // Only the server's end is TLS.
    int connect_raw(std::shared_ptr<context> to) {
        int ends[2] = {-1, -1};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
        server = end();
        server.open(*share, std::move(to), ends[0]);
        return ends[1];
    }
    bool established() {
        return until([&] { return server.handshakes == 1 && client.handshakes == 1; });
    }
    bool both_closed() {
        return until([&] { return server.stream == nullptr && client.stream == nullptr; });
    }
    void end_both() {
        client.stream->close(true);
        server.reader.when_eof = [this] { server.stream->close(true); };
        ASSERT_TRUE(both_closed());
    }

    std::optional<loop_share> share;
    server_files files;
    std::shared_ptr<ticket_keys> tickets = std::make_shared<ticket_keys>();
    std::string name = "localhost";
    bool verify = true;
    bool resume = false;
    end server;
    end client;
};

}  // namespace pillion::tls::testing
