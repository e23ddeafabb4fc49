#include "app/settings.hpp"

#include <algorithm>
#include <utility>

#include "app/config_keys_tools.hpp"
#include "app/config_reader.hpp"
#include "app/file_settings.hpp"
#include "app/guard_settings.hpp"
#include "app/item_settings.hpp"
#include "app/key_reader.hpp"
#include "app/remote_access.hpp"
#include "app/remote_settings.hpp"
#include "app/server_settings.hpp"
#include "app/tool_settings.hpp"
#include "io/service_manager.hpp"
#include "mcp/memory_task_store.hpp"

namespace pillion::app {

namespace {

class settings_maker : private key_reader {
 public:
    using key_reader::key_reader;

    void read_http(settings& to) {
        if (given(key_id::path)) {
            to.path = text(key_id::path);
        }
        read_unix_peers(to);
        read_tls(to);
        read_access(to);
        read_listeners(to);
        read_origins(to);
        read_guards(*this, to);
        to.allowed_hosts = of(key_id::allowed_hosts).texts;
        to.legacy_sse = number(key_id::legacy_sse, 1) != 0;
        to.threads = size(key_id::threads, 1);
        http::server_limits& http = to.http;
        http.connections_max = size(key_id::connections, http.connections_max);
        http.head_timeout_ms = number(key_id::head_timeout, http.head_timeout_ms);
        http.body_timeout_ms = number(key_id::body_timeout, http.body_timeout_ms);
        http.idle_timeout_ms = number(key_id::idle_timeout, http.idle_timeout_ms);
        http.sse_keepalive_ms = number(key_id::keepalive, http.sse_keepalive_ms);
        http.reader_stall_ms = number(key_id::reader_stall, http.reader_stall_ms);
        http.head_rate_min = number(key_id::head_rate, http.head_rate_min);
        http.body_rate_min = number(key_id::body_rate, http.body_rate_min);
        http.head.bytes_max = size(key_id::head_bytes, http.head.bytes_max);
        http.head.fields_max = size(key_id::header_count, http.head.fields_max);
        http.head.target_bytes_max = size(key_id::target_bytes, http.head.target_bytes_max);
    }

    void read_common(settings& to) {
        to.core_dumps = flag(key_id::core_dumps);
        const std::string_view io = text(key_id::io);
        to.io = io == "uring"   ? io::backend_mode::uring
                : io == "epoll" ? io::backend_mode::epoll
                                : io::backend_mode::automatic;
        to.drain_timeout_ms = number(key_id::drain_timeout, to.drain_timeout_ms);
        to.ready_follow = of(key_id::ready_follow).texts;
        to.ready_interval_ms = number(key_id::ready_interval, to.ready_interval_ms);
        log::parse_level(text(key_id::log_level), to.log_level);
        to.json_log = text(key_id::log_format) == "json";
        mcp::service_options& s = to.service;
        s.request_timeout_ms = number(key_id::request_timeout, s.request_timeout_ms);
        read_deadlines(s);
        s.result_bytes_max = size(key_id::result, s.result_bytes_max);
        s.kept_result_bytes_max = size(key_id::kept_results, s.kept_result_bytes_max);
        s.kept_result_ms = number(key_id::kept_result_ttl, s.kept_result_ms);
        s.session_idle_ms = number(key_id::session_ttl, s.session_idle_ms);
        s.sessions_max = size(key_id::sessions, s.sessions_max);
        s.body_bytes_max = size(key_id::body, s.body_bytes_max);
        read_request_memory(s);
        s.batch_messages_max = size(key_id::batch, s.batch_messages_max);
        s.in_flight_per_pipe_max = size(key_id::in_flight, s.in_flight_per_pipe_max);
        s.strict_e_codes = number(key_id::strict_e_codes, 0) != 0;
        const std::string_view profile = given(key_id::profile)
                                             ? text(key_id::profile)
                                             : keys_[index_of(key_id::profile)].fallback;
        to.profile = profile == "corporate" ? server_profile::corporate : server_profile::generic;
        read_limits(s.limit);
        read_output(to);
        for (const named_values& one : values_.named) {
            read_named(one, to);
        }
        read_tools(*this, to);
        read_servers(*this, to);
        read_file_settings(*this, to);
        mcp::memory_task_store::caps caps;
        caps.tasks = size(key_id::tasks, caps.tasks);
        caps.tasks_per_owner = size(key_id::tasks_per_owner, caps.tasks_per_owner);
        caps.bytes = size(key_id::task_bytes, caps.bytes);
        s.tasks = std::make_shared<mcp::memory_task_store>(caps);
        to.random_state_keys = !given(key_id::state_keys);
        s.state_keys = to.random_state_keys ? crypto::key_ring::random() : read_state_keys(to);
    }

