#include "options.hpp"

#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>

#include <CLI/CLI.hpp>

#include <pillion/version.hpp>

#include "json/document.hpp"
#include "quantity.hpp"
#include "schedule.hpp"

namespace pillion::load {

namespace {

constexpr int exit_usage = 2;
constexpr std::size_t connections_max = 100'000;

constexpr const char* about =
    "Load tester for MCP servers.\n\n"
    "  pillion-bench http://HOST:PORT/PATH [SCENARIO] [OPTIONS]\n"
    "  pillion-bench unix:/PATH.sock [SCENARIO] [OPTIONS]\n"
    "  pillion-bench compare BEFORE.json AFTER.json [--fail-above 10%]\n\n"
    "Scenarios: ping (the default; server/discover with 2026-07-28), tools/list, tools/call.\n"
    "Exit codes: 0 all is well; 1 could not run; 2 usage; 3 wrong answers, or an assertion that "
    "failed.";

// The words of the command line, before they are checked.
struct words {
    std::string target;
    std::string scenario = "ping";
    std::string revision = "2026-07-28";
    std::string tool;
    std::string arguments = "{}";
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
    cli.add_option("TARGET", w.target, "http://host:port/path or unix:/path.sock")->required();
    cli.add_option("SCENARIO", w.scenario, "ping, tools/list or tools/call")->capture_default_str();
    cli.add_option("-r,--revision", w.revision, "2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26")
        ->capture_default_str();
    cli.add_option("--tool", w.tool, "Name of the tool to call");
    cli.add_option("--arguments", w.arguments, "Its arguments: a JSON object, or @FILE")
        ->capture_default_str();
    cli.add_option("--expect", to.expect, "Text that the JSON of each answer must hold");
    cli.add_flag("--unchecked", to.unchecked,
                 "Count answers by their HTTP framing and status alone, as for a server of canned "
                 "bytes");
    cli.add_option("--path", w.path, "What to ask for at a unix socket")->capture_default_str();
    cli.add_option("-H,--header", w.headers, "\"Name: value\" for each request")
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
    cli.add_option("--timeout", w.timeout, "For each answer")->capture_default_str();
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
    constexpr std::int64_t ns_per_ms = 1'000'000;
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

std::string read_arguments(const std::string& word, std::string& to) {
    to = word;
    if (word.starts_with('@')) {
        std::ifstream in(word.substr(1), std::ios::binary);
        if (!in) {
            return "--arguments: cannot read " + word.substr(1);
        }
        to.assign(std::istreambuf_iterator<char>(in), {});
    }
    const auto parsed = json::document::parse(to);
    if (!parsed || !parsed->root().is_object()) {
        return "--arguments: not a JSON object";
    }
    // One line, whatever the file looks like.
    json::builder one;
    one.value(parsed->root());
    to = one.text();
    return {};
}

std::string read_scenario(const words& w, scenario& to) {
    if (w.scenario == "tools/call") {
        to.what = action::tools_call;
    } else if (w.scenario == "tools/list") {
        to.what = action::tools_list;
    } else if (w.scenario != "ping") {
        return "unknown scenario \"" + w.scenario + "\"; there are ping, tools/list and tools/call";
    }
    if ((to.what == action::tools_call) == w.tool.empty()) {
        return w.tool.empty() ? "tools/call needs --tool" : "--tool is for tools/call";
    }
    to.tool = w.tool;
    const std::optional<revision> rev = parse_revision(w.revision);
    if (!rev) {
        return "--revision: expected 2026-07-28, 2025-11-25, 2025-06-18 or 2025-03-26";
    }
    to.rev = *rev;
    for (const std::string& header : w.headers) {
        if (!is_extra_header(header)) {
            return "--header: not \"Name: value\", or a header that is set already";
        }
    }
    to.headers = w.headers;
    return read_arguments(w.arguments, to.arguments);
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
    std::optional<target> where = parse_target(w.target, w.path, fault);
    if (!where) {
        return fault;
    }
    to.to = std::move(*where);
    return {};
}

options fault_of_usage(const std::string& text) {
    std::fprintf(stderr, "pillion-bench: %s\n", text.c_str());
    options out;
    out.exit_code = exit_usage;
    return out;
}

options read_run(CLI::App& cli, std::vector<std::string> rest) {
    options out;
    words w;
    add_run_options(cli, w, out.run);
    cli.parse(std::move(rest));
    for (const std::string& fault :
         {read_scenario(w, out.run.what), read_times(w, out.run), read_amounts(w, out.run),
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
    const bool compares = !rest.empty() && rest[0] == "compare";
    if (compares) {
        rest.erase(rest.begin());
    }
    CLI::App cli(about, compares ? "pillion-bench compare" : "pillion-bench");
    // CLI11 takes the words last first.
    std::vector<std::string> backwards(rest.rbegin(), rest.rend());
    try {
        return compares ? read_compare(cli, std::move(backwards))
                        : read_run(cli, std::move(backwards));
    } catch (const CLI::CallForHelp&) {
        std::fputs(cli.help().c_str(), stdout);
        return {};
    } catch (const CLI::ParseError& e) {
        return fault_of_usage(e.what());
    }
}

}  // namespace pillion::load
