#include "mcp/ask_chain.hpp"

#include <charconv>

#include "base/ascii.hpp"
#include "base/base64.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "base/utf8.hpp"
#include "crypto/key_ring.hpp"
#include "json/canonical.hpp"
#include "mcp/engine.hpp"
#include "rpc/envelope.hpp"
#include "rpc/errors.hpp"

namespace pillion::mcp {

namespace {

bool refuse(fault& why, safe_text message, std::string_view data) {
    why.code = rpc::invalid_params;
    why.message = message;
    why.data_json = data;
    return false;
}

bool used(fault& why) {
    return refuse(why, "The answers to this call have been used",
                  R"({"field":"requestState","reason":"used"})");
}

std::string_view new_nonce(request& r) noexcept {
    unsigned char random[16];
    base::os_random(random, sizeof random);
    const std::size_t size = base::base64::encoded_size(sizeof random, base::base64::form::url);
    char* const text = static_cast<char*>(r.memory.allocate(size, 1));
    base::base64::encode({reinterpret_cast<const char*>(random), sizeof random}, text,
                         base::base64::form::url);
    return {text, size};
}

bool bad_state(fault& why) {
    return refuse(why, "requestState is not valid for this call",
                  R"({"field":"requestState","reason":"invalid"})");
}

// What the handler is: a changed one must not take answers that were given to another.
std::string_view fingerprint(const request& r) noexcept {
    constexpr auto newest = static_cast<std::size_t>(modern);
    return r.tool != nullptr       ? r.tool->entry[newest]
           : r.prompt != nullptr   ? r.prompt->entry[newest]
           : r.resource != nullptr ? r.resource->entry[newest]
                                   : std::string_view();
}

}  // namespace

ask_chain& ask_chain::of(request& r) noexcept {
    if (r.chain == nullptr) {
        r.chain = r.memory.make<ask_chain>(r);
    }
    return *r.chain;
}

bool ask_chain::read(request& r, fault& why) {
    const json::view state = r.usual.request_state;
    const json::view responses = r.usual.input_responses;
    if (!state.exists() && !responses.exists()) {
        return true;
    }
    if (responses.exists() && !responses.is_object()) {
        return refuse(why, "inputResponses must be an object",
                      R"({"field":"inputResponses","reason":"type"})");
    }
    ask_chain& chain = of(r);
    if (state.exists() && !state.is_string()) {
        return bad_state(why);
    }
    if (state.exists() && !chain.read_state(state.str(), why)) {
        return false;
    }
    if (!state.exists()) {
        chain.offered_ = responses;
    }
    // What was asked and is answered now. Whether it fits is seen when it is asked again.
    for (entry* one = chain.asked_; one != nullptr; one = one->next) {
        const json::view value = responses[one->key];
        if (value.exists()) {
            chain.add(chain.answered_, one->key, one->digest)->value = value;
        }
    }
    return true;
}

bool ask_chain::read_state(std::string_view text, fault& why) {
    request& r = *request_;
    const auto opened = r.engine.options().state_keys->open(text, context(), r.memory);
    if (!opened) {
        return bad_state(why);
    }
    const json::view state = r.parse(*opened);
    nonce_ = state["n"].str();
    if (state["e"].i64().value_or(0) < r.engine.loop().unix_ms() || nonce_.empty()) {
        return bad_state(why);
    }
    if (r.engine.shared().spent().spent(nonce_)) {
        return used(why);
    }
    for (const json::view one : state["a"].elements()) {
        entry* const made = add(answered_, one[std::size_t{0}].str(), one[1].str());
        made->value = one[2];
        made->spent = one[3].boolean();
    }
    for (const json::view one : state["p"].elements()) {
        add(asked_, one[std::size_t{0}].str(), one[1].str());
    }
    for (const json::member one : state["m"].members()) {
        add(remembered_, one.key, {})->value = one.value;
    }
    return true;
}

// What a state is good for: one JSON text behind the other, so no two calls have the same.
std::string_view ask_chain::context() const noexcept {
    request& r = *request_;
    base::byte_buffer text(r.memory.pool());
    json::writer w(text);
    w.begin_array();
    w.string(r.method);
    w.string_lossy(r.target);
    w.string_lossy(fingerprint(r));
    w.string_lossy(r.principal);
    w.end_array();
    if (r.mid != method_id::resources_read) {
        json::write_canonical(r.arguments, text, r.memory);
    }
    return r.memory.dup(text.view());
}

ask_chain::entry* ask_chain::add(entry*& list, std::string_view key,
                                 std::string_view digest) noexcept {
    auto* const made = request_->memory.make<entry>();
    made->key = key;
    made->digest = digest;
    entry** at = &list;
    while (*at != nullptr) {
        at = &(*at)->next;
    }
    *at = made;
    return made;
}

ask_chain::entry* ask_chain::in(entry* list, std::string_view key) noexcept {
    while (list != nullptr && list->key != key) {
        list = list->next;
    }
    return list;
}

void ask_chain::take_offer(std::string_view key, std::string_view digest) noexcept {
    const json::view value = offered_[key];
    if (value.exists() && in(answered_, key) == nullptr && in(open_, key) == nullptr) {
        add(answered_, request_->memory.dup(key), digest)->value = value;
    }
}

std::string_view ask_chain::next_key() noexcept {
    char text[12] = {'q'};
    const auto end = std::to_chars(text + 1, text + sizeof text, ++unnamed_);
    return request_->memory.dup({text, static_cast<std::size_t>(end.ptr - text)});
}

std::string_view ask_chain::digest_of(request& r, std::string_view method,
                                      std::string_view params) noexcept {
    base::byte_buffer text(r.memory.pool());
    text.append(method);
    text.append('\n');
    text.append(params);
    const auto sum = crypto::sha256(text.view());
    constexpr std::size_t bytes = 16;
    char* const out = static_cast<char*>(r.memory.allocate(2 * bytes, 1));
    for (std::size_t i = 0; i < bytes; ++i) {
        out[2 * i] = base::hex_digits[sum[i] >> 4U];
        out[2 * i + 1] = base::hex_digits[sum[i] & 15U];
    }
    return {out, 2 * bytes};
}

json::view ask_chain::find(std::string_view key, std::string_view digest,
                           base::function_ref<bool(json::view)> fits) noexcept {
    for (entry** at = &answered_; *at != nullptr; at = &(*at)->next) {
        entry& one = **at;
        if (one.key == key && one.digest == digest && fits(one.value)) {
            return one.value;
        }
        if (one.key == key) {
            *at = one.next;
            break;
        }
    }
    return {};
}

bool ask_chain::spend(std::string_view key) noexcept {
    entry* const one = in(answered_, key);
    // In an earlier round of this chain, or by another question of this one.
    if (one->spent || nonce_.empty()) {
        one->spent = true;
        return true;
    }
    request& r = *request_;
    // A state is good for an hour, by a clock that may be a little off elsewhere.
    constexpr std::int64_t slack_ms = 60'000;
    const std::int64_t now = r.engine.loop().unix_ms();
    const auto outcome =
        r.engine.shared().spent().spend(nonce_, now, now + limits::request_state_ms + slack_ms);
    if (outcome == spent_nonces::outcome::first) {
        one->spent = true;
        nonce_ = {};  // further rounds are another chain
        return true;
    }
    fault why;
    if (outcome == spent_nonces::outcome::again) {
        used(why);
        end_with(why, "used_answers");
    } else {
        why.code = rpc::unavailable;
        why.http_status = 503;
        why.message = "Too many answers that count once; try again later";
        why.retry_after_s = 60;
        end_with(why, "unavailable");
    }
    return false;
}

ask_chain::need_result ask_chain::need(std::string_view key, std::string_view digest,
                                       std::string_view method, std::string_view params) noexcept {
    if (in(open_, key) != nullptr || in(answered_, key) != nullptr || !base::utf8::validate(key)) {
        return need_result::clash;
    }
    const bool first = open_ == nullptr;
    entry* const one = add(open_, request_->memory.dup(key), digest);
    one->method = method;
    one->params = request_->memory.dup(params);
    return first ? need_result::first : need_result::another;
}

void ask_chain::remember(std::string_view key, json::view value) noexcept {
    entry* there = in(remembered_, key);
    if (there == nullptr) {
        there = add(remembered_, request_->memory.dup(key), {});
    }
    there->value = value;
}

json::view ask_chain::remembered(std::string_view key) const noexcept {
    const entry* const there = in(remembered_, key);
    return there == nullptr ? json::view{} : there->value;
}

void ask_chain::write_state(json::writer& w) const {
    w.begin_object();
    w.key_raw(R"("e":)");
    w.integer(request_->engine.loop().unix_ms() + limits::request_state_ms);
    w.key_raw(R"("n":)");
    w.string(nonce_);
    w.key_raw(R"("a":)");
    w.begin_array();
    for (const entry* one = answered_; one != nullptr; one = one->next) {
        w.begin_array();
        w.string(one->key);
        w.string(one->digest);
        w.value(one->value);
        if (one->spent) {
            w.boolean(true);
        }
        w.end_array();
    }
    w.end_array();
    w.key_raw(R"("p":)");
    w.begin_array();
    for (const entry* one = open_; one != nullptr; one = one->next) {
        w.begin_array();
        w.string(one->key);
        w.string(one->digest);
        w.end_array();
    }
    w.end_array();
    w.key_raw(R"("m":)");
    w.begin_object();
    for (const entry* one = remembered_; one != nullptr; one = one->next) {
        w.key(one->key);
        w.value(one->value);
    }
    w.end_object();
    w.end_object();
}

base::byte_buffer ask_chain::message(std::string_view sealed) const {
    request& r = *request_;
    base::byte_buffer out = r.new_message();
    json::writer w(out);
    w.fragment(R"({"jsonrpc":"2.0","id":)");
    rpc::write_id(w, r.id);
    w.fragment(R"(,"result":{"resultType":"input_required","inputRequests":)");
    w.begin_object();
    for (const entry* one = open_; one != nullptr; one = one->next) {
        w.key(one->key);
        w.begin_object();
        w.key_raw(R"("method":)");
        w.string(one->method);
        w.key_raw(R"("params":)");
        w.raw(one->params.empty() ? std::string_view("{}") : one->params);
        w.end_object();
    }
    w.end_object();
    w.key_raw(R"("requestState":)");
    w.string(sealed);
    end_result(r, w);
    return out;
}

void ask_chain::end_with(const fault& why, outcome how) noexcept {
    request& r = *request_;
    if (!r.replied) {
        r.outcome = how;
        r.engine.reply_error(r, why);
    }
    r.engine.stop(r, coro::stop_reason::input_required);
}

void ask_chain::conclude() noexcept {
    request& r = *request_;
    if (r.replied) {
        return;
    }
    fault why;
    // Another call with the same state was faster, and what was sealed now would outlive the memory
    // of that.
    if (r.engine.shared().spent().spent(nonce_)) {
        used(why);
        return end_with(why, "used_answers");
    }
    if (nonce_.empty()) {
        nonce_ = new_nonce(r);
    }
    base::byte_buffer state(r.memory.pool());
    json::writer w(state);
    write_state(w);
    if (state.size() > limits::request_state_bytes_max) {
        log::error("mcp.request_state_too_large",
                   {log::kv("target", r.target), log::kv("request_id", r.request_id)});
        why.code = rpc::internal_error;
        why.message = "Internal error";
        return end_with(why, "state_too_large");
    }
    const std::string_view sealed =
        r.engine.options().state_keys->seal(state.view(), context(), r.memory);
    r.outcome = "input_required";
    r.engine.reply(r, message(sealed));
    r.engine.stop(r, coro::stop_reason::input_required);
}

}  // namespace pillion::mcp