 private:
    void read_deadlines(mcp::service_options& s) {
        s.request_timeout_ms_max = number(key_id::request_timeout_max,
                                          std::max(s.request_timeout_ms_max, s.request_timeout_ms));
        if (s.request_timeout_ms_max < s.request_timeout_ms) {
            fault(key_id::request_timeout_max, 0, "must not be shorter than request_timeout");
        }
        s.timeout_header = number(key_id::timeout_header, 0) != 0;
        s.task_timeout_ms_max = number(key_id::task_timeout, s.task_timeout_ms_max);
        s.grace_ms = number(key_id::grace, s.grace_ms);
        s.stragglers_max = size(key_id::stragglers, s.stragglers_max);
    }

    // Room for a body with its DOM and a result that is made in two steps.
    void read_request_memory(mcp::service_options& s) {
        const std::size_t least = 8 * s.body_bytes_max + 2 * s.result_bytes_max;
        s.request_memory_bytes_max =
            size(key_id::request_memory, std::max(s.request_memory_bytes_max, least));
        if (s.request_memory_bytes_max < least) {
            fault(key_id::request_memory, 0,
                  "must be at least 8 times limits.body and 2 times limits.result");
        }
    }

    void read_limits(mcp::limit_options& to) const {
        to.json.depth_max = size(key_id::json_depth, to.json.depth_max);
        to.json.nodes_max = size(key_id::json_nodes, to.json.nodes_max);
        mcp::session_limits& session = to.session;
        session.events_max = size(key_id::session_events, session.events_max);
        session.event_bytes_max = size(key_id::session_event_bytes, session.event_bytes_max);
        session.streams_max = size(key_id::session_streams, session.streams_max);
        session.subscriptions_max = size(key_id::session_subscriptions, session.subscriptions_max);
        to.requests_max = size(key_id::requests, to.requests_max);
        to.loop_lag_ns = number(key_id::loop_lag, limits::loop_lag_ms) * 1'000'000;
        read_count(key_id::connections_per_address, to.address_connections);
        read_count(key_id::in_flight_per_address, to.address_in_flight);
        read_count(key_id::in_flight_per_principal, to.principal_in_flight);
        read_rate(key_id::principal_rate, limits::principal_rate, to.principal_rate);
        read_rate(key_id::address_rate, limits::address_rate, to.address_rate);
        read_rate(key_id::handshake_rate, limits::handshake_rate, to.handshake_rate);
    }

    // What somebody asked for holds for callers of this machine, too.
    void read_count(key_id id, mcp::caller_count& to) const {
        to.max = size(id, to.max);
        to.local = given(id);
    }

    // The key of the burst is the next one.
    void read_rate(key_id id, std::int64_t fallback, mcp::caller_rate& to) const {
        const auto burst_id = static_cast<key_id>(static_cast<int>(id) + 1);
        const std::int64_t rate = number(id, fallback);
        const std::int64_t burst = number(burst_id, 0);
        to.local = given(id) || given(burst_id);
        to.rate = rate == 0
                      ? mcp::bucket_rate()
                      : mcp::bucket_rate::of(static_cast<double>(rate),
                                             burst > 0 ? burst : limits::burst_seconds * rate);
    }

    static const config_value& scopes_of(const named_values& from) {
        return from.section == "tools" ? from.values[static_cast<std::size_t>(tool_key::scopes)]
                                       : from.values.front();  // of every other kind the first
    }

    void read_named(const named_values& from, settings& to) {
        using kind = detail::operator_scopes::kind;
        if (!is_about_others(from.section)) {
            return;
        }
        if (from.section == "tools") {
            to.tools.push_back(operator_word_of(*this, from));
        }
        read_icons_of(*this, from, to);
        const config_value& scopes = scopes_of(from);
        if (scopes.given && from.section != principals_section) {
            to.guards.push_back({from.section == "tools"     ? kind::tool
                                 : from.section == "prompts" ? kind::prompt
                                 : from.section == "methods" ? kind::method
                                                             : kind::resource,
                                 from.name, scopes.texts});
        }
    }

