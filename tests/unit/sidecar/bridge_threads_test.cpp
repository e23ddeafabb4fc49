// The bridge between threads: handlers of two shards call servers whose home is the loop of one of
// them, over links that this file writes. Calls, cancellations, questions that park calls, servers
// that die, others that come, and the end, all at the same time.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <pillion/server.hpp>

#include "app/server_state.hpp"
#include "app/shard.hpp"
#include "base/assert.hpp"
#include "base/log.hpp"
#include "json/document.hpp"
#include "sidecar/bridge.hpp"
#include "sidecar/bridge_resources.hpp"
#include "sim/sim_world.hpp"
#include "unit/mcp/messages.hpp"

namespace pillion::sidecar {
namespace {

constexpr std::size_t shards = 2;
constexpr std::size_t clients = 4;
// Each client has one that asks, which it does for one call at a time, and one that hangs.
constexpr std::size_t servers = 2 * clients;

// What the servers have seen.
struct seen_counts {
    std::atomic<int> calls{0};
    std::atomic<int> cancels{0};
    // By server: how many of its lives are there and are to tell of its resource.
    std::atomic<int> followed[servers]{};
};

// A server of 2025-11-25 in this process. It says what it has to say in a later turn.
class scripted_link final : public server_link {
 public:
    scripted_link(io::reactor& loop, seen_counts& seen, const std::string& name)
        : loop_(loop), seen_(seen), number_(static_cast<std::size_t>(name[1] - '0')) {}
    ~scripted_link() override { follow(false); }

    void start(link_reader& reader) override { reader_ = &reader; }
    void send(std::string message) override {
        const auto parsed = json::document::parse(message);
        PILLION_ASSERT(parsed.ok());
        const json::view root = parsed->root();
        const json::view id = root["id"];
        const std::string_view method = root["method"].str();
        if (method == "notifications/cancelled") {
            ++seen_.cancels;
        } else if (method.empty()) {
            babble(std::exchange(babbles_, 0));
            answer(asking_, root["result"].exists() ? text("accepted") : text("refused"));
        } else if (id.exists()) {
            request(json_text(id), method, root["params"]);
        }
    }
    void close() noexcept override { end(); }

 private:
    static std::string text(std::string_view what) {
        return R"({"content":[{"type":"text","text":")" + std::string(what) + R"("}]})";
    }
    void request(const std::string& id, std::string_view method, json::view params) {
        if (method == "initialize") {
            answer(id,
                   R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{},)"
                   R"("resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1"}})");
        } else if (method == "tools/list") {
            std::string tools;
            for (const char* const name :
                 {"echo", "talk", "ask", "ask_and_babble", "hang", "die"}) {
                tools += std::string(tools.empty() ? "" : ",") + R"({"name":")" + name +
                         R"(","inputSchema":{"type":"object"}})";
            }
            answer(id, R"({"tools":[)" + tools + "]}");
        } else if (method == "resources/list") {
            answer(id, R"({"resources":[{"uri":"r://one","name":"one"}]})");
        } else if (method.starts_with("resources/") && method.ends_with("subscribe")) {
            follow(method == "resources/subscribe");
            answer(id, "{}");
        } else if (method == "tools/call") {
            ++seen_.calls;
            call(id, params);
        } else if (method == "ping") {
            answer(id, "{}");
        } else {
            say(R"({"jsonrpc":"2.0","id":)" + id +
                R"(,"error":{"code":-32601,"message":"Method not found"}})");
        }
    }
    void follow(bool on) { seen_.followed[number_] += int(on) - int(std::exchange(followed_, on)); }
    void call(const std::string& id, json::view params) {
        const std::string_view name = params["name"].str();
        const std::string token = json_text(params["_meta"]["progressToken"]);
        if (name == "die") {
            return end();
        }
        if (name.starts_with("ask")) {
            asking_ = id;
            babbles_ = name == "ask" ? 0 : 200;
            return say(R"({"jsonrpc":"2.0","id":"q)" + std::to_string(++asked_) +
                       R"(","method":"elicitation/create","params":{"message":"Sure?",)"
                       R"("requestedSchema":{"type":"object","properties":{}}}})");
        }
        if (name == "talk") {
            for (int i = 1; i <= 5; ++i) {
                say(R"({"jsonrpc":"2.0","method":"notifications/progress","params":)"
                    R"({"progressToken":)" +
                    token + R"(,"progress":)" + std::to_string(i) + "}}");
                say(R"({"jsonrpc":"2.0","method":"notifications/message","params":)"
                    R"({"level":"error","data":"well"}})");
            }
        }
        if (name != "hang") {
            answer(id, text(params["arguments"]["text"].str()));
        }
    }
    // More than fits in what is between a server and a client that does not read.
    void babble(int times) {
        const std::string much(100'000, 'x');
        for (int i = 0; i < times; ++i) {
            say(R"({"jsonrpc":"2.0","method":"notifications/message","params":)"
                R"({"level":"error","data":")" +
                much + "\"}}");
        }
    }
    void answer(const std::string& id, const std::string& result) {
        if (!id.empty()) {
            say(R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":)" + result + "}");
        }
    }
    void say(std::string what) {
        said_.push_back(std::move(what));
        loop_.arm_in_ms(timer_, 0);
    }
    void end() noexcept {
        ending_ = true;
        loop_.arm_in_ms(timer_, 0);
    }
    static void on_timer(io::timer&, void* owner) noexcept {
        auto& me = *static_cast<scripted_link*>(owner);
        for (const std::string& one : std::exchange(me.said_, {})) {
            me.reader_->on_message(one);
        }
        if (me.ending_) {
            me.reader_->on_end("it went");  // may destroy it
        }
    }

    io::reactor& loop_;
    seen_counts& seen_;
    std::size_t number_;
    link_reader* reader_ = nullptr;
    std::vector<std::string> said_;
    std::string asking_;
    int babbles_ = 0;  // before it answers
    int asked_ = 0;
    bool ending_ = false;
    bool followed_ = false;
    io::timer timer_{&scripted_link::on_timer, this};
};

