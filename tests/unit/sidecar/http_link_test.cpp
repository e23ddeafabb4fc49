// http_link: against a server over HTTP that this file writes, answer by answer, on each backend.
#include "sidecar/http_link.hpp"

#include <unistd.h>
#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "io/blocking_pool.hpp"
#include "json/document.hpp"
#include "rpc/errors.hpp"
#include "unit/io/backend_fixture.hpp"

namespace pillion::sidecar {
namespace {

using io::testing::backend_test;

const std::string asks_1 = R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})";
const std::string answer_1 = R"({"jsonrpc":"2.0","id":1,"result":{"a":"ü"}})";
const std::string initializes = R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})";
const std::string initialized = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";
const std::string welcome =
    R"({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{}}})";

// One request; names and values of its head in lower case.
struct asked {
    int on = -1;
    std::string head;
    std::string body;
    bool has(std::string_view part) const { return head.find(part) != head.npos; }
};

std::string reply(int status, const std::string& type, const std::string& body,
                  const std::string& more = {}) {
    return "HTTP/1.1 " + std::to_string(status) + " X\r\nContent-Type: " + type +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n" +
           more + "\r\n" + body;
}
std::string json_reply(const std::string& body, int status = 200, const std::string& more = {}) {
    return reply(status, "application/json", body, more);
}
std::string event_reply(const std::string& events) {
    return reply(200, "text/event-stream; charset=utf-8", events);
}
// A stream that goes on until the connection ends.
std::string open_stream(const std::string& events) {
    return "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" +
           events;
}

struct http_link_test : backend_test, link_reader {
    void SetUp() override {
        backend_test::SetUp();
        listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof at;
        ASSERT_EQ(::bind(listening, reinterpret_cast<sockaddr*>(&at), bytes), 0);
        ASSERT_EQ(::listen(listening, 64), 0);
        ::getsockname(listening, reinterpret_cast<sockaddr*>(&at), &bytes);
        std::string fault;
        spec.name = "s";
        spec.message_bytes_max = 100'000;
        spec.where = *client::parse_url(
            "http://127.0.0.1:" + std::to_string(ntohs(at.sin_port)) + "/mcp", fault);
    }
    void TearDown() override {
        if (it != nullptr && !ended) {
            it->close();
            for (const auto& [fd, text] : connections) {
                ::close(fd);
            }
            connections.clear();
            ::close(std::exchange(listening, -1));
            EXPECT_TRUE(drive([&] { return ended; }));
        }
        it.reset();
        for (const auto& [fd, text] : connections) {
            ::close(fd);
        }
        if (listening >= 0) {
            ::close(listening);
        }
        backend_test::TearDown();
    }

