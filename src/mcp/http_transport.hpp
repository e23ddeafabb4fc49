// http_transport: the MCP endpoint over HTTP (REVISIONS §2, §5): Streamable HTTP for all revisions
// on one path, and the health endpoints beside it.
//
// One instance per shard and listening address (the Origin rules depend on the address); they share
// the shard's engine. Thread: its shard.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "auth/authenticator.hpp"
#include "http/exchange.hpp"
#include "http/field_memo.hpp"
#include "http/media.hpp"
#include "http/origin.hpp"
#include "http/proxies.hpp"
#include "mcp/engine.hpp"
#include "mcp/http_waiting.hpp"
#include "rpc/envelope.hpp"

namespace pillion::mcp {

class http_client;

struct http_options {
    std::string path = "/mcp";
    // The Host and Origin rules; a unix socket has no address to be rebound.
    http::origin_policy origins;
    bool check_host = true;
    // The HTTP+SSE transport of 2024-11-05 on /sse and /messages.
    bool legacy_sse = true;
    // Who may call; null: whoever can reach the address.
    std::shared_ptr<const auth::auth_options> access;
    std::shared_ptr<auth::key_board> keys;  // of issuers that publish them elsewhere
    introspector* asks = nullptr;           // where `access` says that somebody is to be asked
    // How clients see this address: "https://host[:port]", or empty: as their Host has it.
    std::string external_url;
    bool secure = false;  // it speaks https
    http::proxy_list proxies;

    http_options(std::string endpoint_path, http::origin_policy policy, bool host_checked,
                 bool sse_served)
        : path(std::move(endpoint_path)),
          origins(std::move(policy)),
          check_host(host_checked),
          legacy_sse(sse_served) {}
};

class http_transport final : public http::request_handler {
 public:
    http_transport(engine& e, http_options options);
    engine& shard_engine() const noexcept { return engine_; }
    // From the next request on.
    void change(http_options to);
    // The keys of issuers may be others, or a fetch has brought none.
    void take_keys();

    std::uint16_t on_open(http::exchange& first) noexcept override;
    http::admission admit(const http::exchange& ex) noexcept override;
    void handle(http::exchange& ex) noexcept override;
    // The value of WWW-Authenticate (RFC 6750 §3); what is empty is left out.
    std::string challenge(const http::exchange& ex, std::string_view error,
                          std::string_view description, std::string_view scopes) const;
    // Whether what let this client in still does, to the same.
    bool still_lets_in(const http_client& c) const;
    std::string_view refuse(const http::request_head* head, std::uint16_t status,
                            std::string_view reason, std::string_view request_id,
                            base::byte_buffer& body, http::extra_header* extra,
                            std::size_t& extra_count) noexcept override;

 private:
    enum class place : std::uint8_t { mcp, sse, messages, health, ready, home, metadata, nowhere };
    // The value of Allow.
    static std::string_view allowed_at(place where) noexcept;
    static bool header_says_modern(const http::request_head& head) noexcept;
    // What the text of a head decides.
    struct standing {
        place where;
        std::uint16_t refuse_status;
    };
    standing standing_of(const http::request_head& head) noexcept;
    standing judge(const http::request_head& head) noexcept;
    place place_of(std::string_view path) const noexcept;
    void note_refused(const http::exchange& ex, std::uint16_t status);
    std::uint16_t admit_caller(const http::exchange& ex, place where) noexcept;
    std::uint16_t admit_sse(const http::request_head& head, place where) noexcept;
    std::uint16_t admit_mcp(const http::request_head& head) noexcept;
    bool origin_ok(const http::request_head& head) noexcept;
    http::accepts accepts_of(const http::request_head& head) noexcept;
    bool has_json(const http::request_head& head) noexcept;

    void handle_post(http::exchange& ex);
    void handle_message(http::exchange& ex, request& r, json::view root);
    void handle_batch(http::exchange& ex, request& r, json::view root);
    void handle_notification(http::exchange& ex, http_client& c, const rpc::envelope& e,
                             bool modern_era, const session_ref& s);
    void handle_get(http::exchange& ex);
    void handle_sse_message(http::exchange& ex);
    void handle_delete(http::exchange& ex);
    void handle_options(http::exchange& ex, place where);
    // http_access.cpp
    void open_access();
    bool is_metadata(std::string_view path) const noexcept;
    std::uint16_t authenticate(const http::exchange& ex, http_client& c);
    const auth::auth_options::grant* granted_to(std::string_view principal) const;
    std::uint16_t take_vouched(const http::exchange& ex, http_client& c);
    std::uint16_t refuse_access(const http::exchange& ex, std::uint16_t status,
                                std::string_view error, std::string_view description);
    std::string base_url(const http::exchange& ex) const;
    // Of whoever is charged while nobody knows who it is.
    std::string_view address_of(const http::exchange& ex) const noexcept {
        return options_.proxies.empty() ? ex.peer_address()
                                        : options_.proxies.client_of(ex.head(), ex.peer_address());
    }
    // http_waiting.cpp
    std::uint16_t judge_elsewhere(const http::exchange& ex, http_client& c,
                                  const auth::authenticator::answer& found, std::string_view token);
    std::uint16_t ask_about(const http::exchange& ex, http_client& c, std::string_view token);
    void told_about(const token_question& one, auth::introspection_answer said);
    void forget_waits() noexcept;
    std::uint16_t refuse_for_now(const http::exchange& ex, std::string_view why, safe_text said);
    void handle_metadata(http::exchange& ex);
    // http_health.cpp
    void handle_health(http::exchange& ex);
    void handle_ready(http::exchange& ex);
    void handle_home(http::exchange& ex);
    void fail(http::exchange& ex, std::uint16_t status, int code, safe_text message,
              json::view id = {}, std::string_view data = {});
    void refuse_late(http::exchange& ex, const fault& why);
    bool find_session(http::exchange& ex, http_client& c, session_ref& out, json::view id = {});
    http_client& client_of(http::exchange& ex);

    engine& engine_;
    http_options options_;
    std::int64_t started_ns_;
    http::field_memo<http::accepts> accepts_;
    http::field_memo<bool> json_types_;
    http::field_memo<bool> hosts_;
    std::uint16_t rules_ = 1;  // which rules a head was judged by; never 0
    std::unique_ptr<auth::authenticator> authenticator_;  // null: everybody may call
    std::uint32_t accesses_ = 0;  // which authenticator that is: what others said is void
    token_waiters waiting_for_keys_;
    std::vector<std::shared_ptr<token_question>> questions_;
    // Of the refusal that admit() has just decided on; refuse() follows and takes it away.
    std::string challenge_;
    std::uint32_t retry_after_s_ = 0;
    safe_text refusal_text_;
    // What refuse() has last put into headers, which outlive it.
    std::string told_challenge_;
    char retry_text_[16];
};

}  // namespace pillion::mcp
