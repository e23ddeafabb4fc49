#include "app/cli.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include <CLI/CLI.hpp>

#include "app/config_keys.hpp"
#include "app/config_schema.hpp"
#include "app/healthcheck.hpp"
#include "app/init_command.hpp"
#include "app/made_tools.hpp"
#include "app/prepare.hpp"
#include "app/registration_places.hpp"
#include "app/reloader.hpp"
#include "app/run_http.hpp"
#include "app/run_stdio.hpp"
#include "app/server_state.hpp"
#include "app/token_command.hpp"
#include "base/core_dumps.hpp"
#include "mcp/registry.hpp"
#include "sidecar/bridge_offer.hpp"

namespace pillion::app {

namespace {

int usage_fault(const std::string& name, std::string_view text) {
    std::fprintf(stderr, "%s: %.*s\n", name.c_str(), static_cast<int>(text.size()), text.data());
    return exit_usage;
}

// All that is wrong: what has a place in the file the way compilers say it, so that editors jump.
int report(const std::string& name, const std::string& file, config_faults faults) {
    sort_by_place(faults);
    for (const config_fault& f : faults) {
        const std::string text = describe(f, file);
        if (f.at.line == 0) {
            usage_fault(name, text);
        } else {
            std::fprintf(stderr, "%s\n", text.c_str());
        }
    }
    return exit_usage;
}

// The words of the command line as typed, before they are checked.
struct words {
    struct flag_words {
        const config_key* key = nullptr;
        CLI::Option* option = nullptr;
        std::string one;
        std::vector<std::string> many;
        bool on = false;
    };
    std::deque<flag_words> flags;  // CLI11 keeps their addresses
    std::string config;
    probe_words probe;
    bool schema = false;
};

void add_flag(CLI::App& cli, const config_key& key, words& to) {
    words::flag_words& f = to.flags.emplace_back();
    f.key = &key;
    if (key.type == value_type::boolean) {
        const std::string help = key.negated() ? "Turn off " + key.help : key.help;
        f.option = cli.add_flag(key.flag, f.on, help);
    } else if (key.type == value_type::text_list) {
        // One a time: what follows may be the name of the file.
        f.option = cli.add_option(key.flag, f.many, key.help)->allow_extra_args(false);
        // Commas are for short words.
        if (key.name != "listen" && key.section != "tls" && key.section != "auth") {
            f.option->delimiter(',');
        }
    } else {
        const char* const what = key.type == value_type::secret ? "File of " : "";
        f.option = cli.add_option(key.flag, f.one, what + key.help);
        f.option->default_str(key.fallback);
    }
}

void add_flags(CLI::App& cli, const config_table& keys, const std::string& command, words& to) {
    if (command == "healthcheck") {
        add_probe_flags(cli, to.probe);
    }
    for (const config_key& key : keys) {
        // A server's own option may have the name of one of the probe's.
        if (!key.flag.empty() && !(key.http_only && command == "stdio") &&
            cli.get_option_no_throw(key.flag) == nullptr) {
            add_flag(cli, key, to);
        }
    }
    if (command == "check") {
        cli.add_flag("--schema", to.schema, "Print the JSON Schema of the file");
        cli.add_option("-c,--config,FILE", to.config, "Configuration file, YAML or JSON");
    } else {
        cli.add_option("-c,--config", to.config, "Configuration file, YAML or JSON");
    }
}

// Values of the flags that were given.
config_values read_flags(const config_table& keys, const words& from, config_faults& faults) {
    config_values out(keys.size());
    for (const words::flag_words& f : from.flags) {
        if (f.option->count() == 0) {
            continue;
        }
        const config_key& key = *f.key;
        config_value& value = out[static_cast<std::size_t>(f.key - keys.data())];
        std::vector<std::string> texts = f.many;
        if (key.type == value_type::boolean) {
            texts.assign(1, f.on != key.negated() ? "true" : "false");
        } else if (key.type != value_type::text_list) {
            texts.assign(1, f.one);
        }
        value.from_flag = true;
        value.given = true;
        for (const std::string& text : texts) {
            if (!parse_value(key, text, value)) {
                faults.push_back(
                    {{}, key.flag + ": " + shown(text) + " is not " + expected_of(key)});
            }
        }
    }
    return out;
}

// Hands the server its own options.
void set_own_options(const configuration& from) {
    for (std::size_t i = 0; i < from.keys.size(); ++i) {
        detail::own_option* const own = from.keys[i].own;
        const config_value& value = from.values[i];
        if (own == nullptr || !value.given) {
            continue;
        }
        if (own->on != nullptr) {
            *own->on = value.number != 0;
        } else {
            *own->text = value.text();
        }
    }
}

int print_version(const detail::implementation_info& info) {
    std::printf("%s %s\n", info.name.c_str(), info.version.c_str());
    if (info.name != "pillion" || info.version != pillion::version) {
        std::printf("pillion %s\n", pillion::version);
    }
    return 0;
}

int check(const mcp::registry& reg) {
    std::printf("ok: %zu tools, %zu prompts, %zu resources, %zu templates, %zu providers\n",
                reg.tools().size(), reg.prompts().size(), reg.resources().size(),
                reg.templates().size(), reg.providers().size());
    return 0;
}

std::string introduce(const detail::implementation_info& info) {
    std::string text = info.name + " " + info.version;
    if (!info.description.empty()) {
        text += ": " + info.description;
    }
    return text +
           "\n\nCommands:\n"
           "  serve       (default) Streamable HTTP, MCP 2024-11-05 to 2026-07-28 on one endpoint\n"
           "  stdio       the same over standard input and output\n"
           "  check FILE  checks a configuration file, options and registrations, then exits\n"
           "  init FILE   writes a configuration to begin with\n"
           "  healthcheck asks the server of these options, or URL, whether it is healthy\n"
           "  token …     makes keys and tokens to try authentication with; see token --help\n"
           "  version     prints versions\n"
           "Exit codes: 0 ended as asked, by SIGTERM or SIGINT as well; 1 could not start or go "
           "on, or\n"
           "left a handler behind that did not stop; 2 usage or configuration.";
}

// Loads the configuration, registers and runs the command.
int run_configured(server& s, const std::string& command, configuration start,
                   config_faults& faults) {
    const std::string& name = s.state().defs.info.name;
    // Of the file as well as of the flags: all faults at once.
    base::hold_core_dumps();
    load(start, faults);
    if (!faults.empty()) {
        return report(name, start.file, faults);
    }
    if (start.made->core_dumps) {
        base::allow_core_dumps();
    } else {
        base::forbid_core_dumps();
    }
    apply_log(*start.made);
    set_own_options(start);
    s.profile(start.made->profile);
    s.state().defs.operators = start.made->tools;
    s.state().defs.guards = start.made->guards;
    s.state().defs.icons = start.made->icons;
    add_made_tools(s, *start.made);
    s.state().folders = start.made->folders;
    if (!start.made->servers.empty()) {
        s.state().bridged = std::make_shared<sidecar::bridge_resources>();
        s.provide(s.state().bridged);
        // Behind what others provide at the start.
        s.on_start([links = s.state().bridged->links()](server& starting) {
            starting.provide(links);
            return ok();
        });
    }
    s.state().tls = start.made->tls != nullptr;
    const auth::auth_options* const access = start.made->access.get();
    s.state().tokens = access != nullptr && (!access->issuers.empty() || access->tokens != nullptr);
    s.state().api_keys = access != nullptr && access->api_keys != nullptr;
    s.state().metrics_users = start.made->metrics_users != nullptr;
    s.state().proxies = !start.made->trusted_proxies.empty();
    s.state().principals = access != nullptr && !access->grants.empty();
    s.state().certificates = s.state().tls && !start.made->tls->client_authorities.empty();
    mcp::registration_faults wrong;
    const auto of_servers = [&all = start.made->servers](const std::string& one) {
        return sidecar::may_offer(all, one);
    };
    auto registered = prepare(s, wrong, of_servers);
    if (registered == nullptr) {
        return report(name, start.file, with_places(wrong, start));
    }
    for (const std::string& line : start.made->import_report) {
        std::fprintf(command == "check" ? stdout : stderr, "%s\n", line.c_str());
    }
    if (command == "check") {
        return check(*registered);
    }
    return command == "stdio" ? run_stdio(s, std::move(registered), std::move(start))
                              : run_http(s, std::move(registered), std::move(start));
}

}  // namespace

namespace {

bool is_configured(const std::string& command) {
    return command == "serve" || command == "stdio" || command == "check" ||
           command == "healthcheck";
}

// Reads the words of a command. Nothing: go on; else the exit code.
std::optional<int> parse_words(const std::string& name, CLI::App& cli, const std::string& command,
                               const std::vector<std::string>& rest) {
    try {
        // CLI11 takes the words last first.
        cli.parse(std::vector<std::string>(rest.rbegin(), rest.rend()));
    } catch (const CLI::CallForHelp&) {
        std::fputs(cli.help().c_str(), stdout);
        return 0;
    } catch (const CLI::ParseError& e) {
        usage_fault(name, e.what());
        return command == "healthcheck" ? EXIT_FAILURE : exit_usage;
    }
    return std::nullopt;
}

}  // namespace

int run_command(server& s, int argc, char** argv) {
    detail::server_state& state = s.state();
    const detail::implementation_info& info = state.defs.info;
    std::vector<std::string> rest(argv + (argc > 0 ? 1 : 0), argv + argc);
    std::string command = "serve";
    if (!rest.empty() && !rest.front().starts_with('-')) {
        command = rest.front();
        rest.erase(rest.begin());
    }
    if (command == "version" || (rest.size() == 1 && rest[0] == "--version")) {
        return print_version(info);
    }
    if (command == "token") {
        return run_token(info.name, rest);
    }
    if (command == "help") {
        command = "serve";
        rest.assign(1, "--help");
    }
    if (command == "init") {
        return run_init(info.name, state.options, rest);
    }
    if (!is_configured(command)) {
        return usage_fault(info.name, "unknown command \"" + command +
                                          "\"; there are serve, stdio, check, init, healthcheck, "
                                          "token and version");
    }
    configuration start;
    start.keys = make_config_table(state.options, s.profile());
    start.serving = command != "stdio";
    words w;
    CLI::App cli(introduce(info), info.name + (command == "serve" ? "" : " " + command));
    add_flags(cli, start.keys, command, w);
    if (const std::optional<int> code = parse_words(info.name, cli, command, rest)) {
        return *code;
    }
    if (w.schema) {
        std::fputs(config_schema(start.keys, info.name).c_str(), stdout);
        return 0;
    }
    config_faults faults;
    start.flags = read_flags(start.keys, w, faults);
    start.file = w.config;
    if (command == "healthcheck") {
        return run_healthcheck(info.name, w.probe, std::move(start), std::move(faults));
    }
    return run_configured(s, command, std::move(start), faults);
}

}  // namespace pillion::app