    // Who is let in without a token, and to what.
    void read_grants(auth::auth_options& to) const {
        for (const named_values& one : values_.named) {
            if (one.section == principals_section) {
                const config_value& scopes = scopes_of(one);
                to.grants.push_back({one.name, scopes.given, auth::joined(scopes.texts)});
            }
        }
    }

    void read_output(settings& to) {
        to.output.high = size(key_id::output_high, to.output.high);
        to.output.low = size(key_id::output_low, to.output.low);
        to.output.hard = size(key_id::output_hard, to.output.hard);
        if (to.output.low > to.output.high || to.output.high > to.output.hard) {
            const key_id named = given(key_id::output_low)    ? key_id::output_low
                                 : given(key_id::output_high) ? key_id::output_high
                                                              : key_id::output_hard;
            fault(named, 0, "output_low, output_high and output_hard must rise in this order");
        }
    }

    void read_unix_peers(settings& to) {
        read_ids(key_id::unix_users, &io::find_user, to.unix_peers.users);
        read_ids(key_id::unix_groups, &io::find_group, to.unix_peers.groups);
    }

    // Names were found when the values were checked, but a directory of users may fail since.
    template <class Find, class Id>
    void read_ids(key_id from, Find find, std::vector<Id>& to) {
        const std::vector<std::string>& names = of(from).texts;
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (const auto id = find(names[i])) {
                to.push_back(*id);
            } else {
                fault(from, i, "is not known to this machine any more");
            }
        }
    }

    void read_listeners(settings& to) {
        key_id from = key_id::listen;
        std::vector<std::string> specs = of(from).texts;
        if (specs.empty() && !given(key_id::host) && !given(key_id::port)) {
            specs = io::passed_addresses();
            std::erase(specs, text(key_id::metrics_listen));
        }
        if (specs.empty()) {
            const std::string host(given(key_id::host) ? text(key_id::host) : "127.0.0.1");
            const std::int64_t port = number(key_id::port, 8080);
            const bool v6 = host.find(':') != std::string::npos && host.front() != '[';
            specs.push_back((v6 ? "[" + host + "]" : host) + ":" + std::to_string(port));
            from = given(key_id::host) ? key_id::host : key_id::port;
        }
        to.insecure_no_auth = number(key_id::insecure_no_auth, 0) != 0;
        for (std::size_t i = 0; i < specs.size(); ++i) {
            if (auto spec = read_listener(from, i, specs[i], to)) {
                spec->others = !to.unix_peers.unnamed();
                to.listen.push_back(std::move(*spec));
            }
        }
        if (given(key_id::metrics_listen)) {
            to.metrics_listen =
                read_listener(key_id::metrics_listen, 0, text(key_id::metrics_listen), to);
        }
    }

