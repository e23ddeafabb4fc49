// Calls a running fixture-server as a well-behaved client does, and at the same time attacks it;
// bench/hostile/run, drain and lateness start it. One line of JSON is printed.
//
//   hostile-load KEY=VALUE…
//
// The well-behaved calls are made by the main thread, at real-time priority (`real_time`, 0: not)
// if that is allowed, so that others who share its processor do not count as the server's slowness.
// Listeners and attackers are the other thread.
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>

#include "attackers.hpp"
#include "caller.hpp"
#include "listeners.hpp"

namespace {

using namespace hostile;

class settings {
 public:
    settings(int argc, char** argv) {
        for (int i = 1; i < argc; ++i) {
            const std::string word = argv[i];
            const std::size_t at = word.find('=');
            if (at == std::string::npos || !values_.contains(word.substr(0, at))) {
                std::fprintf(stderr, "hostile-load: what is %s?\n", word.c_str());
                std::exit(2);
            }
            values_[word.substr(0, at)] = word.substr(at + 1);
        }
    }
    double real(const char* key) const { return std::atof(values_.at(key).c_str()); }
    int number(const char* key) const { return std::atoi(values_.at(key).c_str()); }
    const std::string& text(const char* key) const { return values_.at(key); }

 private:
    std::map<std::string, std::string> values_ = {
        {"port", "0"},        {"seconds", "5"},     {"rate", "500"}, {"connections", "16"},
        {"deadline_ms", "0"}, {"limit_ms", "0"},    {"kill", "0"},   {"listeners", "0"},
        {"changes", "0"},     {"uri_bytes", "400"}, {"slow", "0"},   {"stalled", "0"},
        {"flood", "0"},       {"kind", "rate"},     {"settle", "1"}, {"warm_up", "0.5"},
        {"real_time", "1"},   {"uploads", "0"},
    };
};

// Listeners and attackers until `stop`, after that until the listeners have read what is left.
struct crowd {
    listeners heard;
    attackers thrown;
    std::atomic<bool> publishing = true;
    std::atomic<bool> stop = false;
    std::atomic<bool> all_ended = false;
    double cpu_s = 0;
    double wall_s = 0;

    crowd(const settings& set, const std::string& uri, const attack_plan& plan)
        : heard(plan.port, set.number("listeners"), set.real("changes"), uri), thrown(plan) {}

    void run() {
        ::prctl(PR_SET_TIMERSLACK, 1UL);
        const std::int64_t from = now_ns();
        const std::int64_t cpu_from = thread_cpu_ns();
        while (!stop) {
            const std::int64_t now = now_ns();
            heard.step(now, publishing);
            thrown.step(now);
            all_ended = heard.all_ended();
            const timespec nap{0, 500'000};
            ::nanosleep(&nap, nullptr);
        }
        cpu_s = static_cast<double>(thread_cpu_ns() - cpu_from) / 1e9;
        wall_s = static_cast<double>(now_ns() - from) / 1e9;
    }
};

double us_at(const std::vector<std::int64_t>& sorted, double part) {
    if (sorted.empty()) {
        return 0;
    }
    const auto at = static_cast<std::size_t>(part * static_cast<double>(sorted.size()));
    return static_cast<double>(sorted[std::min(at, sorted.size() - 1)]) / 1000;
}

void print(const call_report& r, const crowd& others, bool real_time) {
    std::printf("{\"sent\":%lu,\"answered\":%lu,\"wrong\":%lu,\"unanswered\":%lu,\"refused\":%lu,",
                r.sent, r.answered, r.wrong, r.unanswered, r.refused);
    std::printf("\"p50_us\":%.0f,\"p90_us\":%.0f,\"p99_us\":%.0f,\"max_us\":%.0f,",
                us_at(r.latency_ns, 0.5), us_at(r.latency_ns, 0.9), us_at(r.latency_ns, 0.99),
                us_at(r.latency_ns, 1));
    std::printf("\"measured\":%zu,\"rate\":%.0f,", r.latency_ns.size(),
                static_cast<double>(r.latency_ns.size()) / r.wall_s);
    const listen_report l = others.heard.report();
    std::printf(
        "\"changes\":%lu,\"heard_min\":%lu,\"heard_max\":%lu,\"ended\":%zu,"
        "\"broken\":%zu,",
        l.changes, l.heard_min, l.heard_max, l.ended, l.broken);
    const attack_report& a = others.thrown.report();
    std::printf(
        "\"drips\":%lu,\"slow_cut\":%lu,\"stalled_cut\":%lu,\"flood_sent\":%lu,"
        "\"flood_refused\":%lu,\"flood_other\":%lu,\"flood_late\":%lu,\"uploaded\":%lu,",
        a.drips, a.slow_cut, a.stalled_cut, a.flood_sent, a.flood_refused, a.flood_other,
        a.flood_late, a.uploaded);
    std::printf("\"caller_cpu\":%.3f,\"others_cpu\":%.3f,\"real_time\":%s,\"killed_ns\":%ld}\n",
                r.cpu_s / r.wall_s, others.cpu_s / others.wall_s, real_time ? "true" : "false",
                r.killed_ns);
}

void sleep_s(double seconds) {
    const auto ns = static_cast<std::int64_t>(seconds * 1e9);
    const timespec nap{ns / 1'000'000'000, ns % 1'000'000'000};
    ::nanosleep(&nap, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
    const settings set(argc, argv);
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);

    attack_plan attack;
    attack.port = set.number("port");
    attack.slow = set.number("slow");
    attack.stalled = set.number("stalled");
    attack.flood_per_s = set.real("flood");
    attack.uploads = set.number("uploads");
    attack.kind = set.text("kind");
    attack.uri = "test://" + std::string(static_cast<std::size_t>(set.number("uri_bytes")), 'u');

    call_plan calls;
    calls.port = attack.port;
    calls.connections = set.number("connections");
    calls.rate = set.real("rate");
    calls.seconds = set.real("seconds");
    calls.warm_up_s = set.real("warm_up");
    calls.deadline_ms_max = set.number("deadline_ms");
    calls.deadline_ms_server = set.number("limit_ms");
    calls.kill_pid = set.number("kill");
    if (calls.deadline_ms_server > 0 && calls.deadline_ms_max == 0) {
        calls.deadline_ms_max = -1;
    }

    caller well_behaved(calls);
    crowd others(set, attack.uri, attack);
    std::thread second([&others] { others.run(); });
    const sched_param priority{set.number("real_time")};
    const bool real_time =
        priority.sched_priority > 0 && ::sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
    sleep_s(set.real("settle"));
    const call_report report = well_behaved.run();
    others.publishing = false;
    // What is still under way to the listeners; after SIGTERM, the ends of their streams.
    const int tenths = calls.kill_pid > 0 ? 150 : 5;
    for (int i = 0; i < tenths && !others.all_ended; ++i) {
        sleep_s(0.1);
    }
    others.stop = true;
    second.join();
    print(report, others, real_time);
    return 0;
}
