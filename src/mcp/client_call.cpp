#include "mcp/client_call.hpp"

#include <cstring>

#include "base/ascii.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "io/sleep.hpp"
#include "mcp/ask_chain.hpp"
#include "mcp/engine.hpp"
#include "mcp/limit_guard.hpp"
#include "mcp/shard_digits.hpp"
#include "mcp/task_run.hpp"

namespace pillion::mcp {

namespace {

using base::hex_digits;

base::byte_buffer question_message(request& r, std::string_view id, std::string_view method,
                                   std::string_view params) {
    base::byte_buffer out = r.new_message();
    json::writer w(out);
    w.fragment(R"({"jsonrpc":"2.0","id":)");
    w.string(id);
    w.key_raw(R"("method":)");
    w.string(method);
    if (r.run != nullptr) {
        // {"_meta":…, and the rest.
        w.key_raw(R"("params":)");
        w.begin_object();
        write_related_task(r, w);
        if (params.size() > 2) {
            w.raw(params.substr(1, params.size() - 2));
        }
        w.end_object();
    } else if (!params.empty()) {
        w.key_raw(R"("params":)");
        w.raw(params);
    }
    w.fragment("}");
    return out;
}

base::byte_buffer cancel_message(request& r, std::string_view id, std::string_view reason) {
    base::byte_buffer out = r.new_message();
    json::writer w(out);
    w.fragment(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)");
    w.string(id);
    w.key_raw(R"("reason":)");
    w.string(reason);
    w.fragment("}}");
    return out;
}

result<json::view> result_of(const client_call& call) {
    const json::view response = call.response();
    const json::view failure = response["error"];
    if (failure.exists()) {
        return error(errc::denied, failure["code"].i64() == -32601
                                       ? "The client does not know this request"
                                       : "The client refused to answer");
    }
    const json::view value = response["result"];
    if (!value.is_object()) {
        return error(errc::invalid, "The client's answer is malformed");
    }
    return value;
}

}  // namespace

client_call::client_call(request& r, std::size_t shard) : request_(r), session_(r.session) {
    unsigned char random[12];
    base::os_random(random, sizeof random);
    id_[0] = 'q';
    id_[1] = '-';
    put_shard(id_ + 2, shard);
    for (std::size_t i = 0; i < sizeof random; ++i) {
        id_[4 + 2 * i] = hex_digits[random[i] >> 4U];
        id_[5 + 2 * i] = hex_digits[random[i] & 15U];
    }
}

void client_call::take_back(std::string_view reason) noexcept {
    request_.channel->notify(request_, cancel_message(request_, id(), reason));
}

bool client_call::parse_id(std::string_view id, std::size_t& shard) noexcept {
    if (id.size() != id_bytes || !id.starts_with("q-")) {
        return false;
    }
    const auto found = read_shard(id.substr(2));
    shard = found.value_or(0);
    return found.has_value();
}

void client_call::take(std::string_view message) noexcept {
    if (!response_.exists()) {
        response_ = request_.parse(message);
        answered_.set();
    }
}

namespace {

// A client of 2026-07-28: the answer came with the call; or a task waits for it; or the call ends
// with the question.
task<result<json::view>> ask_modern(request& r, const asking& what) {
    if (r.mid != method_id::tools_call && r.mid != method_id::prompts_get &&
        r.mid != method_id::resources_read) {
        co_return error(errc::unsupported, "Only calls, prompts and reads may ask");
    }
    ask_chain& chain = ask_chain::of(r);
    const std::string_view key = what.key.empty() ? chain.next_key() : what.key;
    const std::string_view digest = ask_chain::digest_of(r, what.method, what.params);
    if (!what.key.empty() && !what.single_use) {
        chain.take_offer(key, digest);
    }
    const json::view known = chain.find(key, digest, what.fits);
    if (known.exists() && (!what.single_use || chain.spend(key))) {
        co_return known;
    }
    // A call that is to become a task does so now, unless its handler says when.
    if (!known.exists() && r.as_task == request::task_mode::wanted &&
        !r.tool->definition->terms.begins_later) {
        r.engine.become_task(r);
    }
    if (r.run != nullptr) {
        co_return co_await r.run->ask(what);
    }
    const auto added = known.exists() ? ask_chain::need_result::another
                                      : chain.need(key, digest, what.method, what.params);
    if (added == ask_chain::need_result::clash) {
        co_return error(errc::invalid, "Two different questions have the same key");
    }
    // Whatever runs beside this one may add its own questions first, or make the call a task.
    co_await coro::yield();
    if (r.run != nullptr) {
        co_return co_await r.run->ask(what);
    }
    if (added == ask_chain::need_result::first) {
        chain.conclude();
    }
    coro::event never;
    co_await never.wait(&r.stop);
    co_return error(errc::cancelled, "The request was stopped");
}

}  // namespace

task<result<json::view>> ask_client(request& r, const asking& what) {
    if (what.stop->requested() || r.channel == nullptr) {
        co_return error(errc::cancelled, "The request was stopped");
    }
    engine& e = r.engine;
    if (r.modern()) {
        co_return co_await ask_modern(r, what);
    }
    if (e.draining()) {
        // Nobody is listened to any more.
        co_return error(errc::closed, "The server is shutting down");
    }
    client_call call(r, e.shard());
    e.pause_deadline(r);
    e.add_call(call);
    base::byte_buffer message = question_message(r, call.id(), what.method, what.params);
    if (r.run != nullptr) {
        r.run->open(call, message.view());
    } else {
        r.channel->notify(r, std::move(message));
    }
    limit_guard limit(e.loop(), what.limit_ms, call.answered());
    const bool woken = co_await call.answered().wait(what.stop);
    call.unlink();
    e.resume_deadline(r);
    if (r.run != nullptr) {
        r.run->close(call);
    }
    if (call.response().exists()) {
        co_return result_of(call);
    }
    // The sender of a request that nobody waits for any more says so (STANDARD row 102).
    if (r.channel != nullptr && !call.given_up()) {
        call.take_back(limit.passed() ? "timed out" : "no longer needed");
    }
    if (call.given_up()) {
        co_return error(errc::closed, "The client is gone");
    }
    if (woken) {
        co_return error(errc::timed_out, "The client did not answer in time");
    }
    co_return error(errc::cancelled, "The request was stopped");
}

void engine::take_response(const session_ref& from, json::view response) noexcept {
    const std::string_view id = response["id"].str();
    std::size_t shard = 0;
    if (from == nullptr || !client_call::parse_id(id, shard) || shard >= shared_.shards()) {
        return;
    }
    base::byte_buffer text(loop_.chunks());
    json::writer(text).value(response);
    if (shard == shard_) {
        return answer_here(from.get(), id, text.view());
    }
    shared_.post_to(shard, [from, id = std::string(id), message = std::string(text.view())](
                               engine& e) { e.answer_here(from.get(), id, message); });
}

void engine::answer_here(const session* from, std::string_view id,
                         std::string_view message) noexcept {
    for (client_call& call : calls_) {
        if (call.id() == id && call.asked_in() == from) {
            return call.take(message);
        }
    }
}

}  // namespace pillion::mcp