bridge_spec spec_of(std::size_t which, std::uint64_t fingerprint) {
    bridge_spec one;
    one.name = "s" + std::to_string(which);
    one.prefix = one.name + "__";
    one.restart_min_ms = 1;
    one.restart_max_ms = 5;
    one.fingerprint = fingerprint;
    return one;
}

std::vector<bridge_spec> all_specs(std::uint64_t fingerprint = 1) {
    std::vector<bridge_spec> all;
    for (std::size_t i = 0; i < servers; ++i) {
        all.push_back(spec_of(i, i % 2 == 0 ? 1 : fingerprint));
    }
    return all;
}

class bridged_shards {
 public:
    bridged_shards() : host_("threads", "1"), set_(std::make_shared<app::settings>()) {
        log::set_level(log::level::off);
        host_.state().bridged = std::make_shared<bridge_resources>();
        host_.provide(host_.state().bridged);
        set_->io = io::backend_mode::epoll;
        set_->listen.emplace_back();
        set_->listen[0].host = "127.0.0.1";
        std::string fault;
        std::vector<std::string> warnings;
        service_ = std::make_unique<mcp::service>(
            mcp::registry::freeze(host_.state().defs, fault, warnings), host_, helpers_, shards,
            set_->service);
        {
            const std::lock_guard lock(host_.state().mutex);
            host_.state().running = service_.get();
        }
        auto sockets = io::open_listeners(set_->listen[0], shards);
        PILLION_ASSERT(sockets.ok());
        port_ = io::local_port(sockets->front().fd());
        for (std::size_t i = 0; i < shards; ++i) {
            std::vector<io::listen_socket> own;
            own.push_back(std::move((*sockets)[i]));
            shards_.push_back(std::make_unique<app::shard>(*service_, set_, i, std::move(own)));
        }
        for (std::size_t i = 0; i < shards; ++i) {
            threads_.emplace_back([this, i] { run(i); });
        }
        ready_.wait();
    }
    // Of the loop that the bridge is at home on.
    void at_home(std::function<void(bridge&)> job) {
        shards_[0]->loop().post([this, run = std::move(job)] { run(*bridge_); });
    }
    void end() {
        for (const auto& s : shards_) {
            s->loop().post([one = s.get()] { one->drain(); });
        }
        for (std::thread& t : threads_) {
            t.join();
        }
        for (const auto& s : shards_) {
            EXPECT_TRUE(s->left().clean());
            EXPECT_TRUE(s->ended_in_time());
        }
    }
    std::uint16_t port() const { return port_; }
    mcp::service& service() noexcept { return *service_; }
    seen_counts seen;