    // The `index`th address of a key; nothing with a fault.
    std::optional<io::listen_spec> read_listener(key_id from, std::size_t index,
                                                 std::string_view text, const settings& so_far) {
        auto spec = io::parse_listen_spec(text);
        if (!spec) {
            fault(from, index, std::string("cannot listen there: ") + spec.error().detail);
            return std::nullopt;
        }
        if (spec->scheme == io::listen_scheme::https && so_far.tls == nullptr) {
            fault(from, index,
                  "https needs a certificate: --tls-cert and --tls-key (tls.cert, tls.key)");
            return std::nullopt;
        }
        // A unix socket stays plain, inherited or not.
        const bool tcp =
            spec->kind == io::listen_kind::tcp ||
            (spec->kind == io::listen_kind::inherited && io::local_port(spec->fd) != 0);
        const bool secure = so_far.tls != nullptr && spec->scheme != io::listen_scheme::http && tcp;
        spec->scheme = secure ? io::listen_scheme::https : io::listen_scheme::http;
        // The client's certificate says who it is, or a token, which nobody else may read.
        const bool by_certificate = secure && !so_far.tls->client_authorities.empty();
        const bool by_token =
            so_far.access != nullptr && so_far.access->any() && from != key_id::metrics_listen;
        if (from == key_id::metrics_listen && given(key_id::metrics_users)) {
            if (may_ask_for_passwords(*this, *spec)) {
                return std::move(*spec);
            }
            return std::nullopt;
        }
        if (by_certificate ||
            (by_token && (secure || io::is_loopback(*spec) || so_far.insecure_plain_tokens))) {
            return std::move(*spec);
        }
        if (by_token) {
            fault(from, index,
                  "refusing to take tokens from other machines over plain HTTP; use --tls-cert and "
                  "--tls-key, or --insecure-plain-tokens (auth.insecure_plain_tokens) if something "
                  "in front speaks TLS");
            return std::nullopt;
        }
        if (!io::is_loopback(*spec) && !so_far.insecure_no_auth) {
            fault(from, index,
                  "refusing to serve other machines without authentication; use a loopback "
                  "address, client certificates (--tls-client-ca), or --insecure-no-auth "
                  "(http.insecure_no_auth) if something in front authenticates");
        } else if (so_far.profile == server_profile::corporate && !so_far.insecure_no_auth &&
                   from != key_id::metrics_listen && spec->kind != io::listen_kind::unix_path) {
            // STANDARD row 37. A unix socket of ours admits this user alone, or those who were
            // named; who may use an inherited one is not known.
            fault(from, index,
                  "the corporate profile refuses HTTP without authentication; listen on "
                  "unix:/path, ask for client certificates (--tls-client-ca), or say "
                  "--insecure-no-auth (http.insecure_no_auth) if something in front "
                  "authenticates");
        } else {
            return std::move(*spec);
        }
        return std::nullopt;
    }

    // STANDARD row 33: in production web pages are named one by one.
    void read_origins(settings& to) {
        to.allowed_origins = of(key_id::allowed_origins).texts;
        for (std::size_t i = 0; i < to.allowed_origins.size(); ++i) {
            if (to.profile == server_profile::corporate && to.allowed_origins[i] == "*") {
                fault(key_id::allowed_origins, i,
                      "the corporate profile names every origin, not *");
            }
        }
    }

    // The files are read here, on the thread that may, and tried: what a loop makes of them later
    // cannot fail any more.
    void read_tls(settings& to) {
        const std::size_t pairs = of(key_id::tls_cert).texts.size();
        if (pairs != of(key_id::tls_key).texts.size()) {
            const bool more = pairs > of(key_id::tls_key).texts.size();
            return fault(more ? key_id::tls_cert : key_id::tls_key, 0,
                         "there must be as many keys as certificates");
        }
        if (pairs == 0) {
            if (given(key_id::tls_client_ca)) {
                fault(key_id::tls_client_ca, 0,
                      "needs --tls-cert and --tls-key (tls.cert, tls.key)");
            }
            return;
        }
        auto files = std::make_shared<tls::server_files>();
        bool good = true;
        for (std::size_t i = 0; i < pairs; ++i) {
            tls::certificate_text& one = files->certificates.emplace_back();
            good = read_file(key_id::tls_cert, i, to, one.chain) && good;
            good = read_file(key_id::tls_key, i, to, one.key) && good;
        }
        if (given(key_id::tls_client_ca)) {
            good = read_file(key_id::tls_client_ca, 0, to, files->client_authorities) && good;
            if (good && files->client_authorities.empty()) {
                fault(key_id::tls_client_ca, 0, "the file is empty");
                good = false;
            }
        }
        if (good && try_tls(*files)) {
            to.tls = std::move(files);
            to.tickets = std::make_shared<tls::ticket_keys>();
        }
    }

