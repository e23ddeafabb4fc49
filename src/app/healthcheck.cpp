#include "app/healthcheck.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include <CLI/CLI.hpp>

#include "app/config_reader.hpp"
#include "app/fetch.hpp"
#include "app/remote_access.hpp"
#include "base/ascii.hpp"
#include "client/lookup.hpp"

namespace pillion::app {

namespace {

constexpr int unhealthy = 1;
constexpr std::int64_t timeout_ms_max = 600'000;
constexpr std::size_t answer_shown_max = 400;
constexpr std::string_view unix_scheme = "unix:";

// Where to ask, and what to call it in messages.
struct target {
    client::url where;
    std::string socket;  // empty: none
    std::string shown;
    bool wants_certificate = false;  // of its clients, as far as is known
};

// An address that listens on all of this machine's is asked at its loopback.
std::string reachable(const std::string& host) {
    return host.empty() || host == "0.0.0.0" ? "127.0.0.1" : host == "::" ? "::1" : host;
}

bool set_url(target& to, const std::string& text, const std::string& path, std::string& fault) {
    auto where = client::parse_url(text, fault);
    if (!where) {
        return false;
    }
    to.where = std::move(*where);
    if (to.where.target == "/") {
        to.where.target = path;
    }
    to.shown = (to.where.secure ? "https://" : "http://") + to.where.authority + to.where.target;
    return true;
}

bool set_socket(target& to, const std::string& socket, const std::string& path,
                std::string& fault) {
    to.socket = socket;
    const bool good = set_url(to, "http://localhost" + path, path, fault);
    to.shown = "unix:" + socket + " " + path;
    return good;
}

class own_address {
 public:
    own_address(const configuration& of, std::string path) : of_(of), path_(std::move(path)) {}

    // Plain listeners are asked first: no certificate stands in their way. False with a fault.
    bool find(target& to, std::string& fault) const {
        std::vector<io::listen_spec> all;
        for (const std::string& text : listeners()) {
            auto spec = io::parse_listen_spec(text);
            if (spec && spec->kind != io::listen_kind::inherited &&
                (spec->kind == io::listen_kind::unix_path || spec->port != 0)) {
                spec->scheme =
                    is_secure(*spec) ? io::listen_scheme::https : io::listen_scheme::http;
                all.push_back(std::move(*spec));
            }
        }
        if (all.empty()) {
            fault = "the configuration does not say where it listens (fd:N, or port 0): give a URL";
            return false;
        }
        const auto plain = std::find_if(all.begin(), all.end(), [](const io::listen_spec& one) {
            return one.scheme == io::listen_scheme::http;
        });
        const io::listen_spec& best = plain != all.end() ? *plain : all.front();
        if (best.kind == io::listen_kind::unix_path) {
            return set_socket(to, best.path, path_, fault);
        }
        const std::string host = reachable(best.host);
        const bool v6 = host.find(':') != host.npos;
        const bool secure = best.scheme == io::listen_scheme::https;
        to.wants_certificate = secure && value(key_id::tls_client_ca).given;
        return set_url(to,
                       (secure ? "https://" : "http://") + (v6 ? "[" + host + "]" : host) + ":" +
                           std::to_string(best.port) + path_,
                       path_, fault);
    }

 private:
    const config_value& value(key_id id) const { return of_.values[static_cast<std::size_t>(id)]; }

    std::vector<std::string> listeners() const {
        if (!value(key_id::listen).texts.empty()) {
            return value(key_id::listen).texts;
        }
        const config_value& host = value(key_id::host);
        const config_value& port = value(key_id::port);
        const std::string name(host.given ? host.text() : "127.0.0.1");
        const bool v6 = name.find(':') != name.npos && name.front() != '[';
        return {(v6 ? "[" + name + "]" : name) + ":" +
                (port.given ? std::to_string(port.number) : "8080")};
    }

    bool is_secure(const io::listen_spec& spec) const {
        return spec.kind == io::listen_kind::tcp && spec.scheme != io::listen_scheme::http &&
               (spec.scheme == io::listen_scheme::https || value(key_id::tls_cert).given);
    }