 private:
    void run(std::size_t which) {
        app::shard& one = *shards_[which];
        std::string note;
        std::string why;
        PILLION_ASSERT(one.open(note, why));
        if (which == 0) {
            bring_up(one.loop());
        }
        one.listen();
        ready_.arrive_and_wait();
        one.run();
        ended_.arrive_and_wait();  // nobody posts to a loop that has gone
        if (which == 0) {
            bridge_->close();
            while (!bridge_->idle()) {
                one.loop().run_one(1'000'000);
            }
            {
                const std::lock_guard lock(host_.state().mutex);
                host_.state().running = nullptr;
            }
            bridge_.reset();
        }
        one.close();
    }
    void bring_up(io::reactor& home) {
        const auto make = [this](io::reactor& loop, const bridge_spec& what) {
            return std::make_unique<scripted_link>(loop, seen, what.name);
        };
        bridge_ = std::make_unique<bridge>(host_, host_.state().bridged, service_->changes(), make);
        bridge_->start(home, all_specs());
        while (!bridge_->settled()) {
            home.run_one(1'000'000);
        }
    }

    server host_;
    std::shared_ptr<app::settings> set_;
    sim::inline_offload helpers_;
    std::unique_ptr<mcp::service> service_;
    std::uint16_t port_ = 0;
    std::vector<std::unique_ptr<app::shard>> shards_;
    std::unique_ptr<bridge> bridge_;
    std::vector<std::thread> threads_;
    std::latch ready_{shards};
    std::latch ended_{shards};
};

// A client of 2026-07-28, which any shard may serve: each request comes on a connection of its own.
class caller {
 public:
    caller(const bridged_shards& of, std::size_t which)
        : port_(of.port()), prefix_("s" + std::to_string(which) + "__") {}

    // Sends a call; the connection, or -1 where nobody listens.
    int begin(const std::string& tool, const std::string& more = {}) const {
        const std::string name = prefix_ + tool;
        return send("tools/call", name,
                    R"("name":")" + name + R"(","arguments":{"text":"hello"})" + more);
    }
    // The same of a stream that tells of the resource; it has begun.
    int listen() const {
        const int fd = send("subscriptions/listen", "",
                            R"("notifications":{"resourceSubscriptions":["r://one"]})");
        char first = 0;
        EXPECT_EQ(::recv(fd, &first, 1, MSG_PEEK), 1);
        return fd;
    }
    int send(const std::string& method, const std::string& name, const std::string& params) const {
        using mcp::testing::http_request;
        const std::string body =
            R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":{)" + params +
            R"(,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":1,)"
            R"("io.modelcontextprotocol/logLevel":"info",)"
            R"("io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}}})";
        std::string request = http_request("POST",
                                           {{"MCP-Protocol-Version", "2026-07-28"},
                                            {"Mcp-Method", method},
                                            {"Mcp-Name", name},
                                            {"Connection", "close"}},
                                           body);
        request.replace(request.find("localhost:8080"), 14, "127.0.0.1:" + std::to_string(port_));
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port_);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0 ||
            ::send(fd, request.data(), request.size(), MSG_NOSIGNAL) !=
                static_cast<ssize_t>(request.size())) {
            ::close(fd);
            return -1;
        }
        return fd;
    }
    // The last message of an answer; empty: there is none.
    static std::string read(int fd) {
        std::string all;
        char some[4096];
        for (ssize_t n = 0; fd >= 0 && (n = ::recv(fd, some, sizeof some, 0)) > 0;) {
            all.append(some, static_cast<std::size_t>(n));
        }
        if (fd >= 0) {
            ::close(fd);
        }
        const auto replies = mcp::testing::read_replies(all);
        return replies.empty() || !replies.back().complete ? "" : replies.back().message();
    }
    std::string call(const std::string& tool, const std::string& more = {}) const {
        return read(begin(tool, more));
    }
    // What the call is answered in the end, when all that is asked is answered.
    std::string ask() const {
        const std::string got = call("ask");
        const std::string more = answers_to(got);
        return more.empty() ? got : call("ask", more);
    }
    // The members of the next round; empty: it was the last one.
    static std::string answers_to(const std::string& got) {
        const auto parsed = json::document::parse(got);
        const json::view result = parsed ? parsed->root()["result"] : json::view();
        if (!result["requestState"].is_string()) {
            return {};
        }
        json::builder answers;
        answers.begin_object();
        for (const json::member one : result["inputRequests"].members()) {
            answers.key(one.key).raw(R"({"action":"accept","content":{}})");
        }
        answers.end_object();
        return R"(,"inputResponses":)" + std::string(answers.text()) + R"(,"requestState":)" +
               json_text(result["requestState"]);
    }

 private:
    std::uint16_t port_;
    std::string prefix_;
};