    // What answers a request that has its answer means nothing.
    void on_message(std::string_view message) override {
        const auto parsed = json::document::parse(message);
        const auto id = parsed ? parsed->root()["id"].u64() : std::nullopt;
        if (!id || waiting.erase(*id) > 0) {
            heard.emplace_back(message.substr(0, 100'000));
        }
    }
    bool waits_for(std::uint64_t number) const override { return waiting.contains(number); }
    void on_session_lost(std::uint64_t number) override { lost.push_back(number); }
    void on_gap() override { ++gaps; }
    void on_end(std::string what) override {
        EXPECT_FALSE(ended);
        ended = true;
        why = std::move(what);
    }

    void start() {
        ended = false;
        heard.clear();
        it = link_to_url(*loop, helpers, spec);
        it->start(*this);
    }
    void send(const std::string& message) {
        const auto parsed = json::document::parse(message);
        if (const auto id = parsed->root()["id"].u64()) {
            waiting.insert(*id);
        }
        it->send(message);
    }
    bool drive(const std::function<bool()>& done) {
        const std::int64_t end = loop->ops().now_ns() + 10'000'000'000;
        while (!done()) {
            if (loop->ops().now_ns() > end) {
                return false;
            }
            loop->run_one(200'000);
        }
        return true;
    }
    // The next request, whole.
    asked next() {
        asked got;
        EXPECT_TRUE(drive([&] { return take(got); })) << "no request came";
        return got;
    }
    bool take(asked& got) {
        for (int fd; (fd = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
            connections[fd];
        }
        for (auto& [fd, text] : connections) {
            char some[16384];
            for (ssize_t n; (n = ::recv(fd, some, sizeof some, MSG_DONTWAIT)) > 0;) {
                text.append(some, static_cast<std::size_t>(n));
            }
            const std::size_t end = text.find("\r\n\r\n");
            if (end == text.npos) {
                continue;
            }
            got.head = text.substr(0, end + 2);
            std::transform(got.head.begin(), got.head.end(), got.head.begin(), [](char c) {
                return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
            });
            const std::size_t at = got.head.find("content-length: ");
            const std::size_t bytes =
                at == got.head.npos ? 0 : std::stoul(got.head.substr(at + 16));
            if (text.size() >= end + 4 + bytes) {
                got.body = text.substr(end + 4, bytes);
                got.on = fd;
                text.clear();
                return true;
            }
        }
        return false;
    }
    // The peer of that connection has closed it.
    bool gone(int fd) {
        return drive([&] {
            char one;
            const ssize_t n = ::recv(fd, &one, 1, MSG_DONTWAIT);
            return n == 0 || (n < 0 && errno == ECONNRESET);
        });
    }
    // A send that blocked would wait for a reader which nobody drives.
    void say(const asked& to, std::string_view text) {
        EXPECT_TRUE(drive([&] {
            const ssize_t n = ::send(to.on, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
            EXPECT_TRUE(n >= 0 || errno == EAGAIN) << std::strerror(errno);
            text.remove_prefix(n > 0 ? static_cast<std::size_t>(n) : 0);
            return text.empty() || ::testing::Test::HasFailure();
        }));
    }
    void end(const asked& to) {
        ::close(to.on);
        connections.erase(to.on);
    }
    void answer(const asked& to, std::string_view text) {
        say(to, text);
        end(to);
    }
    // Waits for one more message.
    std::string hear() {
        EXPECT_TRUE(drive([&] { return !heard.empty(); })) << "nothing was heard";
        const std::string first = heard.empty() ? "" : heard.front();
        heard.clear();
        return first;
    }
    int hear_code() {
        const auto parsed = json::document::parse(hear());
        return static_cast<int>(parsed ? parsed->root()["error"]["code"].i64().value_or(0) : 0);
    }
    void begin_session() {
        start();
        send(initializes);
        answer(next(), json_reply(welcome, 200, "Mcp-Session-Id: abc\r\n"));
        EXPECT_EQ(hear(), welcome);
    }
    // Ended by us: the session is ended as well.
    void farewell() {
        it->close();
        const asked last = next();
        EXPECT_TRUE(last.head.starts_with("delete /mcp ") && last.has("mcp-session-id: abc\r\n"));
        answer(last, json_reply("{}"));
        EXPECT_TRUE(drive([&] { return ended; }));
        EXPECT_EQ(why, "it was closed");
    }

    io::blocking_pool helpers;
    bridge_spec spec;
    std::unique_ptr<server_link> it;
    int listening = -1;
    std::map<int, std::string> connections;  // and what came on them
    std::set<std::uint64_t> waiting;
    std::vector<std::string> heard;
    std::vector<std::uint64_t> lost;
    int gaps = 0;
    std::string why;
    bool ended = false;
};

TEST_P(http_link_test, a_session_from_its_begin_to_its_end) {
    spec.headers.emplace_back("Authorization", "Bearer x");
    start();
    send(initializes);
    const asked first = next();
    EXPECT_TRUE(first.head.starts_with("post /mcp http/1.1\r\n"));
    EXPECT_TRUE(first.has("accept: application/json, text/event-stream\r\n"));
    EXPECT_TRUE(first.has("content-type: application/json\r\n"));
    EXPECT_TRUE(first.has("authorization: bearer x\r\n"));
    EXPECT_FALSE(first.has("mcp-session-id"));
    EXPECT_EQ(first.body, initializes);
    answer(first, json_reply(welcome, 200, "Mcp-Session-Id: abc\r\n"));
    EXPECT_EQ(hear(), welcome);
    send(initialized);
    const asked second = next();
    EXPECT_TRUE(second.has("mcp-session-id: abc\r\n"));
    EXPECT_TRUE(second.has("mcp-protocol-version: 2025-06-18\r\n"));
    answer(second, json_reply("", 202));
    // It may have something to say by itself.
    const asked stream = next();
    EXPECT_TRUE(stream.head.starts_with("get /mcp ") && stream.has("mcp-session-id: abc\r\n"));
    EXPECT_TRUE(stream.has("accept: text/event-stream\r\n"));
    say(stream, open_stream("data: {\"method\":\"n\"}\n\n"));
    EXPECT_EQ(hear(), R"({"method":"n"})");
    send(R"({"jsonrpc":"2.0","id":2,"method":"ping"})");
    answer(next(), json_reply(R"({"id":2,"result":{}})"));
    EXPECT_EQ(hear(), R"({"id":2,"result":{}})");
    farewell();
    EXPECT_TRUE(gone(stream.on));
}

TEST_P(http_link_test, an_answer_split_anywhere_is_one) {
    start();
    for (const std::string& whole :
         {json_reply(answer_1), event_reply(": x\n\nid: 7\ndata: " + answer_1 + "\n\n")}) {
        for (std::size_t n = 0; n <= whole.size(); ++n) {
            send(asks_1);
            const asked got = next();
            say(got, std::string_view(whole).substr(0, n));
            turns(1);
            answer(got, std::string_view(whole).substr(n));
            ASSERT_EQ(hear(), answer_1) << n;
        }
    }
    EXPECT_FALSE(ended);
}

TEST_P(http_link_test, an_answer_cut_anywhere_is_none) {
    start();
    for (const std::string& whole :
         {json_reply(answer_1), event_reply("event: message\ndata: " + answer_1 + "\n\n")}) {
        for (std::size_t n = 0; n < whole.size(); ++n) {
            send(asks_1);
            answer(next(), std::string_view(whole).substr(0, n));
            ASSERT_EQ(hear_code(), rpc::unavailable) << n;
        }
    }
    EXPECT_FALSE(ended);
    // It is about one request: the next one is answered.
    send(asks_1);
    answer(next(), json_reply(answer_1));
    EXPECT_EQ(hear(), answer_1);
}

TEST_P(http_link_test, a_stream_that_breaks_is_taken_up) {
    start();
    send(asks_1);
    answer(next(), event_reply("id: e1\nretry: 1\ndata: {\"method\":\"n\"}\n\ndata: half"));
    EXPECT_EQ(hear(), R"({"method":"n"})");
    // More often than one that says nothing at all would be asked.
    for (int i = 0; i < 10; ++i) {
        const asked again = next();
        EXPECT_TRUE(again.head.starts_with("get /mcp ") && again.has("last-event-id: e1\r\n"));
        answer(again, event_reply(": nothing yet\n\n"));
    }
    answer(next(), event_reply("id: e2\ndata: " + answer_1 + "\n\n"));
    EXPECT_EQ(hear(), answer_1);
}

// What it told of meanwhile was never known.
TEST_P(http_link_test, a_stream_of_its_own_that_was_away_is_told_of) {
    begin_session();
    send(initialized);
    answer(next(), json_reply("", 202));
    // It is not there at first: what it said before is not known either.
    answer(next(), json_reply("", 503));
    const std::string head = open_stream("retry: 1\ndata: {\"method\":\"n\"}\n\n");
    for (int i = 1; i <= 3; ++i) {
        const asked stream = next();
        EXPECT_TRUE(stream.head.starts_with("get /mcp ")) << stream.head;
        EXPECT_EQ(gaps, i - 1);
        answer(stream, head);
        EXPECT_EQ(hear(), R"({"method":"n"})");
        EXPECT_EQ(gaps, i);
    }
    // One that has none any more is left alone.
    answer(next(), json_reply("", 405));
    turns(3);
    EXPECT_EQ(gaps, 3);
    farewell();
}

TEST_P(http_link_test, a_server_without_a_stream_has_no_gap) {
    for (const bool has_one : {false, true}) {
        begin_session();
        send(initialized);
        answer(next(), json_reply("", 202));
        const asked stream = next();
        if (has_one) {
            say(stream, open_stream("data: {\"method\":\"n\"}\n\n"));
            EXPECT_EQ(hear(), R"({"method":"n"})");
        } else {
            answer(stream, json_reply("", 405));
            turns(3);
        }
        EXPECT_EQ(gaps, 0);
        farewell();
        it.reset();
    }
}

// Without an id there is nothing to go on from.
TEST_P(http_link_test, a_stream_that_cannot_be_taken_up_is_an_error) {
    start();
    send(asks_1);
    answer(next(), event_reply("data: {\"method\":\"n\"}\n\n"));
    ASSERT_TRUE(drive([&] { return heard.size() == 2; }));
    EXPECT_NE(heard[1].find("ended its answer too early"), std::string::npos);
}

TEST_P(http_link_test, answers_that_are_none) {
    start();
    struct {
        std::string answer;
        int code;
    } const cases[] = {
        {json_reply("", 202), rpc::internal_error},
        {json_reply("{}", 500), rpc::unavailable},
        {json_reply("", 429), rpc::unavailable},
        {json_reply("no json", 403), rpc::internal_error},
        {json_reply(R"({"error":5})", 400), rpc::internal_error},
        {json_reply(R"({"error":{"code":-7,"message":"m"}})", 400), -7},
        {json_reply(R"({"id":9,"error":{"code":-8,"message":"m","data":[1]}})", 403), -8},
        // Where there is no session there is none to forget, and 404 is an error like others.
        {json_reply("", 404), rpc::internal_error},
        {json_reply("", 302, "Location: http://127.0.0.1:1/\r\n"), rpc::internal_error},
    };
    for (const auto& one : cases) {
        send(asks_1);
        answer(next(), one.answer);
        EXPECT_EQ(hear_code(), one.code) << one.answer;
    }
    EXPECT_TRUE(lost.empty() && !ended);
}

TEST_P(http_link_test, what_is_too_large_is_an_error_and_not_the_end) {
    start();
    const std::string large(spec.message_bytes_max + 1, 'x');
    for (const std::string& one : {json_reply(large), event_reply("data: " + large + "\n\n")}) {
        send(asks_1);
        const asked got = next();
        // It is not read to its end.
        static_cast<void>(::send(got.on, one.data(), one.size(), MSG_NOSIGNAL));
        EXPECT_EQ(hear_code(), rpc::internal_error);
        end(got);
    }
    const std::string fits = R"({"id":1,"result":")" + std::string(90'000, 'x') + "\"}";
    for (const std::string& one : {json_reply(fits), event_reply("data: " + fits + "\n\n")}) {
        send(asks_1);
        answer(next(), one);
        EXPECT_EQ(hear(), fits);
    }
    EXPECT_FALSE(ended);
}

TEST_P(http_link_test, a_session_that_was_forgotten) {
    for (const std::string& said :
         {json_reply("", 404), json_reply(R"({"error":{"code":-32000,"message":"Bad Request: )"
                                          R"(No valid session ID provided"},"id":null})",
                                          400)}) {
        begin_session();
        lost.clear();
        send(R"({"jsonrpc":"2.0","id":2,"method":"ping"})");
        const asked other = next();
        send(R"({"jsonrpc":"2.0","id":3,"method":"ping"})");
        answer(next(), said);
        ASSERT_TRUE(drive([&] { return !lost.empty(); }));
        // What is under way may have been looked at, and says so itself.
        EXPECT_FALSE(ended);
        answer(other, json_reply(R"({"id":2,"result":{}})"));
        EXPECT_EQ(hear(), R"({"id":2,"result":{}})");
        ASSERT_TRUE(drive([&] { return ended; }));
        EXPECT_EQ(lost, std::vector<std::uint64_t>{3});
        EXPECT_EQ(why, "it has forgotten the session");
        waiting.clear();
        it.reset();
    }
}

