// The part of model_client that does things.
#include <algorithm>
#include <utility>

#include "sim/model_client.hpp"

namespace pillion::sim {

namespace {

using mcp::testing::header_list;
using mcp::testing::http_request;
using mcp::testing::joined;
using mcp::testing::message;

constexpr std::size_t wires_max = 6;
constexpr std::size_t pipelined_max = 4;
// What clients can do; those of earlier revisions do not mind the extension.
constexpr const char* everything = R"({"sampling":{},"roots":{},"elicitation":{},)"
                                   R"("extensions":{"io.modelcontextprotocol/tasks":{}}})";

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

std::string digits(std::uint64_t n) { return std::to_string(n); }

// What the user says to a question of that method.
std::string answer_of(std::string_view method) {
    if (method == "roots/list") {
        return R"({"roots":[{"uri":"file:///a"}]})";
    }
    if (method == "elicitation/create") {
        return R"({"action":"accept","content":{"city":"Oslo"}})";
    }
    return R"({"role":"assistant","model":"m","content":{"type":"text","text":"well"}})";
}

// Answers to the inputRequests of a reply, as members of an object.
std::string answers_to(json::view requests) {
    std::string out;
    for (const json::member one : requests.members()) {
        out +=
            (out.empty() ? "" : ",") + quoted(one.key) + ":" + answer_of(one.value["method"].str());
    }
    return out;
}

}  // namespace

// ---- requests ----

call& model_client::new_call(std::string_view method, std::string params) {
    call c;
    const std::string n = digits(++numbers_);
    c.id = chance(2) ? n : quoted("i" + n);
    c.method = method;
    c.params = std::move(params);
    c.sent_ns = world_.now_ns();
    ++calls_made_;
    return calls_[c.id] = std::move(c);
}

std::string model_client::meta() const {
    return R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
           R"("io.modelcontextprotocol/logLevel":"info",)"
           R"("io.modelcontextprotocol/clientCapabilities":)" +
           std::string(everything);
}

std::string model_client::body_of(const call& c) const {
    std::string inner = is_modern() ? meta() : std::string();
    if (c.method == "tools/call") {
        inner = joined(inner, R"("progressToken":)" + quoted(c.tag));
    }
    return message(c.id, c.method,
                   joined(c.params, inner.empty() ? inner : R"("_meta":{)" + inner + "}"));
}

std::string model_client::framed(std::string_view body, std::string_view method,
                                 std::string_view name) const {
    header_list h;
    if (is_sse()) {
        return http_request("POST", h, body, endpoint_);
    }
    if (is_modern()) {
        h = {{"MCP-Protocol-Version", "2026-07-28"}};
        if (!method.empty()) {
            h.emplace_back("Mcp-Method", std::string(method));
        }
        if (!name.empty()) {
            h.emplace_back("Mcp-Name", std::string(name));
        }
    } else if (!session_.empty()) {
        h = {{"Mcp-Session-Id", session_}};
        if (speaks_ >= dialect::http_2025_06) {
            h.emplace_back("MCP-Protocol-Version", std::string(version()));
        }
    }
    return http_request("POST", h, body);
}

wire& model_client::new_wire() {
    const std::size_t shard = random_.below(world_.shards());
    wires_.push_back(
        std::make_unique<wire>(*this, world_, shard, journal_, name_ + "/" + digits(++numbers_)));
    return *wires_.back();
}

wire& model_client::any_wire(bool idle_only) {
    std::vector<wire*> good;
    for (const auto& w : wires_) {
        if (idle_only ? w->idle() : w->usable() && w->pending().size() < pipelined_max) {
            good.push_back(w.get());
        }
    }
    if (good.empty() || (wires_.size() < wires_max && chance(6))) {
        return new_wire();
    }
    return *good[random_.below(good.size())];
}

namespace {

// What Mcp-Name mirrors.
std::string name_in(const call& c) {
    for (const char* key : {"name", "uri", "taskId"}) {
        const std::string front = quoted(key) + ":\"";
        if (c.params.starts_with(front)) {
            return c.params.substr(front.size(), c.params.find('"', front.size()) - front.size());
        }
    }
    return {};
}

}  // namespace

void model_client::post(call& c, wire* on) {
    wire& w = on != nullptr ? *on : any_wire(chance(2));
    exchange e(is_sse() ? exchange::kind::note : exchange::kind::call, c.id);
    e.at_once = c.at_once || is_sse();
    e.unused_ns = world_.now_ns() - used_ns_;
    used_ns_ = world_.now_ns();
    w.send(std::move(e), framed(body_of(c), c.method, name_in(c)));
}

void model_client::post_note(std::string body, std::string_view cancels) {
    exchange e(exchange::kind::note, "");
    e.cancels = cancels;
    e.at_once = true;
    e.unused_ns = world_.now_ns() - used_ns_;
    used_ns_ = world_.now_ns();
    any_wire(true).send(std::move(e), framed(body, "", ""));
}

void model_client::notify(std::string_view method, std::string_view params,
                          std::string_view cancels) {
    post_note(message("", method, params), cancels);
}

// ---- actions ----

void model_client::act() {
    next_ns_ =
        world_.now_ns() + static_cast<std::int64_t>(random_.below(how_.pause_ms + 1)) * 1'000'000;
    if (winding_down_ || leaving_ || state_ == state::greeting) {
        return;
    }
    if (state_ == state::dead || chance(400)) {
        return leave();
    }
    if (state_ == state::fresh) {
        return begin();
    }
    using action = void (model_client::*)();
    const std::pair<std::uint64_t, action> all[] = {
        {how_.calls, &model_client::make_call},        {how_.plain, &model_client::plain_request},
        {how_.cancels, &model_client::cancel_one},     {how_.departures, &model_client::depart},
        {how_.blocks, &model_client::block_one},       {how_.streams, &model_client::open_stream},
        {how_.garbage, &model_client::send_garbage},   {how_.parts, &model_client::send_in_parts},
        {how_.tasks, &model_client::ask_task},         {how_.calls / 4, &model_client::make_batch},
        {how_.farewells, &model_client::say_farewell},
    };
    std::uint64_t sum = 0;
    for (const auto& one : all) {
        sum += one.first;
    }
    std::uint64_t at = random_.below(sum);
    for (const auto& [weight, run] : all) {
        if (at < weight) {
            return (this->*run)();
        }
        at -= weight;
    }
}

void model_client::begin() {
    if (is_modern()) {
        state_ = state::ready;
        return plain_request();
    }
    state_ = state::greeting;
    if (!is_sse()) {
        return handshake();
    }
    new_wire().send(exchange(exchange::kind::stands, ""),
                    http_request("GET", {{"Accept", "text/event-stream"}}, "", "/sse"));
}

void model_client::handshake() {
    call& c = new_call("initialize", R"("protocolVersion":)" + quoted(version()) +
                                         R"(,"capabilities":)" + std::string(everything) +
                                         R"(,"clientInfo":{"name":"sim","version":"1"})");
    c.at_once = true;
    post(c);
}

void model_client::make_call() {
    const auto ms = [&](std::uint64_t most) { return R"("ms":)" + digits(random_.below(most)); };
    const auto count = [&](std::uint64_t most) {
        return R"("count":)" + digits(1 + random_.below(most));
    };
    const auto bytes = [&](std::uint64_t most) {
        return R"("bytes":)" + digits(random_.below(most));
    };
    const char* const kinds[] = {"roots", "form", "sample"};
    const std::string what = R"("what":)" + quoted(kinds[random_.below(3)]);
    const bool as_task = (speaks_ == dialect::http_2025_11 && chance(2)) || is_modern();
    switch (random_.below(how_.hold_up ? 17 : 16)) {
        case 0:
        case 1:
            return call_tool("echo", "", false);
        case 2:
            return call_tool("big", bytes(chance(4) ? 300'000 : 5000), false);
        case 3:
            return call_tool("nap", ms(chance(3) ? 3000 : 50), false);
        case 4:
        case 5:
            return call_tool("steps", joined(count(30), ms(100)), false);
        case 6:
            return call_tool("chatter", joined(count(20), bytes(chance(3) ? 40'000 : 100)), false);
        case 7:
            return call_tool("watch", "", false);
        case 8:
            return call_tool("deaf", ms(1500), false);
        case 9:
            return call_tool("throws", ms(20), false);
        case 10:
            return call_tool("compute", "", false);
        case 11:
            return call_tool("away", ms(1500), false);
        case 12:
        case 13:
            return call_tool("ask", joined(joined(what, count(3)), ms(chance(4) ? 4000 : 50)),
                             false);
        case 14:
            return call_tool(chance(2) ? "job" : "must", joined(count(10), ms(200)), as_task);
        case 15:
            return chance(3)
                       ? call_tool("deaf_job", ms(1500), as_task)
                       : call_tool("asking_job", joined(joined(what, count(2)), ms(50)), as_task);
        default:
            return call_tool("stall", ms(400), false);
    }
}

void model_client::call_tool(std::string tool, const std::string& arguments, bool as_task) {
    const std::string tag = name_ + "." + digits(numbers_ + 1) + "!";
    std::string params = R"("name":)" + quoted(tool) + R"(,"arguments":{)" +
                         joined(R"("tag":)" + quoted(tag), arguments) + "}";
    if (as_task && !is_modern()) {
        params += R"(,"task":{})";
    }
    call& c = new_call("tools/call", std::move(params));
    c.at_once = tool == "echo" || tool == "big" || tool == "stall";
    c.tool = std::move(tool);
    c.tag = tag;
    post(c);
}

void model_client::plain_request() {
    struct plain {
        const char* method;
        std::string params;
    };
    const std::string tag = name_ + "." + digits(numbers_ + 1) + "!";
    const plain all[] = {
        {"tools/list", ""},
        {"resources/list", ""},
        {"resources/read", R"("uri":"sim://a")"},
        {"resources/read", R"("uri":"sim://item/7")"},
        {"prompts/get", R"("name":"greet","arguments":{"tag":)" + quoted(tag) + "}"},
        {"completion/complete", R"("ref":{"type":"ref/resource","uri":"sim://item/{id}"},)"
                                R"("argument":{"name":"id","value":"v"})"},
        {is_modern() ? "server/discover" : "ping", ""},
        {chance(2) ? "resources/subscribe" : "resources/unsubscribe", R"("uri":"sim://a")"},
    };
    const plain& one = all[random_.below(is_modern() ? 7 : 8)];
    call& c = new_call(one.method, one.params);
    c.at_once = true;
    c.tag = c.method == "prompts/get" ? tag : std::string();
    post(c);
}

void model_client::make_batch() {
    if (speaks_ != dialect::http_2025_03) {
        return make_call();
    }
    exchange e(exchange::kind::batch, "");
    std::string body;
    for (std::uint64_t left = 1 + random_.below(4); left > 0; --left) {
        const std::string tag = name_ + "." + digits(numbers_ + 1) + "!";
        const char* const tools[] = {"echo", "nap", "steps", "throws"};
        const std::string tool = tools[random_.below(4)];
        call& c =
            new_call("tools/call", R"("name":)" + quoted(tool) + R"(,"arguments":{"tag":)" +
                                       quoted(tag) + R"(,"ms":)" + digits(random_.below(60)) + "}");
        c.tool = tool;
        c.tag = tag;
        e.ids.push_back(c.id);
        body += (body.empty() ? "[" : ",") + body_of(c);
        if (chance(4)) {
            body += "," + message("", "notifications/roots/list_changed", "");
        }
    }
    e.unused_ns = world_.now_ns() - used_ns_;
    used_ns_ = world_.now_ns();
    any_wire(chance(2)).send(std::move(e), framed(body + "]", "", ""));
}

void model_client::cancel_one() {
    if (is_modern()) {
        return depart();
    }
    std::vector<call*> open;
    for (auto& [id, c] : calls_) {
        if (!c.answered && c.owed && !c.cancelled && c.method == "tools/call") {
            open.push_back(&c);
        }
    }
    if (open.empty()) {
        return;
    }
    call& c = *open[random_.below(open.size())];
    c.cancelled = true;
    c.begun = inside(c) != nullptr;
    notify("notifications/cancelled", R"("requestId":)" + c.id, c.id);
}

void model_client::depart() {
    if (wires_.empty()) {
        return;
    }
    wire& w = *wires_[random_.below(wires_.size())];
    switch (random_.below(3)) {
        case 0:
            return w.reset();
        case 1:
            return w.reset_after(1 + random_.below(3000));
        default:
            return hang_up(w);
    }
}

void model_client::block_one() {
    if (wires_.empty()) {
        return;
    }
    wire& w = *wires_[random_.below(wires_.size())];
    if (w.gone() || w.was_reset()) {
        return;
    }
    w.block(true);
    const std::string name = w.name();
    later(chance(4) ? 30'000 : 1000, [name](model_client& me) {
        for (const auto& one : me.wires_) {
            if (one->name() == name) {
                one->block(false);
            }
        }
    });
}

void model_client::open_stream() {
    if (is_sse()) {
        return plain_request();
    }
    // Somebody who is lost comes back.
    for (auto& [id, c] : calls_) {
        if (c.lost && c.owed && !c.answered) {
            return resume(c);
        }
    }
    if (is_modern()) {
        if (listens_) {
            return plain_request();
        }
        call& c = new_call("subscriptions/listen", R"("notifications":{"toolsListChanged":true,)"
                                                   R"("resourceSubscriptions":["sim://a"]})");
        c.owed = false;
        exchange e(exchange::kind::stands, c.id);
        new_wire().send(std::move(e), framed(body_of(c), c.method, ""));
        return;
    }
    exchange e(exchange::kind::stands, "");
    e.unused_ns = world_.now_ns() - used_ns_;
    new_wire().send(
        std::move(e),
        http_request("GET", {{"Mcp-Session-Id", session_}, {"Accept", "text/event-stream"}}, ""));
}

void model_client::resume(call& c) {
    c.lost = false;
    c.resumed = true;
    exchange e(exchange::kind::resume, c.id);
    e.unused_ns = world_.now_ns() - used_ns_;
    used_ns_ = world_.now_ns();
    new_wire().send(std::move(e), http_request("GET",
                                               {{"Mcp-Session-Id", session_},
                                                {"Accept", "text/event-stream"},
                                                {"Last-Event-ID", c.event_id}},
                                               ""));
}

void model_client::send_garbage() {
    garbled_ = true;
    call c;
    c.id = quoted("g" + digits(++numbers_));
    c.method = "tools/call";
    c.tag = "garbage";
    c.tool = chance(2) ? "echo" : "nap";
    c.params = R"("name":)" + quoted(c.tool) + R"(,"arguments":{"tag":"garbage","ms":5})";
    std::string text = framed(body_of(c), c.method, c.tool);
    for (std::uint64_t left = random_.below(5); left > 0 && !text.empty(); --left) {
        const std::size_t where = random_.below(text.size());
        switch (random_.below(4)) {
            case 0:
                text[where] = static_cast<char>(random_.below(256));
                break;
            case 1:
                text.erase(where, 1 + random_.below(20));
                break;
            case 2:
                text.insert(where, text.substr(random_.below(text.size()), random_.below(50)));
                break;
            default:
                text.resize(where + 1);
        }
    }
    wire& w = new_wire();
    w.send_garbage(text);
    const std::string name = w.name();
    later(5000, [name](model_client& me) {
        for (const auto& one : me.wires_) {
            if (one->name() == name) {
                one->reset();
            }
        }
    });
}

void model_client::send_in_parts() {
    const std::string tag = name_ + "." + digits(numbers_ + 1) + "!";
    call& c = new_call("tools/call", R"("name":"echo","arguments":{"tag":)" + quoted(tag) + "}");
    c.tool = "echo";
    c.tag = tag;
    exchange e(is_sse() ? exchange::kind::note : exchange::kind::call, c.id);
    e.unused_ns = INT64_MAX;  // nobody knows when its rest will come
    const std::string text = framed(body_of(c), c.method, "echo");
    const std::size_t cut = 1 + random_.below(text.size() - 1);
    wire& w = any_wire(true);
    w.send_part(std::move(e), std::string_view(text).substr(0, cut));
    if (chance(5)) {
        c.owed = false;
        return w.reset();
    }
    later(4000, [name = w.name(), rest = text.substr(cut)](model_client& me) {
        for (const auto& one : me.wires_) {
            if (one->name() == name) {
                one->send_rest(rest);
            }
        }
    });
}

void model_client::ask_task() {
    if (tasks_.empty()) {
        return make_call();
    }
    const client_task& t = tasks_[random_.below(tasks_.size())];
    const bool waits = !is_modern() && chance(3);
    call& c = new_call(waits       ? "tasks/result"
                       : chance(4) ? "tasks/cancel"
                                   : "tasks/get",
                       R"("taskId":)" + quoted(t.id));
    c.tag = t.tag;
    c.at_once = !waits;
    if (waits) {
        note_overtaken(c);
    }
    post(c);
}

void model_client::say_farewell() {
    if (is_modern() || is_sse() || ended_session_) {
        return;
    }
    ended_session_ = true;
    exchange e(exchange::kind::farewell, "");
    any_wire(true).send(std::move(e), http_request("DELETE", {{"Mcp-Session-Id", session_}}, ""));
    state_ = state::dead;
}

// ---- questions ----

void model_client::answer_question(const parsed& question) {
    const std::string id = question.id();
    const std::string method(question["method"].str());
    if (chance(6)) {
        return;  // never
    }
    std::string body = R"({"jsonrpc":"2.0","id":)" + id;
    if (chance(6)) {
        body += R"(,"error":{"code":-1,"message":"no"}})";
    } else {
        body += R"(,"result":)" + (chance(10) ? std::string("7") : answer_of(method)) + "}";
    }
    later(600, [body](model_client& me) {
        if (me.state_ == state::ready && !me.leaving_) {
            me.post_note(body);
        }
    });
}

void model_client::next_round(const call& of, const parsed& reply) {
    const json::view result = reply["result"];
    if (!result["requestState"].is_string() && !result["inputRequests"].is_object()) {
        fail("an empty round: " + reply.raw().substr(0, 200));
    }
    if (chance(5) || of.rounds > 5) {
        return;
    }
    std::string params = of.params.substr(0, of.params.find(R"(,"inputResponses")"));
    params += R"(,"inputResponses":{)" + answers_to(result["inputRequests"]) + "}";
    if (result["requestState"].is_string()) {
        params += R"(,"requestState":)" + quoted(result["requestState"].str());
    }
    later(300, [params, tool = of.tool, tag = of.tag, rounds = of.rounds](model_client& me) {
        if (me.leaving_) {
            return;
        }
        call& c = me.new_call("tools/call", params);
        c.tool = tool;
        c.tag = tag;
        c.rounds = rounds + 1;
        me.post(c);
    });
}

// ---- the end ----

void model_client::wind_down() {
    winding_down_ = true;
    for (const auto& w : wires_) {
        if (w->blocked()) {
            w->block(false);
        }
    }
    const bool resumes = state_ == state::ready && !is_modern() && !is_sse();
    for (auto& [id, c] : calls_) {
        if (!resumes) {
            c.owed = c.owed && !c.lost;
        } else if (c.lost && c.owed && !c.answered && !world_.draining()) {
            resume(c);
        }
    }
}

void model_client::leave() {
    if (leaving_) {
        for (const auto& w : wires_) {
            w->reset();
        }
        return;
    }
    leaving_ = true;
    for (const auto& w : wires_) {
        if (w->blocked()) {
            w->block(false);
        }
        chance(2) ? w->reset() : hang_up(*w);
    }
    later(3000, [](model_client& me) { me.leave(); });
}

}  // namespace pillion::sim
