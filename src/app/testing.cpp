#include <set>
#include <utility>

#include <pillion/testing.hpp>

#include "app/test_host.hpp"
#include "json/document.hpp"
#include "mcp/memory_pipe.hpp"
#include "mcp/revision.hpp"

namespace pillion::testing {

// ---- client_options ----

client_options& client_options::revision(std::string_view version) {
    revision_ = version;
    return *this;
}

client_options& client_options::capabilities(std::string_view json) {
    capabilities_ = json;
    return *this;
}

client_options& client_options::on(std::string_view method, question_handler handler) {
    questions_[std::string(method)] = std::move(handler);
    return *this;
}

// ---- answer ----

answer::answer(std::string_view text) : text_(std::make_shared<const std::string>(text)) {
    auto parsed = json::document::parse(text);
    if (parsed) {
        auto kept = std::make_shared<const json::document>(std::move(*parsed));
        root_ = kept->root();
        parsed_ = std::move(kept);
    }
}

bool answer::ok() const { return result().exists() && !result()["isError"].boolean(); }

int answer::error_code() const { return static_cast<int>(error()["code"].i64().value_or(0)); }

std::string_view answer::text() const {
    for (const json::view block : result()["content"].elements()) {
        if (block["text"].is_string()) {
            return block["text"].str();
        }
    }
    for (const json::view contents : result()["contents"].elements()) {
        if (contents["text"].is_string()) {
            return contents["text"].str();
        }
    }
    for (const json::view message : result()["messages"].elements()) {
        if (message["content"]["text"].is_string()) {
            return message["content"]["text"].str();
        }
    }
    return {};
}

// ---- client ----

class client::impl final : public app::test_guest {
 public:
    impl(server& s, client_options options) : options_(std::move(options)) {
        host_ = app::test_host::of(s, fault_);
        if (host_ == nullptr) {
            return;
        }
        pipe_ = std::make_unique<mcp::memory_pipe>(
            host_->engine(), [this](std::string_view text) { receive(text); });
        host_->join(*this);
        greet();
    }

    ~impl() {
        if (host_ == nullptr) {
            return;
        }
        pipe_->close();
        // Cancelled handlers run to their end, wherever that is in time.
        constexpr std::chrono::hours patience(24);
        const auto until = host_->elapsed() + patience;
        while (!pipe_->ended() && host_->elapsed() < until && host_->step(patience)) {
        }
        host_->leave(*this);
        pipe_.reset();
    }

    bool between_turns() override;
    std::int64_t start(std::string_view method, std::string_view params);
    answer wait(std::int64_t id);
    void send_notification(std::string_view method, std::string_view params);

    client_options options_;
    std::string fault_;
    answer welcome_;
    std::shared_ptr<app::test_host> host_;
    std::unique_ptr<mcp::memory_pipe> pipe_;
    std::map<std::int64_t, answer> answers_;
    std::set<std::int64_t> waiting_;
    std::vector<answer> notifications_;

 private:
    bool modern() const { return options_.revision_ == mcp::name_of(mcp::modern); }
    std::string capabilities() const;
    void greet();
    void receive(std::string_view text);
    void answer_question(const answer& question);

    // A request as it was made, for the rounds that follow it.
    struct sent {
        std::string method;
        std::string params;
    };
    bool answer_round(std::int64_t id, const answer& asked);
    void send_request(std::int64_t id, const sent& what, std::string_view more);