// A request that is wrong in itself said 400: the session was given up with all that was in it.
TEST_P(http_link_test, another_400_is_not_about_the_session) {
    begin_session();
    for (const char* const body :
         {R"({"error":{"code":-32602,"message":"Bad session name"},"id":1})",
          R"({"error":{"code":-32600,"message":"Bad"},"id":null})"}) {
        send(asks_1);
        answer(next(), json_reply(body, 400));
        EXPECT_NE(hear_code(), 0) << body;
    }
    EXPECT_TRUE(lost.empty());
    farewell();
}

TEST_P(http_link_test, who_is_cancelled) {
    begin_session();
    const std::string cancels =
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1)";
    send(asks_1);
    const asked first = next();
    send(cancels + "}}");
    EXPECT_TRUE(gone(first.on));
    end(first);
    const asked note = next();
    EXPECT_NE(note.body.find("cancelled"), std::string::npos);
    answer(note, json_reply("", 202));
    // 2026-07-28: the end of its connection says it.
    const std::string modern =
        R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"})";
    send(R"({"id":1,"method":"tools/call","params":{"name":"t",)" + modern + "}}");
    const asked second = next();
    EXPECT_TRUE(second.has("mcp-method: tools/call\r\n") && second.has("mcp-name: t\r\n"));
    EXPECT_FALSE(second.has("mcp-session-id"));
    send(cancels + "," + modern + "}}");
    EXPECT_TRUE(gone(second.on));
    end(second);
    farewell();  // nothing came before it
}

