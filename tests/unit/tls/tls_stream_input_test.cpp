// tls_stream: what becomes of received bytes that nobody asks for, or that are no text of anybody.

#include "bare_client.hpp"
#include "tls/tls_stream.hpp"
#include "tls_stream_fixture.hpp"

namespace pillion::tls {
namespace {

using testing::bare_client;
using testing::tls_stream_test;

// Over a socket. What it sends goes out by pass(), in one piece.
class wired_client : public bare_client {
 public:
    wired_client(std::shared_ptr<context> with, int fd) : bare_client(std::move(with)), fd_(fd) {}
    wired_client(const wired_client&) = delete;
    wired_client& operator=(const wired_client&) = delete;
    ~wired_client() { ::close(fd_); }
    void pass() {
        EXPECT_EQ(::write(fd_, out.data(), out.size()), static_cast<ssize_t>(out.size()));
        out.clear();
        char some[16 * 1024];
        const ssize_t got = ::read(fd_, some, sizeof some);
        in.append(some, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    }
    void say(std::string_view text) { EXPECT_TRUE(write(text)); }
    void warn(unsigned char of) { EXPECT_TRUE(alert(MBEDTLS_SSL_ALERT_LEVEL_WARNING, of)); }

 private:
    int fd_;
};

class tls_stream_input_test : public tls_stream_test {
 protected:
    std::unique_ptr<wired_client> bare() {
        const int fd = connect_raw(serving());
        auto made = std::make_unique<wired_client>(calling(), fd);
        EXPECT_TRUE(until([&] {
            const bool over = made->shake();
            made->pass();
            return over && server.handshakes == 1;
        }));
        return made;
    }
    // What the client writes in `pieces` comes in one buffer. `held`: the server pauses behind the
    // first of them, and goes on later.
    template <typename Pieces>
    void arrive(wired_client& from, const Pieces& pieces, bool held) {
        if (held) {
            server.reader.when_data = [this](std::string_view) {
                server.stream->pause_reading();
                server.reader.when_data = nullptr;
            };
        }
        pieces();
        from.pass();
        if (held) {
            turns(5);
            EXPECT_EQ(server.reader.bytes, "first");
            server.stream->resume_reading();
        }
    }
};

// What lay unread when a stream was closed, but still had to send, was looked at for ever.
TEST_P(tls_stream_input_test, who_only_sends_leaves_what_is_held) {
    loop->set_output({64 * 1024, 16 * 1024, 512 * 1024});
    connect(calling(), serving());
    ASSERT_TRUE(established());
    server.stream->pause_reading();
    turns(3);
    for (const char* const request : {"first", "second"}) {
        client.write(*share, request);
        turns(3);
    }
    server.reader.when_data = [&](std::string_view) { server.stream->pause_reading(); };
    server.stream->resume_reading();
    ASSERT_TRUE(until([&] { return server.reader.bytes == "first"; }));
    client.stream->pause_reading();
    turns(3);
    const std::string answer(3'000'000, 'a');
    EXPECT_FALSE(server.write(*share, answer));
    server.stream->resume_reading();
    server.stream->close(true);
    turns(3);
    ASSERT_NE(server.stream, nullptr);
    client.stream->resume_reading();
    ASSERT_TRUE(until([&] { return client.reader.eofs == 1; }));
    EXPECT_TRUE(client.reader.bytes == answer);
    EXPECT_EQ(server.reader.bytes, "first");
    client.stream->close(true);
    ASSERT_TRUE(both_closed());
}

// Behind a warning, and behind two records without text, everything was kept and nothing read: for
// as long as the client went on sending.
TEST_P(tls_stream_input_test, what_follows_a_record_without_text_is_read) {
    constexpr unsigned char harmless[] = {MBEDTLS_SSL_ALERT_MSG_USER_CANCELED,
                                          MBEDTLS_SSL_ALERT_MSG_NO_RENEGOTIATION};
    for (const bool held : {false, true}) {
        const auto from = bare();
        const auto pieces = [&] {
            from->say("first");
            for (const unsigned char one : harmless) {
                from->warn(one);
                from->warn(one);
                from->say("");
                from->say("");
                from->say(", next");
            }
        };
        arrive(*from, pieces, held);
        ASSERT_TRUE(until([&] { return server.reader.bytes == "first, next, next"; }));
        EXPECT_EQ(server.reader.eofs, 0);
        from->say(", last");
        from->pass();
        ASSERT_TRUE(until([&] { return server.reader.bytes == "first, next, next, last"; }));
        server.stream->close(false);
        ASSERT_TRUE(until([&] { return server.stream == nullptr; }));
    }
}

// What follows the client's end was given to the reader if it had been held.
TEST_P(tls_stream_input_test, nothing_follows_the_end) {
    for (const bool held : {false, true}) {
        const auto from = bare();
        const auto pieces = [&] {
            from->say("first");
            from->say("second");
            from->warn(MBEDTLS_SSL_ALERT_MSG_CLOSE_NOTIFY);
            from->say("third");
            from->warn(MBEDTLS_SSL_ALERT_MSG_CLOSE_NOTIFY);
        };
        arrive(*from, pieces, held);
        ASSERT_TRUE(until([&] { return server.reader.eofs == 1; }));
        from->say("fourth");
        from->pass();
        turns(5);
        EXPECT_EQ(server.reader.bytes, "firstsecond");
        EXPECT_EQ(server.reader.eofs, 1);
        EXPECT_TRUE(server.stream->close_if_quiet());
        ASSERT_TRUE(until([&] { return server.stream == nullptr; }));
    }
}

INSTANTIATE_TEST_SUITE_P(backends, tls_stream_input_test,
                         ::testing::ValuesIn(io::testing::every_backend),
                         [](const auto& i) { return std::string(i.param); });

}  // namespace
}  // namespace pillion::tls
