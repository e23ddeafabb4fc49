// Handshake, discovery, logging level and subscriptions (methods of mcp/engine.hpp).
#include "base/log.hpp"
#include "mcp/access_check.hpp"
#include "mcp/engine.hpp"
#include "mcp/modern_checks.hpp"
#include "rpc/errors.hpp"

namespace pillion::mcp {

namespace {

// Of what a client says of itself when its session begins, and what is kept until it ends.
constexpr std::size_t client_bytes_max = 64 * 1024;

void write_instructions(json::writer& w, const registry& reg) {
    if (!reg.info().instructions.empty()) {
        w.key_raw(R"("instructions":)");
        w.string_lossy(reg.info().instructions);
    }
}

}  // namespace

void engine::method_initialize(request& r) {
    const json::view version = r.params["protocolVersion"];
    const json::view capabilities = r.params["capabilities"];
    const json::view client = r.params["clientInfo"];
    if (!version.is_string()) {
        return reply_error(r, bad_params("protocolVersion is required",
                                         R"({"field":"protocolVersion","reason":"required",)"
                                         R"("supported":["2025-11-25","2025-06-18","2025-03-26",)"
                                         R"("2024-11-05"],"requested":null})"));
    }
    if (!capabilities.is_object() || !client.is_object() || !client["name"].is_string() ||
        !client["version"].is_string()) {
        return reply_error(
            r, bad_params("capabilities and clientInfo with name and version are required",
                          R"({"field":"clientInfo","reason":"required"})"));
    }
    base::byte_buffer text(loop_.chunks());
    json::writer(text).value(capabilities);
    const std::size_t said =
        text.size() + client["name"].str().size() + client["version"].str().size();
    if (said > client_bytes_max) {
        return reply_error(r, bad_params("capabilities and clientInfo are too large",
                                         R"({"field":"capabilities","reason":"too_large"})"));
    }
    fault why;
    if (!limiter_.handshake(r.payer, options_->limit, why)) {
        r.outcome = "rate_limited";
        return reply_error(r, why);
    }
    // Anything we do not speak with a handshake is answered with the newest we do; it is the
    // client's to go on or to leave.
    const auto asked = find_revision(version.str());
    r.rev = asked && is_legacy(*asked) ? *asked : latest_legacy;

    auto born = std::make_shared<session>(
        session_table::new_id(shard_), shard_, r.rev, std::string(text.view()),
        std::string(client["name"].str()), std::string(client["version"].str()), now_ms(),
        options_->limit.session);
    born->set_principal(r.principal);
    if (r.head != nullptr && !shared_.sessions().insert(born)) {
        fault f;
        f.code = rpc::unavailable;
        f.http_status = 503;
        f.message = "Too many sessions";
        r.outcome = "overloaded";
        f.retry_after_s = 30;
        return reply_error(r, f);
    }
    r.session = std::move(born);
    log::info("mcp.initialize",
              {log::kv("client", client["name"].str()), log::kv("version", client["version"].str()),
               log::kv("revision", name_of(r.rev)), log::kv("request_id", r.request_id)});

    base::byte_buffer out = r.new_message();
    json::writer w = begin_result(r, out);
    w.key_raw(R"("protocolVersion":)");
    w.string(name_of(r.rev));
    w.key_raw(R"("capabilities":)");
    w.raw(r.registered().capabilities_json(r.rev));
    w.key_raw(R"("serverInfo":)");
    w.raw(r.registered().implementation_json(r.rev));
    write_instructions(w, r.registered());
    end_result(r, w);
    reply(r, std::move(out));
}

void engine::method_discover(request& r) {
    base::byte_buffer out = r.new_message();
    json::writer w = begin_result(r, out);
    w.key_raw(R"("supportedVersions":)");
    w.raw(all_revisions_json());
    w.key_raw(R"("capabilities":)");
    w.raw(r.registered().capabilities_json(r.rev));
    write_instructions(w, r.registered());
    write_caching(r, w, r.registered().cache_ttl_ms(), true);
    end_result(r, w);
    reply(r, std::move(out));
}

void engine::method_set_level(request& r) {
    log_level level = log_level::warning;
    if (!parse_level(r.params["level"].str(), level)) {
        return reply_error(r,
                           bad_params("Unknown log level", R"({"field":"level","reason":"enum"})"));
    }
    r.session->set_threshold(level);
    reply(r, empty_result(r));
}

void engine::method_subscribe(request& r, bool on) {
    const json::view uri = r.usual.uri;
    if (!uri.is_string() || uri.str().empty()) {
        return reply_error(r,
                           bad_params("uri is required", R"({"field":"uri","reason":"required"})"));
    }
    if (on && uri.str().size() > limits::target_bytes_max) {
        return reply_error(
            r, bad_params("The URI is too long", R"({"field":"uri","reason":"too_large"})"));
    }
    fault forbidden;
    if (on && !check_resource_access(r, uri.str(), forbidden)) {
        return reply_error(r, forbidden);
    }
    if (!on) {
        if (r.session->unsubscribe(uri.str())) {
            shared_.subscriptions().remove(uri.str());
        }
        return reply(r, empty_result(r));
    }
    // Counted first: the session may end on another shard at any time, and takes its own back.
    shared_.subscriptions().add(uri.str());
    const auto outcome = r.session->subscribe(uri.str());
    if (outcome != session::subscribing::added) {
        shared_.subscriptions().remove(uri.str());
    }
    if (outcome == session::subscribing::too_many) {
        constexpr std::int64_t a_minute_ns = 60'000'000'000;
        fault f;
        limiter_.refuse(limited_by::subscriptions, a_minute_ns, f);
        r.outcome = "rate_limited";
        return reply_error(r, f);
    }
    reply(r, empty_result(r));
}

}  // namespace pillion::mcp
