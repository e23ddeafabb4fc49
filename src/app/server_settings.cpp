#include "app/server_settings.hpp"

#include <algorithm>
#include <utility>

#include "app/config_keys_tools.hpp"
#include "app/config_reader.hpp"
#include "app/value_files.hpp"
#include "app/values_of.hpp"
#include "app/yaml_tree.hpp"
#include "base/ascii.hpp"
#include "base/hash.hpp"
#include "base/log.hpp"
#include "client/lookup.hpp"
#include "sidecar/http_request.hpp"
#include "sidecar/url_target.hpp"

namespace pillion::app {

namespace {

using sidecar::bridge_spec;

// What a program that a user starts may count on, and no more: secrets are in other variables.
const std::vector<std::string>& usual_variables() {
    static const std::vector<std::string> all = {"HOME",  "LOGNAME", "PATH",
                                                 "SHELL", "TERM",    "USER"};
    return all;
}

std::string default_prefix(const std::string& name) { return name + "__"; }

bool has_name_of_tools(std::string_view name) {
    constexpr std::string_view allowed =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    return !name.empty() && name.size() <= 64 && name.find_first_not_of(allowed) == name.npos;
}

sidecar::bridge_transport transport_of(std::string_view word) {
    using sidecar::bridge_transport;
    if (word == "sse") {
        return bridge_transport::sse;
    }
    return word.empty() || word == "auto" ? bridge_transport::automatic
                                          : bridge_transport::streamable;
}

// Fields of each request: none that the protocol has itself. False with a fault.
bool are_good_headers(const bridge_spec& of, std::string& fault) {
    for (const auto& [name, value] : of.headers) {
        std::string ignored;
        const std::string_view begin = std::string_view(name).substr(0, 4);
        if (!sidecar::is_settable_field(name) || base::equals_ignore_case(begin, "mcp-") ||
            base::equals_ignore_case(name, "last-event-id") ||
            !sidecar::add_field_text(value, ignored)) {
            fault = "its header " + name + " cannot be set so";
            return false;
        }
    }
    return true;
}

// Where it is, when it is behind a URL. False with a fault.
bool set_server_url(bridge_spec& to, const std::string& url, std::string& fault) {
    auto where = client::parse_url(url, fault);
    if (!where || !are_good_headers(to, fault)) {
        return false;
    }
    to.where = std::move(*where);
    to.argv.clear();
    if (to.where.secure && to.authorities == nullptr) {
        to.authorities = client::system_authorities();
    }
    return true;
}

bool read_remote(const named_values& from, value_files& files, bridge_spec& to,
                 std::string& fault) {
    const values_of<server_key> say(from.values);
    const std::string here = "servers." + from.name + ": ";
    to.transport = transport_of(say.text(server_key::transport));
    to.socket = say.text(server_key::socket);
    to.headers = say.map(server_key::headers);
    const config_value& ca = say[server_key::ca];
    std::string text;
    bool good = !ca.given || files.read(ca, 0, ca.texts[0], here + "ca", text);
    std::uint64_t seed = base::hash_bytes(text);
    if (ca.given) {
        to.authorities = std::make_shared<const std::string>(std::move(text));
    }
    for (std::size_t i = 0; i < to.headers.size(); ++i) {
        std::string& value = to.headers[i].second;
        good = files.read_secret(say[server_key::headers], i + 1, here + "headers", value) && good;
        seed = seed * 31 + base::hash_bytes(value);
    }
    to.fingerprint = fingerprint_of(from.values, seed);
    return good && set_server_url(to, say.text(server_key::url), fault);
}

bridge_spec spec_of(const named_values& from, const std::string& folder) {
    const values_of<server_key> say(from.values);
    bridge_spec to;
    to.name = from.name;
    to.argv.push_back(say.text(server_key::command));
    const std::vector<std::string>& arguments = say[server_key::args].texts;
    to.argv.insert(to.argv.end(), arguments.begin(), arguments.end());
    to.environment = say.map(server_key::env);
    to.passed =
        say[server_key::pass_env].given ? say[server_key::pass_env].texts : usual_variables();
    const std::string where = say.text(server_key::cwd);
    to.folder =
        where.empty() || where.starts_with('/') || folder.empty() ? where : folder + "/" + where;
    to.prefix =
        say[server_key::prefix].given ? say.text(server_key::prefix) : default_prefix(from.name);
    to.allow = say[server_key::allow].texts;
    to.deny = say[server_key::deny].texts;
    for (const auto& one : say.map(server_key::rename)) {
        to.rename[one.first] = one.second;
    }
    to.per_client = say.hint(server_key::per_client).value_or(false);
    say.number(server_key::clients_max, to.clients_max);
    say.number(server_key::client_idle, to.client_idle_ms);
    say.number(server_key::start_timeout, to.start_timeout_ms);
    say.number(server_key::ping, to.ping_interval_ms);
    say.number(server_key::message, to.message_bytes_max);
    say.number(server_key::restart_min, to.restart_min_ms);
    say.number(server_key::restart_max, to.restart_max_ms);
    to.fingerprint = fingerprint_of(from.values, 1);
    return to;
}

// JSON as people keep it: with comments of both kinds, which become blanks.
std::string without_comments(std::string_view text) {
    std::string out(text);
    bool in_text = false;
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (in_text) {
            in_text = out[i] != '"';
            i += out[i] == '\\' ? 1 : 0;  // and what is escaped
        } else if (out[i] == '"') {
            in_text = true;
        } else if (out.compare(i, 2, "//") == 0) {
            for (; i < out.size() && out[i] != '\n'; ++i) {
                out[i] = ' ';
            }
        } else if (out.compare(i, 2, "/*") == 0) {
            const std::size_t end = std::min(out.find("*/", i + 2), out.size() - 2) + 2;
            for (; i < end; ++i) {
                out[i] = out[i] == '\n' ? '\n' : ' ';
            }
            --i;
        }
    }
    return out;
}

// One server of a client's file.
class client_entry {
 public:
    client_entry(const yaml_tree& tree, std::string name, std::vector<std::string>& ignored)
        : tree_(tree), ignored_(ignored) {
        spec_.name = std::move(name);
        spec_.argv.resize(1);
        spec_.passed = usual_variables();
        spec_.prefix = default_prefix(spec_.name);
    }