    const configuration& of_;
    std::string path_;
};

// One line, whatever the other side wrote.
std::string one_line(std::string_view body) {
    std::string out;
    for (const char c : body.substr(0, answer_shown_max)) {
        out += base::is_control(c) ? ' ' : c;
    }
    return out;
}

// Whom https is believed. On this machine's loopback nobody else is in between, and nothing that is
// secret is said: there any certificate will do unless authorities are named.
bool set_trust(const probe_words& words, client::question& what,
               std::shared_ptr<const std::string>& authorities, std::string& fault) {
    if (!what.to.secure) {
        return true;
    }
    what.server_name = words.server_name;
    if (words.authorities.empty() && what.to.is_loopback()) {
        what.any_certificate = true;
        return true;
    }
    auto all = std::make_shared<std::string>();
    if (words.authorities.empty()) {
        if (!client::read_system_authorities(*all)) {
            fault = "this machine has no authorities to verify it with: give --ca";
            return false;
        }
    } else if (!read_whole_file(words.authorities, *all, fault) || !are_authorities(*all, fault)) {
        fault = "--ca: " + shown_path(words.authorities) + ": " + fault;
        return false;
    }
    authorities = std::move(all);
    return true;
}

// The one request; true when the answer is good. `fault` says what was wrong.
bool ask(const probe_words& words, target to, std::int64_t timeout_ms, std::string& fault) {
    client::question what;
    what.to = std::move(to.where);
    what.socket = std::move(to.socket);
    what.timeout_ms = timeout_ms;
    std::shared_ptr<const std::string> authorities;
    if (!set_trust(words, what, authorities, fault)) {
        return false;
    }
    const auto said = fetch(std::move(what), std::move(authorities), fault);
    if (!said) {
        return false;
    }
    if (!said->fault.empty()) {
        fault = said->fault;
        if (to.wants_certificate) {
            fault += "; clients must show a certificate there: let it listen on a unix socket, too";
        }
        return false;
    }
    fault = "status " + std::to_string(said->status) + ": " + one_line(said->body);
    return said->status == 200;
}

}  // namespace

void add_probe_flags(CLI::App& cli, probe_words& to) {
    cli.add_option("URL", to.url,
                   "http://…, https://… or unix:/path to ask; without it the address of the server "
                   "that the options below, the environment and the file would start");
    cli.add_flag("--ready", to.ready, "Ask /ready instead of /health");
    cli.add_option("--timeout", to.timeout, "Longest time for the answer")->default_str("2s");
    cli.add_option("--ca", to.authorities,
                   "File of authorities (PEM) to verify https with. Without it the machine's are "
                   "taken, and on loopback any certificate will do");
    cli.add_option("--server-name", to.server_name,
                   "Whom the certificate must name, if not the host of the URL");
}

int run_healthcheck(const std::string& program, const probe_words& words, configuration start,
                    config_faults faults) {
    const std::string path = words.ready ? "/ready" : "/health";
    const auto refuse = [&program](const std::string& text) {
        std::fprintf(stderr, "%s: healthcheck: %s\n", program.c_str(), text.c_str());
        return unhealthy;
    };
    const auto timeout_ms = parse_duration_ms(words.timeout);
    if (!timeout_ms || *timeout_ms <= 0 || *timeout_ms > timeout_ms_max) {
        return refuse("--timeout: " + shown(words.timeout) + " is no time from 1ms to 10m");
    }
    target to;
    std::string fault;
    bool found = false;
    if (words.url.starts_with(unix_scheme)) {
        found = set_socket(to, words.url.substr(unix_scheme.size()), path, fault);
    } else if (!words.url.empty()) {
        found = set_url(to, words.url, path, fault);
    } else {
        read_values(start, faults);
        if (!faults.empty()) {
            return refuse("cannot tell its address: " + describe(faults.front(), start.file));
        }
        found = own_address(start, path).find(to, fault);
    }
    if (!found) {
        return refuse(words.url.empty() ? fault
                                        : shown(words.url, client::url::bytes_max) + ": " + fault);
    }
    const std::string where = to.shown;
    return ask(words, std::move(to), *timeout_ms, fault) ? 0 : refuse(where + ": " + fault);
}

}  // namespace pillion::app
