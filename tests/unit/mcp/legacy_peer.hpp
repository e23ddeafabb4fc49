// A client of an earlier revision that can be asked, whatever carries its messages: Streamable
// HTTP, HTTP+SSE or a pipe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <pillion/ask.hpp>

#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {

// The limit of its questions.
inline constexpr std::int64_t limit_ms = 500;

// Asks as its arguments say and returns what came of it.
inline task<tool_result> ask(context& ctx, json::view args) {
    const std::chrono::milliseconds limit(args["limit"].i64().value_or(limit_ms));
    const std::chrono::milliseconds pause(args["wait"].i64().value_or(0));
    if (pause.count() > 0) {
        co_await ctx.sleep(pause);
    }
    if (args["what"].str() == "roots") {
        const result<roots_answer> answer = co_await ctx.roots();
        co_return answer ? ctx.text("roots: ", std::to_string(answer->roots.size()))
                         : ctx.error(answer.error());
    }
    if (args["what"].str() == "form") {
        elicit_request form("Which?");
        form.required("city", string()).limit(limit);
        const result<elicit_answer> answer = co_await ctx.elicit(form);
        co_return answer ? ctx.text("city: ", answer->content["city"].str())
                         : ctx.error(answer.error());
    }
    sample_request request(10);
    request.user("well?").limit(limit);
    const result<sample_answer> answer = co_await ctx.sample(request);
    co_return answer ? ctx.text("said: ", answer->text()) : ctx.error(answer.error());
}

inline world_options with_ask() {
    world_options o;
    o.more = [](server& s) { s.tool("ask").input(object().open()).run(&ask); };
    return o;
}

inline std::string answer_to(std::string_view id, std::string_view text) {
    return R"({"jsonrpc":"2.0","id":")" + std::string(id) +
           R"(","result":{"role":"assistant","model":"m","content":{"type":"text","text":")" +
           std::string(text) + R"("}}})";
}

inline constexpr std::string_view everything = R"({"sampling":{},"roots":{},"elicitation":{}})";

inline std::string handshake(std::string_view version, std::string_view capabilities) {
    return message("0", "initialize",
                   R"("protocolVersion":")" + std::string(version) + R"(","capabilities":)" +
                       std::string(capabilities) + R"(,"clientInfo":{"name":"t","version":"1"})");
}

enum class way { http, sse, pipe };

// A client of an earlier revision, whatever carries its messages.
class legacy_peer {
 public:
    legacy_peer(world& in, way how, std::string_view version,
                std::string_view capabilities = everything)
        : world_(in) {
        const std::string hello = handshake(version, capabilities);
        if (how == way::pipe) {
            pipe_ = std::make_unique<pipe_end>(in);
            pipe_->line(hello);
        } else if (how == way::sse) {
            ways_.push_back(&in.connect());
            ways_[0]->send(http_request("GET", {{"Accept", "text/event-stream"}}, "", "/sse"));
            address_ = ways_[0]->replies().at(0).events.at(0);
            say({hello});
        } else {
            session_ = in.connect().ask(http_request("POST", {}, hello)).headers["mcp-session-id"];
        }
        settled_ = read().size();
    }

