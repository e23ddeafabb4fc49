#include "options.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <sstream>
#include <utility>

#include <CLI/CLI.hpp>

#include <pillion/version.hpp>

#include "base/clock.hpp"
#include "file_text.hpp"
#include "json/document.hpp"
#include "quantity.hpp"
#include "schedule.hpp"

namespace pillion::load {

namespace {

constexpr int exit_usage = 2;
constexpr std::size_t connections_max = 100'000;
constexpr std::size_t headers_bytes_max = std::size_t{64} * 1024;

constexpr const char* about =
    "Load tester for MCP servers.\n\n"
    "  pillion-bench http[s]://HOST:PORT/PATH [SCENARIO] [OPTIONS]\n"
    "  pillion-bench unix:/PATH.sock [SCENARIO] [OPTIONS]\n"
    "  pillion-bench [SCENARIO] [OPTIONS] -- stdio COMMAND [ARGUMENTS]\n"
    "  pillion-bench compare BEFORE.json AFTER.json [--fail-above 10%]\n\n"
    "Scenarios: ping (the default; server/discover with 2026-07-28), tools/list, tools/call;\n"
    "mixed (calls, lists, reads, prompts); session-churn (a session for each request),\n"
    "connection-churn (a connection for each), tls-full and tls-resumed (TLS handshakes alone);\n"
    "progress, tasks, rounds (calls that tell of their\n"
    "progress, become tasks, or ask the user); listen (a tool that changes something: how long\n"
    "until each of so many streams has heard of it).\n"
    "Exit codes: 0 all is well; 1 could not run; 2 usage; 3 wrong answers, or an assertion that "
    "failed.";

// The words of the command line, before they are checked.
struct words {
    std::string target;
    std::string scenario = "ping";
    std::string revision = "2026-07-28";
    std::string tool;
    std::string arguments = "{}";
    std::vector<std::string> command;  // behind "--"
    std::string seed = "1";
    std::string poll;
    std::string path = "/mcp";
    std::string connections = "64";
    std::string rate;
    std::string duration;
    std::string warm_up = "1s";
    std::string requests;
    std::string timeout = "10s";
    std::string io = "auto";
    std::vector<std::string> headers;
    std::vector<std::string> assertions;
    std::vector<std::string> slo;
};

void add_run_options(CLI::App& cli, words& w, run_options& to) {
    if (w.command.empty()) {
        cli.add_option("TARGET", w.target, "http[s]://host:port/path or unix:/path.sock")
            ->required();
    }
    cli.add_option("SCENARIO", w.scenario, "What is asked")->capture_default_str();
    cli.add_option("-r,--revision", w.revision,
                   "2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05 (HTTP+SSE), or auto")
        ->capture_default_str();
    cli.add_option("--tool", w.tool, "Name of the tool to call");
    cli.add_option("--arguments", w.arguments,
                   "Its arguments: a JSON object, @FILE, or auto: made up by its schema")
        ->capture_default_str();
    cli.add_option("--resource", to.resources, "URI that listeners subscribe to")
        ->allow_extra_args(false);
    cli.add_option("--seed", w.seed, "Of what is made up")->capture_default_str();
    cli.add_option("--poll", w.poll, "Time between two looks at a task [what the server says]");
    cli.add_option("--expect", to.expect, "Text that the JSON of each answer must hold");
    cli.add_flag("--unchecked", to.unchecked,
                 "Count answers by their HTTP framing and status alone, as for a server of canned "
                 "bytes");
    cli.add_flag(
        "--spin", to.spin,
        "Never sleep: takes a core whole, and waking the client is no work for the server");
    cli.add_option("--cacert", to.tls.authorities,
                   "File of the authorities to trust (PEM) [the system's]");
    cli.add_flag("-k,--insecure", to.tls.insecure, "Take any certificate");
    cli.add_option("--cert", to.tls.certificate, "File of the client's certificate");
    cli.add_option("--key", to.tls.key, "File of its key");
    cli.add_option("--server-name", to.tls.server_name,
                   "Name that the server's certificate must have [the host]");
    cli.add_option("--path", w.path, "What to ask for at a unix socket")->capture_default_str();
    cli.add_option("-H,--header", w.headers,
                   "\"Name: value\" for each request, or @FILE with one a line")
        ->allow_extra_args(false);
    cli.add_option("-c,--connections", w.connections,
                   "Keep-alive connections; of a list (1,16,64) one run each")
        ->capture_default_str();
    cli.add_option("--rate", w.rate,
                   "Open loop: so many requests a second, latency from when each was due; "
                   "FROM..TO is a ramp, and of a list (500,1000) each has its run");
    cli.add_option("-d,--duration", w.duration, "Measured time [10s; without end if --requests]");
    cli.add_option("--warm-up", w.warm_up, "Time before it")->capture_default_str();
    cli.add_option("-n,--requests", w.requests, "End after so many requests");
    cli.add_option("--timeout", w.timeout, "For each request and all that follows from it")
        ->capture_default_str();
    cli.add_option("--pid", to.pid, "Process of the server, to be watched, or auto");
    cli.add_option("--assert", w.assertions,
                   "\"p99 < 5ms\"; p50 p90 p99 p99.9 p99.99 max mean rps errors error_rate")
        ->allow_extra_args(false);
    cli.add_flag("--find-ceiling", to.find_ceiling,
                 "Find the highest rate that meets --slo, in runs of --duration [3s] each");
    cli.add_option("--slo", w.slo, "What it must meet, as for --assert")->allow_extra_args(false);
    cli.add_option("--json", to.json_file, "Write the report to a file, or - for standard output");
    cli.add_option("--ndjson", to.ndjson_file, "Write a line for each second, while it runs");
    cli.add_option("--html", to.html_file, "Write the report as a page with charts");
    cli.add_option("--io", w.io, "auto, uring or epoll")->capture_default_str();
    cli.add_flag("-q,--quiet", to.quiet, "No report for people, no progress");
}

template <class Integer>
bool read_integer(const std::string& text, Integer least, Integer most, Integer& to) {
    const char* const end = text.data() + text.size();
    const auto [stopped, fault] = std::from_chars(text.data(), end, to);
    return fault == std::errc{} && stopped == end && to >= least && to <= most;
}

bool read_duration(const std::string& text, std::int64_t least_ns, std::int64_t& to) {
    const std::optional<std::int64_t> ns = parse_duration_ns(text);
    to = ns.value_or(0);
    return ns && *ns >= least_ns;
}

std::string read_amounts(const words& w, run_options& to) {
    if (!parse_connections(w.connections, connections_max, to.connection_steps)) {
        return "--connections: expected 1 to 100000, or a list such as 1,16,64";
    }
    to.connections = to.connection_steps.front();
    if (!w.rate.empty()) {
        rate_words rates;
        if (!parse_rates(w.rate, rates)) {
            return "--rate: expected requests a second, 0.001 to 10000000; FROM..TO, or a list";
        }
        to.rate = rates.from;
        to.rate_to = rates.to;
        to.rate_steps = std::move(rates.steps);
    }
    const bool two_lists = to.connection_steps.size() > 1 && !to.rate_steps.empty();
    if (two_lists) {
        return "--rate and --connections: one list at a time";
    }
    if (to.is_ramp() && to.duration_ns == 0) {
        return "--rate: a ramp needs --duration";
    }
    if (to.find_ceiling && (to.rate > 0 || to.requests > 0 || to.steps() > 1)) {
        return "--find-ceiling chooses the rate, and ends by time";
    }
    return {};
}

std::string read_times(const words& w, run_options& to) {
    using base::ns_per_ms;
    if (!w.requests.empty()) {
        if (!read_integer<std::uint64_t>(w.requests, 1, UINT64_MAX, to.requests)) {
            return "--requests: expected a number of 1 or more";
        }
        to.duration_ns = 0;
    }
    if (!w.duration.empty() && !read_duration(w.duration, ns_per_ms, to.duration_ns)) {
        return "--duration: expected a duration such as 10s";
    }
    if (!read_duration(w.warm_up, 0, to.warm_up_ns)) {
        return "--warm-up: expected a duration such as 1s or 0s";
    }
    if (!read_duration(w.timeout, ns_per_ms, to.timeout_ns)) {
        return "--timeout: expected a duration of 1ms or more";
    }
    return {};
}

std::string read_arguments(const std::string& word, run_options& to) {
    std::string text = word;
    if (word == "auto") {
        to.makes_arguments = true;
        text = "{}";
    } else if (word.starts_with('@')) {
        std::string why;
        std::optional<std::string> held = read_text(word.substr(1), why);
        if (!held) {
            return "--arguments: " + why;
        }
        text = std::move(*held);
    }
    const auto parsed = json::document::parse(text);
    if (!parsed || !parsed->root().is_object()) {
        return "--arguments: not a JSON object";
    }
    // One line, whatever the file looks like.
    json::builder one;
    one.value(parsed->root());
    to.what.questions[0].arguments = one.text();
    return {};
}

struct scenario_name {
    std::string_view name;
    pattern how;
    action what;
    bool needs_tool;
    bool takes_tool;  // else what is asked is `what`
};
constexpr scenario_name scenario_names[] = {
    {"ping", pattern::plain, action::ping, false, false},
    {"tools/list", pattern::plain, action::tools_list, false, false},
    {"tools/call", pattern::plain, action::tools_call, true, true},
    {"mixed", pattern::plain, action::tools_call, true, true},
    {"session-churn", pattern::session_churn, action::ping, false, true},
    {"connection-churn", pattern::connection_churn, action::ping, false, true},
    {"tls-full", pattern::tls_full, action::ping, false, false},
    {"tls-resumed", pattern::tls_resumed, action::ping, false, false},
    {"progress", pattern::progress, action::tools_call, true, true},
    {"tasks", pattern::tasks, action::tools_call, true, true},
    {"rounds", pattern::rounds, action::tools_call, true, true},
    {"listen", pattern::listen, action::tools_call, true, true},
};

std::string read_questions(const words& w, scenario& to) {
    const scenario_name* found = nullptr;
    for (const scenario_name& one : scenario_names) {
        found = one.name == w.scenario ? &one : found;
    }
    if (found == nullptr) {
        return "unknown scenario \"" + w.scenario + "\"; see --help";
    }
    if (w.tool.empty() && found->needs_tool) {
        return w.scenario + " needs --tool";
    }
    if (!w.tool.empty() && !found->takes_tool) {
        return "--tool is not for " + w.scenario;
    }
    to.name = w.scenario;
    to.how = found->how;
    question& first = to.questions[0];
    first.what = w.tool.empty() ? found->what : action::tools_call;
    first.name = w.tool;
    return {};
}

}  // namespace

std::string check_scenario(const run_options& how) {
    const revision rev = how.what.rev;
    if (how.finds_revision) {
        return {};
    }
    const bool modern_only = how.what.how == pattern::rounds || how.what.how == pattern::listen;
    if (modern_only && !how.what.modern()) {
        return how.what.name + ": only for 2026-07-28";
    }
    if (how.what.how == pattern::listen && how.to.is_command()) {
        return "listen: each connection to a server on stdio is a server of its own";
    }
    const bool only_tls = how.what.how == pattern::tls_full || how.what.how == pattern::tls_resumed;
    if (only_tls && !how.to.secure) {
        return how.what.name + ": only for https";
    }
    const bool needs_answers =
        how.what.how >= pattern::progress || rev == revision::r2024_11_05 || how.to.is_command();
    if (how.unchecked && needs_answers) {
        return "--unchecked: only for plain requests over HTTP, where framing says what an answer "
               "is";
    }
    if (how.what.how == pattern::tasks && rev < revision::r2025_11_25) {
        return "tasks: only 2025-11-25 and 2026-07-28 have them";
    }
    const bool sessions = rev > revision::r2024_11_05 && !how.what.modern();
    if (how.what.how == pattern::session_churn && (!sessions || how.to.is_command())) {
        return "session-churn: only HTTP with 2025-03-26, 2025-06-18 or 2025-11-25 has sessions";
    }
    return {};
}

namespace {

// @FILE: what is a secret does not belong in the list of processes.
std::string read_headers_of(const std::string& path, std::vector<std::string>& to) {
    std::string why;
    const std::optional<std::string> held = read_text(path, why, headers_bytes_max);
    if (!held) {
        return "--header: " + why;
    }
    const std::size_t before = to.size();
    std::istringstream lines(*held);
    for (std::string line; std::getline(lines, line);) {
        if (line.ends_with('\r')) {
            line.pop_back();
        }
        if (!line.empty()) {
            to.push_back(std::move(line));
        }
    }
    return to.size() == before ? "--header: " + path + " is empty" : "";
}

std::string read_headers(const std::vector<std::string>& given, std::vector<std::string>& to) {
    for (const std::string& word : given) {
        if (!word.starts_with('@')) {
            to.push_back(word);
        } else if (std::string fault = read_headers_of(word.substr(1), to); !fault.empty()) {
            return fault;
        }
    }
    const bool all_well = std::all_of(to.begin(), to.end(), &is_extra_header);
    return all_well ? "" : "--header: not \"Name: value\", or a header that is set already";
}

std::string read_scenario(const words& w, run_options& to) {
    std::string fault = read_questions(w, to.what);
    if (!fault.empty()) {
        return fault;
    }
    to.finds_revision = w.revision == "auto";
    const std::optional<revision> rev = parse_revision(w.revision);
    if (!rev && !to.finds_revision) {
        return "--revision: expected 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05 or "
               "auto";
    }
    to.what.rev = rev.value_or(revision::r2026_07_28);
    if (fault = read_headers(w.headers, to.what.headers); !fault.empty()) {
        return fault;
    }
    if (!read_integer<std::uint64_t>(w.seed, 0, UINT64_MAX, to.seed)) {
        return "--seed: expected a number";
    }
    if (!w.poll.empty() && !read_duration(w.poll, 0, to.poll_ns)) {
        return "--poll: expected a duration such as 50ms";
    }
    return read_arguments(w.arguments, to);
}

std::string read_assertions(const char* name, const std::vector<std::string>& texts,
                            std::vector<assertion>& to) {
    std::string fault;
    for (const std::string& text : texts) {
        std::optional<assertion> read = parse_assertion(text, fault);
        if (!read) {
            return std::string(name) + " " + fault;
        }
        to.push_back(std::move(*read));
    }
    return {};
}

std::string read_ceiling(const words& w, run_options& to) {
    const std::string fault = read_assertions("--slo", w.slo, to.slo);
    if (!fault.empty()) {
        return fault;
    }
    if (to.find_ceiling == w.slo.empty()) {
        return to.find_ceiling ? "--find-ceiling needs --slo" : "--slo is for --find-ceiling";
    }
    if (to.find_ceiling && w.duration.empty()) {
        to.duration_ns = 3'000'000'000;
    }
    return {};
}

std::string read_rest(const words& w, run_options& to) {
    std::string fault = read_assertions("--assert", w.assertions, to.assertions);
    if (!fault.empty()) {
        return fault;
    }
    if (w.io != "auto" && w.io != "uring" && w.io != "epoll") {
        return "--io: expected auto, uring or epoll";
    }
    if (to.unchecked && !to.expect.empty()) {
        return "--expect: nothing is looked for with --unchecked";
    }
    to.io = w.io == "uring"   ? io::backend_mode::uring
            : w.io == "epoll" ? io::backend_mode::epoll
                              : io::backend_mode::automatic;
    if (!w.command.empty()) {
        to.to = command_target(w.command);
        return check_scenario(to);
    }
    std::optional<target> where = parse_target(w.target, w.path, fault);
    if (!where) {
        return fault;
    }
    to.to = std::move(*where);
    const tls_words& tls = to.tls;
    const bool any_tls = !tls.authorities.empty() || tls.insecure || !tls.certificate.empty() ||
                         !tls.key.empty() || !tls.server_name.empty();
    if (any_tls && !to.to.secure) {
        return "--cacert, --insecure, --cert, --key and --server-name are for https";
    }
    if (tls.certificate.empty() != tls.key.empty()) {
        return "--cert and --key: one needs the other";
    }
    return check_scenario(to);
}

options fault_of_usage(const std::string& text) {
    std::fprintf(stderr, "pillion-bench: %s\n", text.c_str());
    options out;
    out.exit_code = exit_usage;
    return out;
}

options read_run(CLI::App& cli, std::vector<std::string> rest, std::vector<std::string> command) {
    options out;
    words w;
    w.command = std::move(command);
    add_run_options(cli, w, out.run);
    cli.parse(std::move(rest));
    for (const std::string& fault :
         {read_scenario(w, out.run), read_times(w, out.run), read_amounts(w, out.run),
          read_rest(w, out.run), read_ceiling(w, out.run)}) {
        if (!fault.empty()) {
            return fault_of_usage(fault);
        }
    }
    out.what = command::run;
    return out;
}

options read_compare(CLI::App& cli, std::vector<std::string> rest) {
    options out;
    std::string share;
    cli.add_option("BEFORE", out.compare.before, "Report of --json")->required();
    cli.add_option("AFTER", out.compare.after, "Another one")->required();
    cli.add_option("--fail-above", share, "Exit with 3 if anything became worse by more, \"10%\"");
    cli.parse(std::move(rest));
    if (!share.empty()) {
        const std::optional<double> bound = parse_share(share);
        if (!bound) {
            return fault_of_usage("--fail-above: expected a share such as 10%");
        }
        out.compare.fail_above = *bound;
    }
    out.what = command::compare;
    return out;
}

}  // namespace

options read_options(int argc, char** argv) {
    std::vector<std::string> rest(argv + (argc > 0 ? 1 : 0), argv + argc);
    if (rest.size() == 1 && (rest[0] == "version" || rest[0] == "--version")) {
        std::printf("pillion-bench %s\n", pillion::version);
        return {};
    }
    std::vector<std::string> command;
    const auto dashes = std::find(rest.begin(), rest.end(), "--");
    if (dashes != rest.end()) {
        if (rest.end() - dashes < 3 || dashes[1] != "stdio") {
            return fault_of_usage("behind -- stands the word stdio, and the command of a server");
        }
        command.assign(dashes + 2, rest.end());
        rest.erase(dashes, rest.end());
    }
    const bool compares = !rest.empty() && rest[0] == "compare";
    if (compares) {
        rest.erase(rest.begin());
    }
    CLI::App cli(about, compares ? "pillion-bench compare" : "pillion-bench");
    // CLI11 takes the words last first.
    std::vector<std::string> backwards(rest.rbegin(), rest.rend());
    try {
        return compares ? read_compare(cli, std::move(backwards))
                        : read_run(cli, std::move(backwards), std::move(command));
    } catch (const CLI::CallForHelp&) {
        std::fputs(cli.help().c_str(), stdout);
        return {};
    } catch (const CLI::ParseError& e) {
        return fault_of_usage(e.what());
    }
}

}  // namespace pillion::load