    std::vector<answer> questions_;  // not answered yet
    std::map<std::int64_t, sent> sent_;
    std::int64_t last_id_ = 0;
};

// Whether the test itself wrote JSON that no client would send.
static bool is_object(std::string_view text) {
    const auto parsed = json::document::parse(text);
    return parsed && parsed->root().is_object();
}

// What the questions it answers need.
std::string client::impl::capabilities() const {
    if (!options_.capabilities_.empty()) {
        return options_.capabilities_;
    }
    json::builder b;
    b.begin_object();
    if (options_.questions_.contains("sampling/createMessage")) {
        b.key("sampling").begin_object().end_object();
    }
    if (options_.questions_.contains("elicitation/create")) {
        b.key("elicitation").begin_object();
        b.key("form").begin_object().end_object().key("url").begin_object().end_object();
        b.end_object();
    }
    if (options_.questions_.contains("roots/list")) {
        b.key("roots").begin_object().member("listChanged", true).end_object();
    }
    b.end_object();
    return std::string(b.text());
}

void client::impl::greet() {
    if (modern()) {
        welcome_ = wait(start("server/discover", "{}"));
        return;
    }
    json::builder b;
    b.begin_object().member("protocolVersion", options_.revision_);
    b.key("capabilities").raw(capabilities());
    b.key("clientInfo").begin_object().member("name", "pillion-testing").member("version", "1");
    b.end_object().end_object();
    welcome_ = wait(start("initialize", b.text()));
    send_notification("notifications/initialized", "{}");
}

void client::impl::receive(std::string_view text) {
    answer message(text);
    const json::view id = message.root()["id"];
    if (message.method().empty()) {
        const std::int64_t number = id.i64().value_or(0);
        waiting_.erase(number);
        answers_[number] = std::move(message);
    } else if (id.exists()) {
        questions_.push_back(std::move(message));
    } else {
        notifications_.push_back(std::move(message));
    }
}

void client::impl::answer_question(const answer& question) {
    const auto handler = options_.questions_.find(question.method());
    json::builder b;
    b.begin_object().member("jsonrpc", "2.0").member("id", question.root()["id"]);
    if (question.method() == "ping") {
        b.key("result").begin_object().end_object();
    } else if (handler == options_.questions_.end()) {
        b.key("error").begin_object().member("code", -32601);
        b.member("message", "Method not found").end_object();
    } else {
        const std::string result = handler->second(question.params());
        if (result.empty()) {
            return;
        }
        b.key("result").raw(result);
    }
    b.end_object();
    pipe_->take(b.text());
}

bool client::impl::between_turns() {
    const std::vector<answer> asked = std::exchange(questions_, {});
    for (const answer& question : asked) {
        answer_question(question);
    }
    return !asked.empty();
}

std::int64_t client::impl::start(std::string_view method, std::string_view params) {
    const std::int64_t id = ++last_id_;
    const auto given = json::document::parse(params);
    if (!given || !given->root().is_object()) {
        answers_[id] = answer(R"({"error":{"code":-32700,"message":"testing: no JSON object"}})");
        return id;
    }
    sent_[id] = sent{std::string(method), std::string(params)};
    send_request(id, sent_[id], {});
    host_->settle();
    return id;
}

// `more`: an object with further members of the params, or "".
void client::impl::send_request(std::int64_t id, const sent& what, std::string_view more) {
    const auto given = json::document::parse(what.params);
    const auto added = json::document::parse(more.empty() ? std::string_view("{}") : more);
    json::builder b;
    b.begin_object().member("jsonrpc", "2.0").member("id", id).member("method", what.method);
    b.key("params").begin_object();
    bool has_token = false;
    b.key("_meta").begin_object();
    if (modern()) {
        b.member("io.modelcontextprotocol/protocolVersion", options_.revision_);
        b.key("io.modelcontextprotocol/clientCapabilities").raw(capabilities());
        b.key("io.modelcontextprotocol/clientInfo").begin_object();
        b.member("name", "pillion-testing").member("version", "1").end_object();
    }
    for (const auto& [key, value] : given->root()["_meta"].members()) {
        has_token = has_token || key == "progressToken";
        b.member(key, value);
    }
    if (!has_token) {
        b.member("progressToken", id);
    }
    b.end_object();
    for (const auto& [key, value] : given->root().members()) {
        if (key != "_meta") {
            b.member(key, value);
        }
    }
    for (const auto& [key, value] : added->root().members()) {
        b.member(key, value);
    }
    b.end_object().end_object();
    waiting_.insert(id);
    pipe_->take(b.text());
}

answer client::impl::wait(std::int64_t id) {
    constexpr std::chrono::hours patience(24 * 7);
    const auto until = host_->elapsed() + patience;
    constexpr int rounds_max = 32;
    for (int round = 0;; ++round) {
        while (waiting_.contains(id) && host_->elapsed() < until && host_->step(patience)) {
        }
        const auto found = answers_.find(id);
        if (found == answers_.end()) {
            return {};
        }
        answer taken = std::move(found->second);
        answers_.erase(found);
        if (round == rounds_max || !answer_round(id, taken)) {
            sent_.erase(id);
            return taken;
        }
    }
}

// The server asks by way of its answer (2026-07-28): the call goes out again with what the handlers
// of this client say. False when there is nothing to say.
bool client::impl::answer_round(std::int64_t id, const answer& asked) {
    const json::view result = asked.result();
    if (result["resultType"].str() != "input_required") {
        return false;
    }
    json::builder b;
    b.begin_object().key("inputResponses").begin_object();
    bool any = false;
    for (const auto& [key, question] : result["inputRequests"].members()) {
        const auto handler = options_.questions_.find(question["method"].str());
        const std::string said = handler == options_.questions_.end()
                                     ? std::string()
                                     : handler->second(question["params"]);
        if (!said.empty()) {
            any = true;
            b.key(key).raw(said);
        }
    }
    b.end_object();
    if (result["requestState"].exists()) {
        b.member("requestState", result["requestState"]);
    }
    b.end_object();
    if (any) {
        send_request(id, sent_[id], b.text());
    }
    return any;
}

void client::impl::send_notification(std::string_view method, std::string_view params) {
    json::builder b;
    b.begin_object().member("jsonrpc", "2.0").member("method", method);
    b.key("params").raw(params).end_object();
    pipe_->take(b.text());
    host_->settle();
}

client::client(server& s, const client_options& options)
    : impl_(std::make_unique<impl>(s, options)) {}

client::~client() = default;

const std::string& client::fault() const { return impl_->fault_; }
const answer& client::welcome() const { return impl_->welcome_; }

// The params of a call; "" when the arguments are no JSON object.
static std::string named(std::string_view name, std::string_view arguments) {
    if (!is_object(arguments)) {
        return {};
    }
    json::builder b;
    b.begin_object().member("name", name).key("arguments").raw(arguments).end_object();
    return std::string(b.text());
}

answer client::request(std::string_view method, std::string_view params) {
    return wait(start(method, params));
}

answer client::call(std::string_view tool, std::string_view arguments) {
    return wait(start_call(tool, arguments));
}

answer client::prompt(std::string_view name, std::string_view arguments) {
    return request("prompts/get", named(name, arguments));
}

answer client::read(std::string_view uri) {
    json::builder b;
    b.begin_object().member("uri", uri).end_object();
    return request("resources/read", b.text());
}

std::int64_t client::start(std::string_view method, std::string_view params) {
    return impl_->host_ == nullptr ? 0 : impl_->start(method, params);
}

std::int64_t client::start_call(std::string_view tool, std::string_view arguments) {
    return start("tools/call", named(tool, arguments));
}

bool client::answered(std::int64_t id) const { return impl_->answers_.contains(id); }

answer client::wait(std::int64_t id) {
    return impl_->host_ == nullptr ? answer() : impl_->wait(id);
}

void client::cancel(std::int64_t id, std::string_view reason) {
    json::builder b;
    b.begin_object().member("requestId", id);
    if (!reason.empty()) {
        b.member("reason", reason);
    }
    b.end_object();
    impl_->waiting_.erase(id);
    notify("notifications/cancelled", b.text());
}

void client::notify(std::string_view method, std::string_view params) {
    if (impl_->host_ != nullptr) {
        impl_->send_notification(method, params);
    }
}

std::vector<answer> client::take_notifications(std::string_view method) {
    std::vector<answer> taken;
    std::vector<answer> kept;
    for (answer& one : impl_->notifications_) {
        (method.empty() || one.method() == method ? taken : kept).push_back(std::move(one));
    }
    impl_->notifications_ = std::move(kept);
    return taken;
}

void client::pass(std::chrono::milliseconds time) {
    if (impl_->host_ != nullptr) {
        impl_->host_->pass(time);
    }
}

std::chrono::nanoseconds client::elapsed() const {
    return impl_->host_ == nullptr ? std::chrono::nanoseconds(0) : impl_->host_->elapsed();
}

std::size_t client::running() const {
    return impl_->host_ == nullptr ? 0 : impl_->host_->engine().live_requests();
}

}  // namespace pillion::testing
