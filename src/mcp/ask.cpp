// Questions to the client (include/pillion/ask.hpp) and the context's side of them.
#include <pillion/ask.hpp>
#include <pillion/context.hpp>

#include "base/base64.hpp"
#include "base/random.hpp"
#include "mcp/client_call.hpp"
#include "mcp/client_capability.hpp"
#include "mcp/engine.hpp"
#include "schema/validator.hpp"

namespace pillion {

void sample_request::message(std::string_view role, std::string_view type, std::string_view key,
                             std::string_view value, std::string_view mime_type) {
    json::builder b;
    b.begin_object().member("role", role).key("content");
    b.begin_object().member("type", type).member(key, value);
    if (!mime_type.empty()) {
        b.member("mimeType", mime_type);
    }
    b.end_object().end_object();
    messages_.emplace_back(b.text());
}

sample_request& sample_request::user(std::string_view text) {
    message("user", "text", "text", text, {});
    return *this;
}

sample_request& sample_request::assistant(std::string_view text) {
    message("assistant", "text", "text", text, {});
    return *this;
}

sample_request& sample_request::user_image(std::string_view bytes, std::string_view mime_type) {
    std::string text(base::base64::encoded_size(bytes.size()), '\0');
    base::base64::encode(bytes, text.data());
    message("user", "image", "data", text, mime_type);
    return *this;
}

sample_request& sample_request::system(std::string_view prompt) {
    system_ = prompt;
    return *this;
}

sample_request& sample_request::temperature(double value) {
    temperature_ = value;
    return *this;
}

sample_request& sample_request::stop_at(std::string_view sequence) {
    stops_.emplace_back(sequence);
    return *this;
}

sample_request& sample_request::hint(std::string_view model) {
    hints_.emplace_back(model);
    return *this;
}

sample_request& sample_request::prefer(double cost, double speed, double intelligence) {
    priorities_[0] = cost;
    priorities_[1] = speed;
    priorities_[2] = intelligence;
    return *this;
}

sample_request& sample_request::key(std::string_view name) {
    key_ = name;
    return *this;
}

sample_request& sample_request::limit(std::chrono::milliseconds time) {
    limit_ = time;
    return *this;
}

std::string sample_request::params_json() const {
    json::builder b;
    b.begin_object().key("messages").begin_array();
    for (const std::string& one : messages_) {
        b.raw(one);
    }
    b.end_array().member("maxTokens", max_tokens_);
    if (!system_.empty()) {
        b.member("systemPrompt", system_);
    }
    if (temperature_ >= 0) {
        b.member("temperature", temperature_);
    }
    if (!stops_.empty()) {
        b.key("stopSequences").begin_array();
        for (const std::string& one : stops_) {
            b.value(one);
        }
        b.end_array();
    }
    if (!hints_.empty() || priorities_[0] >= 0) {
        b.key("modelPreferences").begin_object();
        if (!hints_.empty()) {
            b.key("hints").begin_array();
            for (const std::string& one : hints_) {
                b.begin_object().member("name", one).end_object();
            }
            b.end_array();
        }
        if (priorities_[0] >= 0) {
            b.member("costPriority", priorities_[0]);
            b.member("speedPriority", priorities_[1]);
            b.member("intelligencePriority", priorities_[2]);
        }
        b.end_object();
    }
    b.end_object();
    return std::string(b.text());
}

std::string_view sample_answer::text() const noexcept {
    if (content.is_object()) {
        return content["text"].str();
    }
    for (const json::view block : content.elements()) {
        if (block["type"].str() == "text") {
            return block["text"].str();
        }
    }
    return {};
}

elicit_request elicit_request::page(std::string_view message, std::string_view url) {
    elicit_request r(message);
    r.url_ = url;
    return r;
}

elicit_request& elicit_request::required(std::string_view name, const schema& field) {
    required_.emplace_back(name);
    return optional(name, field);
}

elicit_request& elicit_request::optional(std::string_view name, const schema& field) {
    fields_.emplace_back(name, field.json());
    return *this;
}

elicit_request& elicit_request::key(std::string_view name) {
    key_ = name;
    return *this;
}

elicit_request& elicit_request::single_use() {
    single_use_ = true;
    return *this;
}

elicit_request& elicit_request::limit(std::chrono::milliseconds time) {
    limit_ = time;
    return *this;
}

std::string elicit_request::form_schema() const {
    json::builder b;
    b.begin_object().member("type", "object").key("properties").begin_object();
    for (const auto& [name, json] : fields_) {
        b.key(name).raw(json);
    }
    b.end_object();
    if (!required_.empty()) {
        b.key("required").begin_array();
        for (const std::string& name : required_) {
            b.value(name);
        }
        b.end_array();
    }
    b.end_object();
    return std::string(b.text());
}

namespace {

// Tells pages apart, so every one has its own.
std::string new_elicitation_id() {
    unsigned char random[12];
    base::os_random(random, sizeof random);
    std::string id(base::base64::encoded_size(sizeof random, base::base64::form::url), '\0');
    base::base64::encode({reinterpret_cast<const char*>(random), sizeof random}, id.data(),
                         base::base64::form::url);
    return id;
}

std::string elicit_params(const elicit_request& question, mcp::revision r) {
    json::builder b;
    b.begin_object();
    if (!question.url().empty()) {
        b.member("mode", "url").member("url", question.url());
        if (!mcp::is_modern(r)) {
            b.member("elicitationId", new_elicitation_id());
        }
    } else if (r >= mcp::revision::r2025_11_25) {
        b.member("mode", "form");
    }
    b.member("message", question.message());
    if (question.url().empty()) {
        b.key("requestedSchema").raw(question.form_schema());
    }
    b.end_object();
    return std::string(b.text());
}

result<elicit_answer> read_elicited(detail::request_state& r, const elicit_request& question,
                                    json::view answer) {
    elicit_answer out;
    const std::string_view action = answer["action"].str();
    if (action == "cancel") {
        return out;
    }
    // One specification text calls it "reject".
    if (action == "decline" || action == "reject") {
        out.action = elicit_action::decline;
        return out;
    }
    if (action != "accept") {
        return error(errc::invalid, "The client's answer is malformed");
    }
    out.action = elicit_action::accept;
    if (!question.url().empty()) {
        return out;
    }
    out.content = answer["content"];
    std::string fault;
    const json::view shape = r.parse(question.form_schema());
    const auto validator = schema_check::validator::compile(shape, fault);
    schema_check::failure misfit;
    if (validator == nullptr) {
        return error(errc::internal, "The form's schema is malformed");
    }
    if (!out.content.is_object() || !validator->validate(out.content, r.memory, misfit)) {
        return error(errc::invalid, "The client's answer does not fit the form");
    }
    return out;
}

result<sample_answer> read_sampled(json::view answer) {
    sample_answer out;
    out.role = answer["role"].str();
    out.model = answer["model"].str();
    out.stop_reason = answer["stopReason"].str();
    out.content = answer["content"];
    if (!out.content.is_object() && !out.content.is_array()) {
        return error(errc::invalid, "The client's answer is malformed");
    }
    return out;
}

}  // namespace

task<result<sample_answer>> context::sample(const sample_request& request) {
    if (!client_can("sampling")) {
        co_return mcp::capability::sampling.refusal();
    }
    const std::string params = request.params_json();
    auto fits = [](json::view answer) { return read_sampled(answer).ok(); };
    const mcp::asking what{"sampling/createMessage",
                           params,
                           request.key_text(),
                           request.time_limit().count(),
                           fits,
                           false,
                           &stop_node()};
    const pillion::result<json::view> answer = co_await mcp::ask_client(*state_, what);
    if (!answer) {
        co_return answer.error();
    }
    co_return read_sampled(*answer);
}

task<result<elicit_answer>> context::elicit(const elicit_request& request) {
    const bool page = !request.url().empty();
    const bool known =
        state_->rev >= (page ? mcp::revision::r2025_11_25 : mcp::revision::r2025_06_18);
    // Before 2025-11-25 the capability has no modes.
    const bool can = state_->rev == mcp::revision::r2025_06_18
                         ? client_can("elicitation")
                         : client_can(page ? "elicitation.url" : "elicitation.form");
    if (!known || !can) {
        const auto& needed = page ? mcp::capability::elicitation_url : mcp::capability::elicitation;
        co_return needed.refusal();
    }
    const std::string params = elicit_params(request, state_->rev);
    auto fits = [this, &request](json::view given) {
        return given.is_object() && read_elicited(*state_, request, given).ok();
    };
    const mcp::asking what{
        "elicitation/create",  params,      request.key_text(), request.time_limit().count(), fits,
        request.counts_once(), &stop_node()};
    const pillion::result<json::view> answer = co_await mcp::ask_client(*state_, what);
    if (!answer) {
        co_return answer.error();
    }
    co_return read_elicited(*state_, request, *answer);
}

task<result<roots_answer>> context::roots(std::string_view key) {
    if (!client_can("roots")) {
        co_return mcp::capability::roots.refusal();
    }
    const question standard;
    auto fits = [](json::view given) { return given["roots"].is_array(); };
    const mcp::asking what{"roots/list", {},    key,         standard.time_limit().count(),
                           fits,         false, &stop_node()};
    const pillion::result<json::view> answer = co_await mcp::ask_client(*state_, what);
    if (!answer) {
        co_return answer.error();
    }
    roots_answer out;
    out.roots = (*answer)["roots"];
    if (!out.roots.is_array()) {
        co_return pillion::error(errc::invalid, "The client's answer is malformed");
    }
    co_return out;
}

}  // namespace pillion
