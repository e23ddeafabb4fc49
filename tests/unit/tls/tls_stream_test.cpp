// tls_stream at both ends of a socket pair, over the real kernel.

#include "tls/tls_stream.hpp"

#include <algorithm>
#include <vector>

#include "tls_stream_fixture.hpp"

namespace pillion::tls {
namespace {

using testing::authority;
using testing::end;
using testing::leaf_options;
using testing::plain_refusal;
using testing::test_authority;
using testing::tls_stream_test;

TEST_P(tls_stream_test, bytes_go_both_ways_and_the_end_is_told) {
    connect(calling(), serving());
    client.write(*share, "asked before the handshake");
    server.reader.when_data = [&](std::string_view got) { server.write(*share, got); };
    ASSERT_TRUE(until([&] { return client.reader.bytes.size() == 26; }));
    EXPECT_EQ(client.reader.bytes, "asked before the handshake");
    EXPECT_EQ(share->counts().full, 2U);
    client.stream->shutdown_write();
    ASSERT_TRUE(until([&] { return server.reader.eofs == 1; }));
    server.write(*share, "; the last word");
    server.stream->close(true);
    ASSERT_TRUE(until([&] { return client.reader.eofs == 1; }));
    EXPECT_EQ(client.reader.bytes, "asked before the handshake; the last word");
    client.stream->close(true);
    ASSERT_TRUE(both_closed());
    EXPECT_EQ(client.reader.error, 0);
    EXPECT_EQ(server.reader.error, 0);
}

TEST_P(tls_stream_test, megabytes_with_a_reader_that_pauses) {
    connect(calling(), serving());
    std::string sent;
    for (int i = 0; i < 3'000'000; ++i) {
        sent += static_cast<char>(i * 7 % 251);
    }
    std::size_t at = 0;
    const auto feed = [&] {
        while (at < sent.size()) {
            const std::size_t size = std::min<std::size_t>(1 + at % 50'000, sent.size() - at);
            at += size;
            if (!client.write(*share, std::string_view(sent).substr(at - size, size))) {
                return;
            }
        }
        client.stream->shutdown_write();
    };
    client.reader.when_drained = feed;
    ASSERT_TRUE(established());
    int pieces = 0;
    server.reader.when_data = [&](std::string_view) {
        if (++pieces % 5 == 0) {
            server.stream->pause_reading();
        }
    };
    feed();
    ASSERT_TRUE(until([&] {
        if (pieces % 5 == 0) {
            server.stream->resume_reading();
        }
        return server.reader.eofs == 1;
    }));
    EXPECT_TRUE(server.reader.bytes == sent);
    server.stream->close(true);
    ASSERT_TRUE(until([&] { return client.reader.eofs == 1; }));
}

// One that is larger than what may wait was cut in its middle when its reader was slow: its records
// counted one by one. As without TLS, it passes by itself.
TEST_P(tls_stream_test, a_large_answer_to_a_slow_reader_arrives_whole) {
    loop->set_output({64 * 1024, 16 * 1024, 512 * 1024});
    std::string sent;
    for (int i = 0; i < 3'000'000; ++i) {
        sent += static_cast<char>(i * 7 % 251);
    }
    for (const bool closes : {false, true}) {
        connect(calling(), serving());
        ASSERT_TRUE(established());
        client.stream->pause_reading();
        turns(3);
        EXPECT_FALSE(server.write(*share, sent));
        if (closes) {
            // What is still to be sent is, and what comes meanwhile is nobody's.
            client.write(*share, "one more request");
            server.stream->close(true);
        } else {
            server.stream->shutdown_write();
        }
        turns(5);
        ASSERT_NE(server.stream, nullptr);
        EXPECT_GT(server.stream->queued_bytes(), 512U * 1024U);
        client.stream->resume_reading();
        ASSERT_TRUE(until([&] { return client.reader.eofs == 1; }));
        EXPECT_TRUE(client.reader.bytes == sent);
        EXPECT_EQ(server.reader.bytes, "");
        EXPECT_EQ(server.reader.drained, closes ? 0 : 1);
        client.stream->close(true);
        server.reader.when_eof = [this] { server.stream->close(true); };
        ASSERT_TRUE(both_closed());
    }
}

TEST_P(tls_stream_test, who_goes_on_writing_to_one_that_does_not_read_is_cut_off) {
    loop->set_output({64 * 1024, 16 * 1024, 512 * 1024});
    connect(calling(), serving());
    ASSERT_TRUE(established());
    client.stream->pause_reading();
    turns(3);
    EXPECT_FALSE(server.write(*share, std::string(3'000'000, 'a')));
    turns(5);
    ASSERT_NE(server.stream, nullptr);
    // One large message may pass the cap, and what is written around it has the cap for itself.
    server.write(*share, "a small one");
    turns(5);
    ASSERT_NE(server.stream, nullptr);
    server.write(*share, std::string(600'000, 'b'));
    ASSERT_TRUE(until([&] { return server.stream == nullptr; }));
    EXPECT_NE(server.reader.error, 0);
    EXPECT_LT(client.reader.bytes.size(), 3'000'000U);
}

TEST_P(tls_stream_test, small_writes_of_a_turn_are_one_record) {
    connect(calling(), serving());
    ASSERT_TRUE(established());
    int pieces = 0;
    client.reader.when_data = [&](std::string_view) { ++pieces; };
    for (int i = 0; i < 20; ++i) {
        server.write(*share, "an answer of one of the requests");
    }
    ASSERT_TRUE(until([&] { return client.reader.bytes.size() == 640; }));
    EXPECT_EQ(pieces, 1);
    end_both();
}

TEST_P(tls_stream_test, a_client_comes_back_with_a_ticket) {
    resume = true;
    const auto from = calling();
    const auto to = serving();
    for (int round = 0; round < 3; ++round) {
        connect(from, to);
        ASSERT_TRUE(established());
        EXPECT_EQ(server.resumed, round > 0);
        EXPECT_EQ(client.resumed, round > 0);
        server.write(*share, "hello");  // TLS 1.3 has its ticket read with it
        ASSERT_TRUE(until([&] { return client.reader.bytes == "hello"; }));
        end_both();
    }
    // A server with other keys begins anew, without complaint.
    tickets = std::make_shared<ticket_keys>();
    connect(from, serving());
    ASSERT_TRUE(established());
    EXPECT_FALSE(server.resumed);
    EXPECT_FALSE(client.resumed);
}

TEST_P(tls_stream_test, clients_believe_the_right_certificate_only) {
    name = "other.example.org";
    connect(calling(), serving());
    ASSERT_TRUE(both_closed());
    EXPECT_EQ(client.reader.error, EPROTO);
    EXPECT_EQ(client.handshakes, 0);
    EXPECT_NE(client.fault.find("CN"), std::string::npos) << client.fault;

    test_authority stranger("Stranger");
    files.certificates.clear();
    leaf_options options;
    options.dns = {"localhost"};
    files.certificates.push_back(stranger.issue(options));
    name = "localhost";
    connect(calling(), serving());
    ASSERT_TRUE(both_closed());
    EXPECT_EQ(client.handshakes, 0);

    verify = false;
    name = "other.example.org";
    connect(calling(), serving());
    EXPECT_TRUE(established());
}

TEST_P(tls_stream_test, addresses_are_looked_for_in_the_certificate) {
    files.certificates.clear();
    leaf_options options;
    options.addresses = {std::string("\x7f\x00\x00\x01", 4)};
    files.certificates.push_back(authority().issue(options));
    name = "127.0.0.1";
    connect(calling(), serving());
    ASSERT_TRUE(established());
    end_both();
    name = "127.0.0.2";
    connect(calling(), serving());
    ASSERT_TRUE(both_closed());
    EXPECT_EQ(client.handshakes, 0);
}

TEST_P(tls_stream_test, the_name_asked_for_chooses_the_certificate) {
    leaf_options other;
    other.dns = {"*.example.org"};
    files.certificates.push_back(authority().issue(other));
    for (const char* host : {"localhost", "a.example.org", "b.example.org"}) {
        name = host;
        connect(calling(), serving());
        ASSERT_TRUE(established()) << host;
        end_both();
    }
    // Nobody has it: the first certificate, which this client does not believe.
    name = "example.net";
    connect(calling(), serving());
    ASSERT_TRUE(both_closed());
    EXPECT_EQ(client.handshakes, 0);
}

TEST_P(tls_stream_test, client_certificates_are_identities) {
    files.client_authorities = authority().pem();
    leaf_options who;
    who.common_name = "alice";
    const certificate_text alice = authority().issue(who);
    resume = true;
    const auto from = calling(&alice);
    const auto to = serving();
    for (int round = 0; round < 2; ++round) {
        connect(from, to);
        ASSERT_TRUE(established());
        EXPECT_EQ(server.stream->peer_principal(), "cert:cn:alice");
        EXPECT_EQ(client.stream->peer_principal(), "");
        if (!compat::version3) {
            EXPECT_EQ(server.resumed, round > 0);
        }
        end_both();
    }
    // A ticket of clients of other authorities does not get in.
    test_authority stranger("Stranger");
    files.client_authorities = stranger.pem();
    connect(from, serving());
    ASSERT_TRUE(both_closed());
    EXPECT_EQ(server.handshakes, 0);
}

TEST_P(tls_stream_test, nobody_gets_in_without_a_certificate_that_is_good) {
    files.client_authorities = authority().pem();
    test_authority stranger("Stranger");
    leaf_options old;
    old.not_after = "20210101000000";
    leaf_options nobody;
    nobody.common_name.clear();
    const certificate_text refused[] = {stranger.issue(), authority().issue(old),
                                        authority().issue(nobody)};
    for (const certificate_text* identity :
         {static_cast<const certificate_text*>(nullptr), &refused[0], &refused[1], &refused[2]}) {
        connect(calling(identity), serving());
        client.write(*share, "let me in");
        ASSERT_TRUE(both_closed());
        EXPECT_EQ(server.handshakes, 0);
        EXPECT_EQ(server.reader.bytes, "");
        EXPECT_NE(server.fault, "");
        EXPECT_NE(client.fault, "");
    }
    EXPECT_GE(share->counts().failed, 4U);
}

TEST_P(tls_stream_test, plain_http_is_told_so) {
    const int fd = connect_raw(serving());
    ASSERT_EQ(::write(fd, "GET / HTTP/1.1\r\n\r\n", 18), 18);
    std::string got(1000, ' ');
    ssize_t size = -1;
    ASSERT_TRUE(until([&] { return (size = ::read(fd, got.data(), got.size())) > 0; }));
    EXPECT_EQ(got.substr(0, static_cast<std::size_t>(size)), plain_refusal);
    ASSERT_TRUE(until([&] { return ::read(fd, got.data(), got.size()) == 0; }));
    ::close(fd);
    ASSERT_TRUE(until([&] { return server.stream == nullptr; }));
    EXPECT_EQ(share->counts().plain, 1U);
    EXPECT_EQ(server.reader.bytes, "");
}

TEST_P(tls_stream_test, rubbish_is_refused_at_any_length) {
    for (const std::string& rubbish :
         {std::string("\x16\x03\x01\x02\x00\x01", 6), std::string(300, '\x16'),
          std::string("\x80\x2e\x01\x00\x02", 5), std::string(20'000, '\xff'),
          std::string("\x15\x03\x03\x00\x02\x02\x28", 7), std::string("get / http", 10)}) {
        const int fd = connect_raw(serving());
        ASSERT_EQ(::write(fd, rubbish.data(), rubbish.size()),
                  static_cast<ssize_t>(rubbish.size()));
        turns(3);
        ::close(fd);
        ASSERT_TRUE(until([&] { return server.stream == nullptr || server.reader.eofs > 0; }));
        if (server.stream != nullptr) {
            server.stream->close(true);
        }
        ASSERT_TRUE(until([&] { return server.stream == nullptr; }));
        EXPECT_EQ(server.handshakes, 0);
    }
}

// Everything the client sends comes in pieces of one byte, which the library asks for as it likes.
TEST_P(tls_stream_test, records_may_come_byte_by_byte) {
    connect(calling(), serving());
    ASSERT_TRUE(established());
    end_both();
    int to_server[2] = {-1, -1};
    int to_client[2] = {-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, to_server), 0);
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, to_client), 0);
    server = end();
    client = end();
    server.open(*share, serving(), to_server[0]);
    client.open(*share, calling(), to_client[0]);
    server.reader.when_data = [&](std::string_view got) { server.write(*share, got); };
    client.write(*share, "one byte at a time");
    const auto pass = [](int from, int to) {
        char one = 0;
        if (::read(from, &one, 1) == 1) {
            ASSERT_EQ(::write(to, &one, 1), 1);
        }
    };
    for (int turn = 0; turn < 20'000 && client.reader.bytes.size() < 18; ++turn) {
        pass(to_client[1], to_server[1]);
        pass(to_server[1], to_client[1]);
        loop->run_one(0);
    }
    EXPECT_EQ(client.reader.bytes, "one byte at a time");
    ::close(to_server[1]);
    ::close(to_client[1]);
}

// A request whose record was half there when the server began to end was lost.
TEST_P(tls_stream_test, a_part_of_a_record_is_not_quiet) {
    int to_server[2] = {-1, -1};
    int to_client[2] = {-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, to_server), 0);
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, to_client), 0);
    server.open(*share, serving(), to_server[0]);
    client.open(*share, calling(), to_client[0]);
    const auto pass = [](int from, int to, std::size_t most) {
        char buf[4096];
        const ssize_t got = ::read(from, buf, std::min(most, sizeof buf));
        return got > 0 && ::write(to, buf, static_cast<std::size_t>(got)) == got;
    };
    const auto relay = [&] {
        pass(to_client[1], to_server[1], 4096);
        pass(to_server[1], to_client[1], 4096);
        loop->run_one(2'000'000);
    };
    const auto write_and_pass_a_part = [&](std::string_view text) {
        client.write(*share, text);
        ASSERT_TRUE(until([&] { return pass(to_client[1], to_server[1], 11); }));
        turns(5);
    };
    ASSERT_TRUE(until([&] {
        relay();
        return server.handshakes == 1 && client.handshakes == 1;
    }));
    for (const char* const text : {"first", "second"}) {
        server.reader.bytes.clear();
        write_and_pass_a_part(text);
        EXPECT_FALSE(server.stream->close_if_quiet());
        ASSERT_TRUE(until([&] {
            relay();
            return server.reader.bytes == text;
        }));
    }
    // One that never becomes whole does not keep it open for ever.
    write_and_pass_a_part("third");
    int spared = 0;
    while (!server.stream->close_if_quiet()) {
        ASSERT_LT(++spared, 100);
    }
    EXPECT_GT(spared, 0);
    ASSERT_TRUE(until([&] { return server.stream == nullptr; }));
    ::close(to_server[1]);
    ::close(to_client[1]);
}

