// Fuzz target: a whole MCP server under clients of both eras that send ready-made requests, bent
// ones and garbage over several connections and a pipe, go away, do not read, and let time pass.
//
// The input is a script: an opcode byte, then its operands. Nothing may crash or be left behind,
// and what was sent must read as replies whose bodies are JSON on one line.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/assert.hpp"
#include "base/limits.hpp"
#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {
namespace {

class script {
 public:
    script(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}
    bool done() const { return at_ == end_; }
    std::uint8_t next() { return done() ? std::uint8_t{0} : *at_++; }
    std::string bytes(std::size_t count) {
        const auto left = static_cast<std::size_t>(end_ - at_);
        count = count < left ? count : left;
        std::string text(reinterpret_cast<const char*>(at_), count);
        at_ += count;
        return text;
    }

 private:
    const std::uint8_t* at_;
    const std::uint8_t* end_;
};

struct ready_made {
    const char* method;
    const char* name;  // what Mcp-Name mirrors
    const char* params;
    const char* meta = "";
};

constexpr ready_made messages[] = {
    {"tools/call", "echo", R"("name":"echo","arguments":{"text":"x"})"},
    {"tools/call", "nap", R"("name":"nap","arguments":{"ms":20})"},
    {"tools/call", "steps", R"("name":"steps","arguments":{"count":3,"pause":5})",
     R"("progressToken":"p")"},
    {"tools/call", "watch", R"("name":"watch")"},
    {"tools/call", "stubborn", R"("name":"stubborn","arguments":{})"},
    {"tools/call", "throw_late", R"("name":"throw_late")"},
    {"tools/call", "chatter", R"("name":"chatter")",
     R"("io.modelcontextprotocol/logLevel":"debug")"},
    {"tools/call", "located", R"("name":"located","arguments":{"region":"eu","count":7})"},
    {"tools/call", "flood", R"("name":"flood","arguments":{"count":6})", R"("progressToken":1)"},
    {"tools/list", "", ""},
    {"prompts/get", "greet", R"("name":"greet","arguments":{"name":"n"})"},
    {"prompts/list", "", R"("cursor":"x")"},
    {"resources/read", "test://item/1", R"("uri":"test://item/1")"},
    {"resources/list", "", ""},
    {"resources/templates/list", "", ""},
    {"resources/subscribe", "", R"("uri":"test://a")"},
    {"logging/setLevel", "", R"("level":"debug")"},
    {"completion/complete", "",
     R"("ref":{"type":"ref/resource","uri":"test://item/{id}"},)"
     R"("argument":{"name":"id","value":""})"},
    {"subscriptions/listen", "",
     R"("notifications":{"toolsListChanged":true,"resourceSubscriptions":["test://a"]})"},
    {"server/discover", "", ""},
    {"ping", "", ""},
    {"notifications/cancelled", "", R"("requestId":1)"},
    {"initialize", "",
     R"("protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"f","version":"1"})"},
};
constexpr std::size_t kinds = sizeof messages / sizeof messages[0];

constexpr const char* ids[] = {"1", "\"1\"", "2", "", "null", "1.5", "12345678901234567890"};

// One byte changed, a piece cut out, or bytes put in.
void bend(std::string& text, script& s) {
    const std::uint8_t how = s.next();
    if (text.empty() || how % 4 == 0) {
        return;
    }
    const std::size_t at = (s.next() * 256U + s.next()) % text.size();
    switch (how % 4) {
        case 1:
            text[at] = static_cast<char>(s.next());
            break;
        case 2:
            text.erase(at, 1U + s.next() % 16U);
            break;
        default:
            text.insert(at, s.bytes(1U + how / 4U % 16U));
    }
}

class session_fuzz {
 public:
    session_fuzz() {
        for (int i = 0; i < 3; ++i) {
            clients_.push_back(&w_.connect());
        }
    }

    void play(script& s) {
        while (!s.done()) {
            step(s);
        }
        end();
    }

 private:
    void step(script& s) {
        const std::uint8_t op = s.next();
        const std::size_t which = op / 16U % 3U;
        switch (op % 16) {
            default:
                return post(s, which);
            case 8:
                return batch(s, which);
            case 9:
                return get_or_delete(s, which);
            case 10:
                strict_[which] = false;
                clients_[which]->send(s.bytes(1U + s.next()));
                return;
            case 11:
                return pass_ms(s.next() * 8);
            case 12:
                return replace(which, s.next());
            case 13:
                clients_[which]->peer().block(s.next() % 2 == 1);
                return w_.settle();
            case 14:
                return publish(s.next());
            case 15:
                return pipe(s);
        }
    }

    std::string modern_or_legacy(script& s, bool& is_modern, const ready_made*& m) {
        m = &messages[s.next() % kinds];
        const std::uint8_t how = s.next();
        is_modern = how % 2 == 1;
        std::string meta = m->meta;
        std::string params = m->params;
        if (is_modern) {
            params = joined(modern_meta(meta), params);
        } else if (!meta.empty()) {
            params = joined("\"_meta\":{" + meta + "}", params);
        }
        const bool note = std::string_view(m->method).starts_with("notifications/");
        return message(note ? "" : ids[how / 2U % (sizeof ids / sizeof ids[0])], m->method, params);
    }

    void post(script& s, std::size_t which) {
        bool is_modern = false;
        const ready_made* m = nullptr;
        std::string body = modern_or_legacy(s, is_modern, m);
        bend(body, s);
        header_list more;
        if (s.next() % 8 == 1) {
            more.emplace_back("Mcp-Param-Region", "eu");
            more.emplace_back("Mcp-Param-Count", "7.0");
        }
        std::string text =
            is_modern ? modern_post(m->method, m->name, body, more) : legacy_post(session(), body);
        if (s.next() % 8 == 1) {
            strict_[which] = false;
            bend(text, s);
        }
        clients_[which]->send(text);
    }

    void batch(script& s, std::size_t which) {
        std::string body = "[";
        for (std::size_t left = 1U + s.next() % 4U; left > 0; --left) {
            bool is_modern = false;
            const ready_made* m = nullptr;
            body += modern_or_legacy(s, is_modern, m) + (left > 1 ? "," : "");
        }
        body += "]";
        bend(body, s);
        clients_[which]->send(legacy_post(session(), body));
    }

    void get_or_delete(script& s, std::size_t which) {
        header_list h = {{"Mcp-Session-Id", session()}, {"Accept", "text/event-stream"}};
        const bool end = s.next() % 8 == 1;
        clients_[which]->send(http_request(end ? "DELETE" : "GET", h, ""));
        session_ = end ? "" : session_;
    }

    void replace(std::size_t which, std::uint8_t how) {
        how % 2 == 0 ? clients_[which]->peer().reset() : clients_[which]->peer().finish();
        w_.settle();
        check(which);
        clients_[which] = &w_.connect();
        strict_[which] = true;
    }

    void pass_ms(std::int64_t ms) {
        w_.pass_ms(ms);
        piped_.pass_ms(ms);
    }

    void publish(std::uint8_t what) {
        if (pipe_ != nullptr) {
            piped_.host.resource_updated("test://a");
            piped_.settle();
        }
        switch (what % 4) {
            case 0:
                w_.host.tools_changed();
                break;
            case 1:
                w_.host.prompts_changed();
                break;
            case 2:
                w_.host.resources_changed();
                break;
            default:
                w_.host.resource_updated("test://a");
        }
        w_.settle();
    }

    void pipe(script& s) {
        if (pipe_ == nullptr) {
            pipe_ = std::make_unique<pipe_end>(piped_);
        }
        const std::uint8_t how = s.next();
        if (how % 16 == 15) {
            pipe_->eof();
            return close_pipe();
        }
        bool is_modern = false;
        const ready_made* m = nullptr;
        std::string line = modern_or_legacy(s, is_modern, m);
        bend(line, s);
        pipe_->line(line);
    }

    void close_pipe() {
        if (pipe_ == nullptr) {
            return;
        }
        for (const std::string& line : pipe_->lines()) {
            PILLION_ASSERT(parsed(line).good());
        }
        pipe_.reset();
    }

    const std::string& session() {
        if (session_.empty()) {
            session_ = w_.open_session("2025-03-26");
        }
        return session_;
    }

    void check(std::size_t which) {
        if (!strict_[which]) {
            return;
        }
        for (const http_reply& r : clients_[which]->replies()) {
            if (!r.complete && !r.streamed()) {
                continue;
            }
            PILLION_ASSERT(r.status >= 200 && r.status < 600);
            if (!r.streamed() && !r.body.empty()) {
                PILLION_ASSERT(parsed(r.body).good());
            }
            for (const std::string& event : r.events) {
                PILLION_ASSERT(parsed(event).good());
            }
        }
    }

    // Everybody goes; what ignores its stop is let go.
    void end() {
        close_pipe();
        for (std::size_t i = 0; i < clients_.size(); ++i) {
            replace(i, 0);
        }
        w_.on.gate.set();
        w_.pass_ms(2000);
        if (!w_.left().empty()) {
            // A client that half-closed and does not read has its answers kept for a while, and
            // longer when a request is still behind them.
            w_.pass_ms(limits::idle_timeout_ms + limits::head_timeout_ms);
        }
        PILLION_ASSERT(w_.left().empty() && piped_.left().empty());
        w_.on.gate.reset();
        w_.on.record.clear();
        piped_.on.gate.reset();
        piped_.on.record.clear();
    }

    world piped_;  // a pipe has an engine to itself
    world w_;
    std::unique_ptr<pipe_end> pipe_;
    std::vector<client*> clients_;
    bool strict_[3] = {true, true, true};
    std::string session_;
};

}  // namespace
}  // namespace pillion::mcp::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using pillion::mcp::testing::session_fuzz;
    // A world costs more than an input; a few share one, which must be clean after each.
    static std::unique_ptr<session_fuzz> shared;
    static int uses = 0;
    if (shared == nullptr || ++uses % 32 == 0) {
        shared = nullptr;
        shared = std::make_unique<session_fuzz>();
    }
    pillion::mcp::testing::script s(data, size < 2048 ? size : 2048);
    shared->play(s);
    return 0;
}