void at_once(const bridged_shards& on,
             const std::function<void(const caller&, const caller& hanging)>& work) {
    std::vector<std::thread> all;
    for (std::size_t i = 0; i < clients; ++i) {
        all.emplace_back([&on, &work, i] { work(caller(on, i), caller(on, clients + i)); });
    }
    for (std::thread& t : all) {
        t.join();
    }
}

// Every call is answered with something, and never with a fault of ours.
bool is_answer(const std::string& got) {
    return got.find(R"("result")") != got.npos || got.find("-32006") != got.npos ||
           got.find("-32602") != got.npos;
}

TEST(bridge_threads, calls_questions_and_cancellations) {
    bridged_shards on;
    std::atomic<int> hung{0};
    at_once(on, [&](const caller& c, const caller& hanging) {
        for (int i = 0; i < 25; ++i) {
            EXPECT_NE(c.call("echo").find("hello"), std::string::npos);
            const std::string talked = c.call("talk");
            EXPECT_NE(talked.find("hello"), std::string::npos) << talked;
            const std::string asked = c.ask();
            EXPECT_NE(asked.find("accepted"), std::string::npos) << asked;
            const int fd = hanging.begin("hang");
            if (i % 2 == 0) {
                std::this_thread::yield();
            }
            ::close(fd);
            ++hung;
        }
    });
    EXPECT_EQ(hung, 25 * int(clients));
    on.end();
    EXPECT_GE(on.seen.calls, 75 * int(clients));
}

// The call that was cancelled has reached its server by then.
TEST(bridge_threads, who_goes_cancels_what_the_server_works_on) {
    bridged_shards on;
    constexpr int rounds = 10;
    for (int i = 1; i <= rounds; ++i) {
        const int fd = caller(on, 0).begin("hang");
        while (on.seen.calls < i) {
            std::this_thread::yield();
        }
        ::close(fd);
        while (on.seen.cancels < i) {
            std::this_thread::yield();
        }
    }
    EXPECT_EQ(on.seen.cancels, rounds);
    on.end();
}

// A client that sends a round twice, and reads the answer to the first one last. That one took what
// was the other's, which ended the process or kept its loop busy for ever.
TEST(bridge_threads, a_round_may_come_twice) {
    bridged_shards on;
    for (int i = 0; i < 2; ++i) {
        const caller c(on, 0);
        const std::string round = caller::answers_to(c.call("ask_and_babble"));
        ASSERT_FALSE(round.empty());
        const int slow = c.begin("ask_and_babble", round);
        char first = 0;
        ASSERT_EQ(::recv(slow, &first, 1, MSG_PEEK), 1);  // it is being told what the server says
        const std::string quick = c.call("ask_and_babble", round);
        EXPECT_NE(quick.find("accepted"), std::string::npos) << quick.substr(0, 500);
        const std::string late = caller::read(slow);
        EXPECT_NE(late.find("-32602"), std::string::npos) << late.substr(0, 500);
        EXPECT_NE(c.call("echo").find("hello"), std::string::npos);
    }
    on.end();
}