// A record that was changed on its way ends the connection, and nothing of it is believed.
TEST_P(tls_stream_test, changed_records_end_the_connection) {
    int to_server[2] = {-1, -1};
    int to_client[2] = {-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, to_server), 0);
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, to_client), 0);
    server.open(*share, serving(), to_server[0]);
    client.open(*share, calling(), to_client[0]);
    const auto pass = [](int from, int to, bool change) {
        char buf[4096];
        const ssize_t got = ::read(from, buf, sizeof buf);
        if (got > 0) {
            buf[got - 1] ^= static_cast<char>(change ? 1 : 0);
            ASSERT_EQ(::write(to, buf, static_cast<std::size_t>(got)), got);
        }
    };
    const auto relay = [&] {
        pass(to_client[1], to_server[1], client.reader.bytes == "ready");
        pass(to_server[1], to_client[1], false);
    };
    ASSERT_TRUE(until([&] {
        relay();
        loop->run_one(0);
        return server.handshakes == 1 && client.handshakes == 1;
    }));
    server.write(*share, "ready");
    ASSERT_TRUE(until([&] {
        relay();
        return client.reader.bytes == "ready";
    }));
    client.write(*share, "pay 1");
    while (server.stream != nullptr) {
        pass(to_client[1], to_server[1], true);
        loop->run_one(1'000'000);
    }
    EXPECT_EQ(server.reader.bytes, "");
    EXPECT_EQ(server.reader.error, EPROTO);
    EXPECT_EQ(share->counts().broken, 1U);
    ASSERT_TRUE(until([&] {
        relay();
        return client.stream == nullptr;
    }));
    ::close(to_server[1]);
    ::close(to_client[1]);
}