    // False with a fault; null means that it is turned off.
    bool read(const yaml_node& from, std::string& fault) {
        for (const yaml_node::member& m : from.members) {
            const std::size_t passed_over = ignored_.size();
            if (!read_key(m.name, tree_.at(m.value))) {
                fault = spec_.name + "." + m.name + ": is not what it should be";
                return false;
            }
            if (ignored_.size() == passed_over) {
                add_to_fingerprint(m.name);
                add_to_fingerprint(tree_.at(m.value));
            }
        }
        if (off_) {
            return true;
        }
        if (spec_.argv[0].empty() == url_.empty()) {
            fault = spec_.name + ": needs command or url, and not both";
            return false;
        }
        if (!url_.empty() && !set_server_url(spec_, url_, fault)) {
            fault = spec_.name + ": " + fault;
            return false;
        }
        return true;
    }
    bool off() const noexcept { return off_; }
    bridge_spec take() { return std::move(spec_); }

 private:
    bool read_key(const std::string& key, const yaml_node& value) {
        const bool scalar = value.what == yaml_node::kind::scalar;
        if (key == "command") {
            spec_.argv[0] = value.text;
            return scalar;
        }
        if (key == "args") {
            return texts(value, spec_.argv);
        }
        if (key == "env") {
            return pairs(value, spec_.environment);
        }
        if (key == "headers") {
            return pairs(value, spec_.headers);
        }
        // The names that clients give it.
        if (key == "url" || key == "serverUrl" || key == "httpUrl") {
            url_ = value.text;
            return scalar && !url_.empty();
        }
        // Of a program what it is says command already.
        if (key == "type" || key == "transport" || key == "transportType") {
            spec_.transport = transport_of(value.text);
            return scalar;
        }
        if (key == "cwd") {
            spec_.folder = value.text;
            return scalar;
        }
        if (key == "disabledTools") {
            return texts(value, spec_.deny);
        }
        if (key == "disabled" || key == "enabled") {
            off_ = off_ || (value.text == "true") == (key == "disabled");
            return scalar;
        }
        ignored_.push_back(spec_.name + "." + key);
        return true;
    }