TEST_P(http_link_test, a_server_of_2024_is_fallen_back_to) {
    for (const int status : {400, 404, 405}) {
        start();
        send(initializes);
        answer(next(), json_reply("", status));
        const asked stream = next();
        EXPECT_TRUE(stream.head.starts_with("get /mcp "));
        send(asks_1);  // waits for the address
        const std::string head = open_stream("event: endpoint\ndata: /post?to=1\n\n");
        say(stream, std::string_view(head).substr(0, head.size() - 1));
        turns(2);
        say(stream, "\n");
        for (const std::string* const text : {&initializes, &asks_1}) {
            const asked post = next();
            EXPECT_TRUE(post.head.starts_with("post /post?to=1 ")) << post.head;
            EXPECT_EQ(post.body, *text);
            answer(post, reply(202, "text/plain", "Accepted"));
        }
        say(stream, "event: message\ndata: " + welcome + "\n\n");
        EXPECT_EQ(hear(), welcome);
        end(stream);
        ASSERT_TRUE(drive([&] { return ended; }));
        EXPECT_EQ(why, "its event stream ended");
        it.reset();
    }
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
constexpr bool sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool sanitized = false;
#endif

std::int64_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::int64_t all = 0;
    std::int64_t resident = 0;
    file >> all >> resident;
    return resident * ::sysconf(_SC_PAGESIZE);
}