    // A call; over HTTP on a connection of its own.
    void call(std::string_view id, std::string_view arguments = "{}") {
        const std::string body = call_body(id, "ask", arguments);
        if (session_.empty()) {
            return say({body});
        }
        ways_.push_back(&world_.connect());
        ways_.back()->send(legacy_post(session_, body));
    }
    // The same without letting the server work.
    void begin(std::string_view id, std::string_view arguments = "{}") {
        const std::string body = call_body(id, "ask", arguments);
        if (pipe_) {
            return pipe_->put(body + "\n");
        }
        client& by = world_.connect();
        if (!session_.empty()) {
            ways_.push_back(&by);
        }
        by.peer().send(framed(body));
    }
    // Other messages, all in one go.
    void say(const std::vector<std::string>& messages) {
        std::string bytes;
        for (const std::string& one : messages) {
            bytes += framed(one);
        }
        if (pipe_) {
            pipe_->bytes(bytes);
        } else {
            world_.connect().send(bytes);
        }
    }
    // The same on a connection that is there already, without letting the server work.
    void put(client& by, std::string_view one) {
        if (pipe_) {
            pipe_->put(std::string(one) + "\n");
        } else {
            by.peer().send(framed(one));
        }
    }
    // One of them after a time, which the caller lets pass.
    void say_after(std::int64_t delay_ns, std::string_view one) {
        if (pipe_) {
            return pipe_->line_after(delay_ns, one);
        }
        world_.connect().peer().send_after(delay_ns, framed(one));
    }
    // What the server said behind the handshake.
    std::vector<std::string> heard() const {
        std::vector<std::string> out;
        for (const said* one : read_behind_handshake()) {
            out.push_back(one->raw);
        }
        return out;
    }
    // Ids of the questions so far, and of those taken back.
    std::vector<std::string> questions() const {
        return of_method("sampling/createMessage", &said::name);
    }
    std::vector<std::string> taken_back() const {
        return of_method("notifications/cancelled", &said::taken_back);
    }
    // Texts of the replies to a call; one that is an error message is "error: …".
    std::vector<std::string> results(std::string_view id) const {
        std::vector<std::string> out;
        for (const said* one : read_behind_handshake()) {
            if (one->id == id && one->method.empty()) {
                out.push_back(one->text);
            }
        }
        return out;
    }
    // The one question there is.
    std::string question() const {
        const auto all_of_them = questions();
        EXPECT_EQ(all_of_them.size(), 1U);
        return all_of_them.empty() ? std::string() : all_of_them[0];
    }
    // A message as it travels.
    std::string framed(std::string_view one) const {
        if (pipe_) {
            return std::string(one) + "\n";
        }
        return session_.empty() ? http_request("POST", {}, one, address_)
                                : legacy_post(session_, one);
    }
    const std::string& session() const { return session_; }
    // The connection of the last call, or of the stream.
    client& connection() { return *ways_.back(); }
    pipe_end* pipe() { return pipe_.get(); }

 private:
    // A message from the server. Kept, because reading all of them again after each of hundreds of
    // calls took most of the time of all tests.
    struct said {
        explicit said(std::string text_of_it) : raw(std::move(text_of_it)) {
            const parsed p(raw);
            id = p.id();
            name = p["id"].str();
            method = p["method"].str();
            taken_back = p["params"]["requestId"].str();
            if (p["result"].exists()) {
                text = p.text();
            } else if (p["error"].exists()) {
                text = "error: " + std::string(p["error"]["message"].str());
            }
        }
        std::string raw;
        std::string id;    // as JSON
        std::string name;  // … that is a string
        std::string method;
        std::string taken_back;  // the question, where this is a notification that it is off
        std::string text;        // of a reply
    };
    // What came on one way, when it had brought so many bytes.
    struct record {
        std::size_t bytes = 0;
        std::vector<said> messages;

        void note(const std::vector<std::string>& all) {
            for (std::size_t i = 0; i < all.size(); ++i) {
                if (i == messages.size()) {
                    messages.emplace_back(all[i]);
                } else if (messages[i].raw != all[i]) {
                    messages[i] = said(all[i]);  // it had come in part
                }
            }
        }
    };

    void read_way(client& from, record& to) const {
        const std::size_t bytes = from.peer().received().size();
        if (bytes == to.bytes) {
            return;
        }
        to.bytes = bytes;
        std::vector<std::string> all;
        for (const http_reply& r : from.replies()) {
            if (r.streamed()) {
                all.insert(all.end(), r.events.begin(), r.events.end());
            } else {
                all.push_back(r.body);
            }
        }
        to.note(all);
    }
    std::vector<const said*> read() const {
        records_.resize(pipe_ ? 1 : ways_.size());
        if (pipe_) {
            records_[0].note(pipe_->lines());
        }
        std::vector<const said*> out;
        for (std::size_t i = 0; i < records_.size(); ++i) {
            if (!pipe_) {
                read_way(*ways_[i], records_[i]);
            }
            for (const said& one : records_[i].messages) {
                out.push_back(&one);
            }
        }
        return out;
    }
    std::vector<const said*> read_behind_handshake() const {
        std::vector<const said*> out = read();
        out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(settled_));
        return out;
    }
    std::vector<std::string> of_method(std::string_view method, std::string said::* member) const {
        std::vector<std::string> out;
        for (const said* one : read_behind_handshake()) {
            if (one->method == method) {
                out.push_back(one->*member);
            }
        }
        return out;
    }

    world& world_;
    std::unique_ptr<pipe_end> pipe_;
    std::vector<client*> ways_;
    std::string address_;
    std::string session_;
    std::size_t settled_ = 0;
    mutable std::vector<record> records_;  // of the pipe, or of each of the ways
};

}  // namespace pillion::mcp::testing