    bool pairs(const yaml_node& from, std::vector<std::pair<std::string, std::string>>& to) {
        for (const yaml_node::member& m : from.members) {
            to.emplace_back(m.name, tree_.at(m.value).text);
        }
        return from.what == yaml_node::kind::map;
    }

    bool texts(const yaml_node& from, std::vector<std::string>& to) {
        for (const std::size_t item : from.items) {
            to.push_back(tree_.at(item).text);
        }
        return from.what == yaml_node::kind::list;
    }

    void add_to_fingerprint(std::string_view text) {
        spec_.fingerprint = fingerprint_of(text, spec_.fingerprint);
    }
    // Of values as they can be here.
    void add_to_fingerprint(const yaml_node& value) {
        add_to_fingerprint(value.text);
        for (const std::size_t item : value.items) {
            add_to_fingerprint(tree_.at(item).text);
        }
        for (const yaml_node::member& m : value.members) {
            add_to_fingerprint(m.name);
            add_to_fingerprint(tree_.at(m.value).text);
        }
    }

    const yaml_tree& tree_;
    std::vector<std::string>& ignored_;
    bridge_spec spec_;
    std::string url_;
    bool off_ = false;
};

void read_client_file(key_reader& from, settings& to) {
    std::string text;
    std::string why;
    std::vector<std::string> ignored;
    std::vector<bridge_spec> servers;
    if (!from.given(key_id::mcp_config) || !from.read_file(key_id::mcp_config, 0, to, text)) {
        return;
    }
    if (!parse_client_file(text, servers, ignored, why)) {
        return from.fault(key_id::mcp_config, 0, why);
    }
    for (const std::string& key : ignored) {
        log::warn("config.ignored", {log::kv("key", "mcpServers." + key)});
    }
    for (bridge_spec& one : servers) {
        if (from.given(key_id::bridge_prefix)) {
            one.prefix = from.text(key_id::bridge_prefix);
        }
        one.fingerprint = fingerprint_of(one.prefix, one.fingerprint);
        to.servers.push_back(std::move(one));
    }
}

}  // namespace

bool parse_client_file(std::string_view text, std::vector<bridge_spec>& to,
                       std::vector<std::string>& ignored, std::string& fault) {
    yaml_tree tree;
    config_faults faults;
    const std::string plain = without_comments(text);
    if (!tree.read(plain, faults) || tree.root().what != yaml_node::kind::map) {
        fault = faults.empty() ? "is no JSON object" : faults.front().text;
        return false;
    }
    bool found = false;
    for (const yaml_node::member& m : tree.root().members) {
        if (m.name != "mcpServers") {
            continue;
        }
        found = true;
        for (const yaml_node::member& one : tree.at(m.value).members) {
            client_entry entry(tree, one.name, ignored);
            if (!has_name_of_tools(one.name)) {
                fault = "mcpServers: a name must be of a-z, A-Z, 0-9, _, . and -";
                return false;
            }
            if (!entry.read(tree.at(one.value), fault)) {
                fault = "mcpServers." + fault;
                return false;
            }
            if (!entry.off()) {
                to.push_back(entry.take());
            }
        }
    }
    if (!found) {
        fault = "has no mcpServers";
    }
    return found;
}

void read_servers(key_reader& from, settings& to) {
    value_files files(from, to);
    for (const named_values& one : from.named()) {
        if (one.section != servers_section) {
            continue;
        }
        bridge_spec spec = spec_of(one, from.folder());
        const bool remote = values_of<server_key>(one.values)[server_key::url].given;
        std::string why;
        if (spec.argv[0].empty() != remote) {
            from.fault_at(one.at, "servers." + one.name + ": needs command or url, and not both");
        } else if (remote && !read_remote(one, files, spec, why)) {
            // A file that cannot be read is a fault of its own.
            if (!why.empty()) {
                from.fault_at(one.at, "servers." + one.name + ": " + why);
            }
        } else if (!has_name_of_tools(one.name)) {
            from.fault_at(one.at, "servers: a name must be of a-z, A-Z, 0-9, _, . and -");
        } else {
            to.servers.push_back(std::move(spec));
        }
    }
    read_client_file(from, to);
    for (std::size_t i = 0; i < to.servers.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
            if (to.servers[i].name == to.servers[k].name) {
                from.fault_at({}, "servers: there are two called " + to.servers[i].name);
            }
        }
    }
}

}  // namespace pillion::app
