// rpc_peer: a conversation with somebody who may send anything.
#include "sidecar/rpc_peer.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pillion::sidecar {
namespace {

struct side final : rpc_side {
    std::vector<std::string> sent;
    std::vector<std::string> heard;
    rpc_peer peer{*this};

    void send(std::string message) override { sent.push_back(std::move(message)); }
    void on_notification(std::string_view method, json::view params) override {
        heard.push_back("note " + std::string(method) + " " + json_text(params));
    }
    void on_request(std::string id, std::string_view method, json::view params) override {
        heard.push_back("asked " + id + " " + std::string(method) + " " + json_text(params));
    }
    void ask(const char* method, const char* params = "") {
        peer.ask(method, params, [this](const rpc_answer& what) {
            heard.push_back(what.lost             ? "lost"
                            : what.error.exists() ? "error " + json_text(what.error["code"])
                                                  : "result " + json_text(what.result));
        });
    }
};

TEST(rpc_peer, questions_and_answers_in_any_order) {
    side s;
    s.ask("a", R"({"x":1})");
    s.ask("b");
    EXPECT_EQ(s.sent[0], R"({"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1}})");
    EXPECT_EQ(s.sent[1], R"({"jsonrpc":"2.0","id":2,"method":"b"})");
    EXPECT_TRUE(s.peer.take(R"({"jsonrpc":"2.0","id":2,"error":{"code":-5,"message":"m"}})"));
    EXPECT_TRUE(s.peer.take(R"({"id":"1","result":{"y":null}})"));
    EXPECT_TRUE(s.peer.take(R"({"id":1,"result":{}})"));  // twice: nobody waits any more
    EXPECT_EQ(s.heard, (std::vector<std::string>{"error -5", R"(result {"y":null})"}));
    EXPECT_EQ(s.peer.waiting(), 0U);
}

TEST(rpc_peer, what_comes_by_itself) {
    side s;
    EXPECT_TRUE(s.peer.take(R"([{"method":"n","params":{"a":[1]}},{"id":"q","method":"r"}])"));
    EXPECT_EQ(s.heard, (std::vector<std::string>{R"(note n {"a":[1]})", R"(asked "q" r null)"}));
    s.peer.answer("\"q\"", R"({"ok":true})");
    s.peer.refuse("7", -32601, "no \"such\"");
    s.peer.notify("m", "{}");
    EXPECT_EQ(s.sent,
              (std::vector<std::string>{
                  R"({"jsonrpc":"2.0","id":"q","result":{"ok":true}})",
                  R"({"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no \"such\""}})",
                  R"({"jsonrpc":"2.0","method":"m","params":{}})"}));
}

TEST(rpc_peer, what_is_no_message_is_dropped) {
    side s;
    s.ask("a");
    for (const char* const text :
         {"", "x", "1", "null", "\"\"", "{}", "[]x", "[1]", R"({"id":1})", R"({"method":5,"id":1})",
          R"({"id":1,"error":5})", "[[[[", "\xff"}) {
        EXPECT_FALSE(s.peer.take(text)) << text;
    }
    for (const char* const text :
         {R"({"id":99,"result":1})", R"({"id":-1,"result":1})",
          R"({"id":"99999999999999999999","result":1})", R"({"id":null,"result":1})", "[]"}) {
        EXPECT_TRUE(s.peer.take(text)) << text;
    }
    EXPECT_EQ(s.peer.waiting(), 1U);
    EXPECT_TRUE(s.heard.empty());
}

TEST(rpc_peer, every_truncation_of_an_answer_is_no_answer) {
    const std::string whole = R"({"jsonrpc":"2.0","id":1,"result":{"content":[{"a":"ü"}]}})";
    side s;
    s.ask("a");
    for (std::size_t n = 0; n < whole.size(); ++n) {
        EXPECT_FALSE(s.peer.take(whole.substr(0, n))) << n;
    }
    EXPECT_TRUE(s.peer.take(whole));
    EXPECT_EQ(s.heard.size(), 1U);
}

TEST(rpc_peer, the_end_reaches_everybody_once) {
    side s;
    s.ask("a");
    s.ask("b");
    s.ask("c");
    s.peer.forget(2);
    s.peer.end();
    s.peer.end();
    EXPECT_EQ(s.heard, (std::vector<std::string>{"lost", "lost"}));
}

}  // namespace
}  // namespace pillion::sidecar