    // As with certificates: what cannot be used is said here.
    void read_access(settings& to) {
        to.external_url = text(key_id::external_url);
        to.insecure_plain_tokens = number(key_id::insecure_plain_tokens, 0) != 0;
        const std::vector<std::string>& issuers = of(key_id::auth_issuer).texts;
        if (issuers.size() != of(key_id::auth_jwks).texts.size()) {
            const bool more = issuers.size() > of(key_id::auth_jwks).texts.size();
            return fault(more ? key_id::auth_issuer : key_id::auth_jwks, 0,
                         "there must be as many key sets as issuers");
        }
        auth::auth_options made;
        std::vector<std::string> audiences = of(key_id::auth_audience).texts;
        if (!to.external_url.empty()) {
            audiences.push_back(to.external_url + to.path);
        }
        const bool asks = given(key_id::introspection);
        if ((!issuers.empty() || asks) && audiences.empty()) {
            return fault(asks ? key_id::introspection : key_id::auth_issuer, 0,
                         "needs --oidc-audience (auth.audience) or --external-url "
                         "(auth.external_url), so that tokens for others are not taken");
        }
        bool good = true;
        for (std::size_t i = 0; i < issuers.size(); ++i) {
            auth::auth_options::issuer& one = made.issuers.emplace_back();
            one.rules = {issuers[i], audiences};
            good = read_keys(i, to, one) && good;
        }
        made.first_scopes = of(key_id::auth_scopes).texts;
        read_grants(made);
        good = read_introspection_settings(*this, audiences, made, to) &&
               read_authorities(*this, made, to) && good;
        good = read_tokens(to, made) && good;
        good = read_api_keys(*this, to, made) && good;
        made.with_secrets = read_hs256(*this, to);
        if (good && (made.any() || !made.grants.empty()) && try_access(made)) {
            to.access = std::make_shared<const auth::auth_options>(std::move(made));
        }
    }

    // From a file now, or from elsewhere later.
    bool read_keys(std::size_t index, settings& to, auth::auth_options::issuer& one) {
        const std::string& from = of(key_id::auth_jwks).texts[index];
        std::string why;
        if (!is_remote_source(from)) {
            return read_file(key_id::auth_jwks, index, to, one.keys);
        }
        if (!is_safe_source(from, one.rules.issuer, why)) {
            fault(key_id::auth_jwks, index, why);
            return false;
        }
        one.source = from;
        return true;
    }

    bool read_tokens(settings& to, auth::auth_options& made) {
        std::string list;
        std::string why;
        if (!given(key_id::auth_tokens)) {
            return true;
        }
        if (!read_file(key_id::auth_tokens, 0, to, list)) {
            return false;
        }
        auto read = auth::token_list::parse(list, why);
        if (!read) {
            fault(key_id::auth_tokens, 0, why);
            return false;
        }
        made.tokens = std::make_shared<const auth::token_list>(std::move(*read));
        return true;
    }

    bool try_access(const auth::auth_options& options) {
        std::string why;
        std::size_t index = 0;
        const bool good = auth::authenticator::make(options, why, index) != nullptr;
        if (!good) {
            fault(key_id::auth_jwks, index, why);
        }
        return good;
    }

    bool try_tls(const tls::server_files& files) {
        std::string why;
        int index = 0;
        const auto made = tls::server_context::make(files, nullptr, why, index);
        if (made == nullptr) {
            fault(index < 0 ? key_id::tls_client_ca : key_id::tls_cert,
                  index < 0 ? 0 : static_cast<std::size_t>(index),
                  (index < 0 ? "the file " : "") + why);
        }
        return made != nullptr;
    }

    std::shared_ptr<const crypto::key_ring> read_state_keys(settings& to) {
        std::string secret;
        std::string why;
        if (!read_secret(key_id::state_keys, to, secret)) {
            return nullptr;
        }
        auto keys = crypto::key_ring::parse(secret, why);
        crypto::wipe(secret.data(), secret.size());
        if (keys == nullptr) {
            fault(key_id::state_keys, 0, why);
        }
        return keys;
    }
};

}  // namespace

config_values merged(const config_table& keys, config_values file, const config_values& flags) {
    const auto flagged = [&](key_id id) { return flags[static_cast<std::size_t>(id)].given; };
    if (flagged(key_id::host) || flagged(key_id::port)) {
        file[static_cast<std::size_t>(key_id::listen)] = config_value();
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (flags[i].given) {
            file[i] = flags[i];
        }
    }
    return file;
}

settings make_settings(const config_table& keys, const config_values& values,
                       const std::string& folder, bool serving, config_faults& faults) {
    settings made;
    settings_maker maker(keys, values, folder, faults);
    maker.read_common(made);
    if (serving) {
        maker.read_http(made);
    }
    return made;
}

void keep_fixed(settings& next, const settings& running) {
    next.tickets = running.tickets;
    next.keys = running.keys;
    next.service.tasks = running.service.tasks;
    if (next.random_state_keys && running.random_state_keys) {
        next.service.state_keys = running.service.state_keys;
    }
}

void apply_log(const settings& set) noexcept {
    log::set_level(set.log_level);
    log::set_format(set.json_log ? log::format::json : log::format::text);
}

}  // namespace pillion::app
