// pillion-bench: load tester for MCP servers.
//
//     pillion-bench http://127.0.0.1:8080/mcp tools/call --tool echo --arguments '{"text":"hi"}'
//
// Exit codes: 0 all is well; 1 could not run; 2 usage; 3 wrong answers, or an assertion that
// failed (compare: something became worse than it may).
#include <unistd.h>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>

#include "bench.hpp"
#include "compare.hpp"
#include "io/backend_factory.hpp"
#include "io/socket.hpp"
#include "load_run.hpp"
#include "options.hpp"
#include "report.hpp"
#include "survey.hpp"

namespace {

using namespace pillion;
using namespace pillion::load;

constexpr int exit_could_not_run = 1;
constexpr int exit_wrong = 3;

int could_not(const std::string& why) {
    std::fprintf(stderr, "pillion-bench: %s\n", why.c_str());
    return exit_could_not_run;
}

// Where lines go while the run goes on: a file of them, and one that is overwritten on a terminal.
class progress {
 public:
    explicit progress(const run_options& how)
        : shown_(!how.quiet && ::isatty(STDERR_FILENO) == 1), path_(how.ndjson_file) {}
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;
    ~progress() {
        if (file_ != nullptr) {
            std::fclose(file_);
        }
    }

    bool open() {
        file_ = path_.empty() ? nullptr : std::fopen(path_.c_str(), "w");
        return path_.empty() || file_ != nullptr;
    }
    void tell(const series_point& point) {
        if (shown_) {
            std::fprintf(stderr, "\r\033[K%s", progress_line(point).c_str());
        }
        if (file_ != nullptr) {
            std::fprintf(file_, "%s\n", json_point(point).c_str());
            std::fflush(file_);
        }
    }
    void end() const {
        if (shown_) {
            std::fputs("\r\033[K", stderr);
        }
    }

 private:
    bool shown_;
    std::string path_;
    std::FILE* file_ = nullptr;
};

bool write_file(const std::string& path, const std::string& text) {
    std::FILE* const to = path == "-" ? stdout : std::fopen(path.c_str(), "w");
    if (to == nullptr) {
        return false;
    }
    const bool written = std::fwrite(text.data(), 1, text.size(), to) == text.size();
    const bool closed = path == "-" ? std::fflush(to) == 0 : std::fclose(to) == 0;
    return written && closed;
}

// Before anything is measured; what is there is kept until there is something better.
bool can_write(const std::string& path) {
    std::FILE* const to = path.empty() || path == "-" ? nullptr : std::fopen(path.c_str(), "a");
    return to == nullptr ? path.empty() || path == "-" : std::fclose(to) == 0;
}

int finish(const run_options& how, const bench_result& all) {
    if (!how.quiet && how.json_file != "-") {
        std::fputs(text_report(all).c_str(), stdout);
    }
    if (!how.json_file.empty() && !write_file(how.json_file, json_report(all) + "\n")) {
        return could_not("cannot write " + how.json_file);
    }
    if (!how.html_file.empty() && !write_file(how.html_file, html_report(all))) {
        return could_not("cannot write " + how.html_file);
    }
    return passed(all) ? 0 : exit_wrong;
}

int run_on(io::reactor& loop, const server_watch& server, progress& lines, run_options& how) {
    std::string fault;
    if (!survey(loop, how).run(fault)) {
        return could_not(fault);
    }
    bench_result all;
    bench runs(loop, server, [&lines](const series_point& point) { lines.tell(point); });
    const bool ran = runs.run(how, all, fault);
    lines.end();
    if (ran) {
        return finish(how, all);
    }
    if (how.steps() > 1 && !all.steps.empty()) {
        // Those of a list that were run are worth their time.
        static_cast<void>(finish(how, all));
    }
    return could_not(fault);
}

int run(run_options& how) {
    std::string fault;
    server_watch server;
    if (!resolve(how.to, fault) || (!how.pid.empty() && !server.find(how.pid, how.to, fault))) {
        return could_not(fault);
    }
    std::string note;
    auto backend = io::make_backend(how.io, note);
    if (!backend) {
        return could_not(note.empty() ? backend.error().detail : note);
    }
    for (const std::string& path : {how.json_file, how.html_file}) {
        if (!can_write(path)) {
            return could_not("cannot write " + path);
        }
    }
    progress lines(how);
    if (!lines.open()) {
        return could_not("cannot write " + how.ndjson_file);
    }
    io::raise_descriptor_limit();
    std::signal(SIGPIPE, SIG_IGN);
    for (const int number : {SIGINT, SIGTERM}) {
        std::signal(number, [](int) { load_run::interrupt(); });
    }
    io::reactor loop(std::move(*backend));
    // A request may be as large as it likes, and over TLS is many pieces.
    io::output_marks output;
    output.hard = SIZE_MAX;
    loop.set_output(output);
    if (how.to.secure) {
        how.tls.server_name = how.tls.server_name.empty() ? how.to.host : how.tls.server_name;
        // As clients do that come back.
        how.tls.resume =
            how.what.how == pattern::tls_resumed || how.what.how == pattern::connection_churn;
        how.to.dial = tls_dial::make(loop, how.tls, fault);
        if (how.to.dial == nullptr) {
            return could_not(fault);
        }
    }
    const int code = run_on(loop, server, lines, how);
    // Before the loop.
    how.to.dial.reset();
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    options read = read_options(argc, argv);
    switch (read.what) {
        case command::run:
            return run(read.run);
        case command::compare:
            return compare_reports(read.compare);
        case command::nothing:
            break;
    }
    return read.exit_code;
}