// The allocator kept the memory of as many large answers as there were at a time.
TEST_P(http_link_test, memory_of_large_answers_goes_back) {
    spec.message_bytes_max = 16 * 1024 * 1024;
    start();
    constexpr std::uint64_t at_a_time = 6;
    const std::size_t bytes = 6 * 1024 * 1024;
    // Something that was allocated behind them, as there always is.
    std::vector<std::vector<std::string>> kept;
    const std::int64_t before = resident_bytes();
    for (const bool as_events : {false, true}) {
        std::vector<asked> all;
        for (std::uint64_t i = 1; i <= at_a_time; ++i) {
            const std::string id = R"({"jsonrpc":"2.0","id":)" + std::to_string(i);
            send(id + R"(,"method":"ping"})");
            all.push_back(next());
            const std::string head = id + R"(,"result":")";
            say(all.back(), as_events ? open_stream("data: ")
                                      : "HTTP/1.1 200 X\r\nContent-Type: application/json\r\n"
                                        "Connection: close\r\nContent-Length: " +
                                            std::to_string(head.size() + bytes + 2) + "\r\n\r\n");
            say(all.back(), head);
        }
        const std::string part(64 * 1024, 'x');
        for (std::size_t sent = 0; sent < bytes; sent += part.size()) {
            for (const asked& one : all) {
                say(one, part);
            }
        }
        for (const asked& one : all) {
            answer(one, as_events ? "\"}\n\n" : "\"}");
        }
        ASSERT_TRUE(drive([&] { return heard.size() == at_a_time; }));
        std::sort(heard.begin(), heard.end());  // each came by a connection of its own
        EXPECT_EQ(heard[0].substr(0, 34), R"({"jsonrpc":"2.0","id":1,"result":")");
        kept.push_back(std::exchange(heard, {}));
        turns(3);
    }
    // What frees it under a sanitizer keeps it on purpose.
    if (!sanitized) {
        EXPECT_LT(resident_bytes() - before, 8 * 1024 * 1024);
    }
}

// Messages hold what callers sent.
TEST_P(http_link_test, messages_go_to_no_other_origin) {
    spec.transport = bridge_transport::sse;
    const std::string port = std::to_string(spec.where.port);
    for (const std::string& place :
         {std::string("http://example.org/post"), std::string("//example.org/post"),
          "https://127.0.0.1:" + port + "/post", std::string("http://127.0.0.1:1/post"),
          "http://localhost:" + port + "/post", "http://user@127.0.0.1:" + port + "/post",
          std::string("http://[")}) {
        start();
        send(initializes);
        const asked stream = next();
        say(stream, open_stream("event: endpoint\ndata: " + place + "\n\n"));
        ASSERT_TRUE(drive([&] { return ended; })) << place;
        EXPECT_EQ(why, "it wants messages posted elsewhere") << place;
        end(stream);
        it.reset();
    }
}

TEST_P(http_link_test, nobody_there_is_the_end) {
    ::close(std::exchange(listening, -1));
    start();
    send(asks_1);
    ASSERT_TRUE(drive([&] { return ended; }));
    EXPECT_EQ(why, "it cannot be reached");
}

INSTANTIATE_TEST_SUITE_P(kernels, http_link_test, ::testing::Values("uring", "epoll"));

}  // namespace
}  // namespace pillion::sidecar