TEST_P(tls_stream_test, a_crowd_shakes_hands_in_portions) {
    const auto to = serving();
    const auto from = calling();
    constexpr std::size_t crowd = 12;
    std::vector<end> servers(crowd);
    std::vector<end> clients(crowd);
    for (std::size_t i = 0; i < crowd; ++i) {
        int ends[2] = {-1, -1};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
        servers[i].open(*share, to, ends[0]);
        clients[i].open(*share, from, ends[1]);
    }
    const auto all = [&](const auto& is) {
        return std::all_of(servers.begin(), servers.end(), is) &&
               std::all_of(clients.begin(), clients.end(), is);
    };
    ASSERT_TRUE(until([&] { return all([](const end& e) { return e.handshakes == 1; }); }));
    EXPECT_EQ(share->counts().full, 2 * crowd);
    for (std::size_t i = 0; i < crowd; ++i) {
        servers[i].stream->close(false);
        clients[i].stream->close(false);
    }
    ASSERT_TRUE(until([&] { return all([](const end& e) { return e.stream == nullptr; }); }));
}

// Closing while the handshake waits for its turn leaves nothing behind.
TEST_P(tls_stream_test, closing_at_every_turn) {
    const auto to = serving();
    const auto from = calling();
    for (int turn = 0; turn < 10; ++turn) {
        for (const bool flush : {false, true}) {
            connect(from, to);
            server.write(*share, "an answer that nobody waits for");
            turns(turn);
            server.reader.when_eof = [&] { server.stream->close(true); };
            client.reader.when_eof = [&] { client.stream->close(true); };
            if (server.stream != nullptr) {
                server.stream->close(flush);
            }
            ASSERT_TRUE(until([&] { return server.stream == nullptr; }));
            if (client.stream != nullptr) {
                client.stream->close(false);
            }
            ASSERT_TRUE(both_closed());
        }
    }
}
INSTANTIATE_TEST_SUITE_P(backends, tls_stream_test, ::testing::ValuesIn(io::testing::every_backend),
                         [](const auto& i) { return std::string(i.param); });

}  // namespace
}  // namespace pillion::tls