// The youngest call made room, and its client waited until its time was over.
TEST(bridge_threads, where_all_that_wait_are_waited_for_one_more_is_refused) {
    bridged_shards on;
    coro::event nobody;
    std::vector<std::shared_ptr<bridged_call>> waiting;
    const auto at_home = [&on](const std::function<void(bridge&)>& job) {
        std::latch done{1};
        on.at_home([&](bridge& b) {
            job(b);
            done.count_down();
        });
        done.wait();
    };
    at_home([&](bridge& b) {
        for (std::size_t i = 0; i < parked_calls::calls_max; ++i) {
            bridged_call::request what;
            waiting.push_back(std::make_shared<bridged_call>(on.service(), what));
            waiting.back()->attach(0, nobody);
            parked_call overflow;
            EXPECT_NE(b.parked().keep({"s0", waiting.back()}, 0, overflow), "");
        }
    });
    const std::string got = caller(on, 0).call("ask");
    EXPECT_NE(got.find("-32006"), std::string::npos) << got;
    EXPECT_NE(got.find("Too many calls wait"), std::string::npos) << got;
    while (on.seen.cancels < 1) {  // the server does not work on it any more
        std::this_thread::yield();
    }
    at_home([&](bridge&) {
        for (const auto& one : waiting) {
            one->detach(nobody);
        }
    });
    EXPECT_NE(caller(on, 0).ask().find("accepted"), std::string::npos);
    on.end();
}

TEST(bridge_threads, servers_die_and_change_while_they_are_called) {
    bridged_shards on;
    std::atomic<bool> over{false};
    std::thread changing([&] {
        std::atomic<std::uint64_t> done{1};
        for (std::uint64_t i = 2; !over && i < 50; ++i) {
            on.at_home([i, &done](bridge& b) {
                b.change(all_specs(i));
                done = i;
            });
            while (done < i) {
                std::this_thread::yield();
            }
        }
    });
    std::atomic<int> good{0};
    at_once(on, [&](const caller& c, const caller&) {
        for (int i = 0; i < 40; ++i) {
            const std::string got = i % 8 == 7   ? c.call("die")
                                    : i % 4 == 3 ? c.ask()
                                                 : c.call("talk");
            EXPECT_TRUE(is_answer(got)) << got;
            good += got.find("hello") != got.npos ? 1 : 0;
        }
    });
    over = true;
    changing.join();
    EXPECT_GT(good, 0);
    on.end();
}

// All servers have the resource: it is that of the first of them. Whoever came or went while it was
// nobody's, or was on its way to another one, was forgotten.
TEST(bridge_threads, who_follows_a_resource_comes_and_goes_while_it_moves) {
    bridged_shards on;
    std::atomic<bool> over{false};
    const auto change = [&on](bool without_first) {
        std::latch done{1};
        on.at_home([&](bridge& b) {
            std::vector<bridge_spec> all = all_specs();
            all.erase(all.begin(), all.begin() + (without_first ? 1 : 0));
            b.change(all);
            done.count_down();
        });
        done.wait();
    };
    std::thread changing([&] {
        for (int i = 1; !over; ++i) {
            change(i % 2 == 1);
        }
    });
    at_once(on, [](const caller& c, const caller&) {
        for (int i = 0; i < 25; ++i) {
            ::close(c.listen());
        }
    });
    over = true;
    changing.join();
    change(false);
    // Until it is that one alone, or none.
    const auto wait_for = [&on](std::size_t which) {
        for (std::size_t i = 0; i < servers; ++i) {
            while (on.seen.followed[i] != (i == which ? 1 : 0)) {
                std::this_thread::yield();
            }
        }
    };
    wait_for(servers);
    const int fd = caller(on, 0).listen();
    wait_for(0);
    change(true);
    wait_for(1);
    change(false);
    wait_for(0);
    ::close(fd);
    wait_for(servers);
    on.end();
}

TEST(bridge_threads, the_end_meets_calls) {
    bridged_shards on;
    std::atomic<int> answered{0};
    std::thread ending([&] {
        while (answered < 20) {
            std::this_thread::yield();
        }
        on.at_home([](bridge& b) { b.close(); });
    });
    at_once(on, [&](const caller& c, const caller&) {
        for (int i = 0; i < 40; ++i) {
            const std::string got = i % 3 == 0 ? c.ask() : c.call("echo");
            EXPECT_TRUE(is_answer(got)) << got;
            ++answered;
        }
    });
    ending.join();
    EXPECT_NE(caller(on, 0).call("echo").find("-32006"), std::string::npos);
    on.end();
}

}  // namespace
}  // namespace pillion::sidecar
