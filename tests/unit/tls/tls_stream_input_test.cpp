// tls_stream: what becomes of received bytes that nobody asks for, or that are no text of anybody.

#include "tls/tls_stream.hpp"
#include "tls_stream_fixture.hpp"

namespace pillion::tls {
namespace {

using testing::tls_stream_test;

// A client that is the library and nothing else: it may send what ours never would. What it sends
// goes out by pass(), in one piece.
class bare_client {
 public:
    bare_client(std::shared_ptr<context> with, int fd) : with_(std::move(with)), fd_(fd) {
        mbedtls_ssl_init(&ssl_);
        EXPECT_EQ(mbedtls_ssl_setup(&ssl_, &with_->config()), 0);
        mbedtls_ssl_set_bio(&ssl_, this, &bare_client::send, &bare_client::receive, nullptr);
        EXPECT_EQ(with_->begin(ssl_), 0);
    }
    bare_client(const bare_client&) = delete;
    bare_client& operator=(const bare_client&) = delete;
    ~bare_client() {
        mbedtls_ssl_free(&ssl_);
        ::close(fd_);
    }
    // One step of the handshake; whether it is over.
    bool shake() {
        const int code = mbedtls_ssl_handshake(&ssl_);
        pass();
        return code == 0;
    }
    void write(std::string_view text) {
        const auto* const from = reinterpret_cast<const unsigned char*>(text.data());
        EXPECT_EQ(mbedtls_ssl_write(&ssl_, from, text.size()), static_cast<int>(text.size()));
    }
    void warn(unsigned char of) {
        EXPECT_EQ(mbedtls_ssl_send_alert_message(&ssl_, MBEDTLS_SSL_ALERT_LEVEL_WARNING, of), 0);
    }
    void pass() {
        EXPECT_EQ(::write(fd_, out_.data(), out_.size()), static_cast<ssize_t>(out_.size()));
        out_.clear();
    }

 private:
    static int send(void* self, const unsigned char* from, std::size_t bytes) {
        auto& me = *static_cast<bare_client*>(self);
        me.out_.append(reinterpret_cast<const char*>(from), bytes);
        return static_cast<int>(bytes);
    }
    static int receive(void* self, unsigned char* to, std::size_t bytes) {
        const ssize_t got = ::read(static_cast<bare_client*>(self)->fd_, to, bytes);
        return got > 0 ? static_cast<int>(got) : MBEDTLS_ERR_SSL_WANT_READ;
    }

    std::shared_ptr<context> with_;
    int fd_;
    mbedtls_ssl_context ssl_;
    std::string out_;
};

class tls_stream_input_test : public tls_stream_test {
 protected:
    std::unique_ptr<bare_client> bare() {
        const int fd = connect_raw(serving());
        auto made = std::make_unique<bare_client>(calling(), fd);
        EXPECT_TRUE(until([&] {
            const bool over = made->shake();
            return over && server.handshakes == 1;
        }));
        return made;
    }
    // What the client writes in `pieces` comes in one buffer. `held`: the server pauses behind the
    // first of them, and goes on later.
    template <typename Pieces>
    void arrive(bare_client& from, const Pieces& pieces, bool held) {
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
            from->write("first");
            for (const unsigned char one : harmless) {
                from->warn(one);
                from->warn(one);
                from->write("");
                from->write("");
                from->write(", next");
            }
        };
        arrive(*from, pieces, held);
        ASSERT_TRUE(until([&] { return server.reader.bytes == "first, next, next"; }));
        EXPECT_EQ(server.reader.eofs, 0);
        from->write(", last");
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
            from->write("first");
            from->write("second");
            from->warn(MBEDTLS_SSL_ALERT_MSG_CLOSE_NOTIFY);
            from->write("third");
            from->warn(MBEDTLS_SSL_ALERT_MSG_CLOSE_NOTIFY);
        };
        arrive(*from, pieces, held);
        ASSERT_TRUE(until([&] { return server.reader.eofs == 1; }));
        from->write("fourth");
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
