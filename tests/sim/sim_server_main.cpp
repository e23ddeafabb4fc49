// sim-server: runs the simulation of the whole server for many seeds, or for one at length.
//
// Usage: sim-server [--seed N] [--seeds K] [--fresh] [--again FILE] [--hours H] [--trace]
//   --seed N      the first seed (default 1); --fresh takes one from the clock
//   --seeds K     how many, one after the other
//   --again FILE  before that, every seed of FILE: the first word of each line
//   --hours H     virtual hours of one long run instead
//   --trace       what happens, line by line
// A seed that fails is named with the line that repeats it, and ends the program with 1.
#include <malloc.h>
#include <unistd.h>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "coro/frame_pool.hpp"
#include "sim/simulation.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define PILLION_SIM_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PILLION_SIM_ASAN
#endif
#endif
#ifdef PILLION_SIM_ASAN
#include <sanitizer/common_interface_defs.h>
// Of <sanitizer/allocator_interface.h>, which g++ does not bring along.
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();
#endif

namespace pillion::sim {
namespace {

struct options {
    std::uint64_t seed = 1;
    std::uint64_t seeds = 1;
    double hours = 0;
    bool trace = false;
    std::string again;
};

char now_running[160];  // the line for whoever crashes

void say_seed() noexcept {
    if (::write(STDERR_FILENO, now_running, std::strlen(now_running)) < 0) {
        return;
    }
}

void on_abort(int) noexcept {
    say_seed();
    ::_exit(1);
}

std::size_t heap_bytes() {
#ifdef PILLION_SIM_ASAN
    return __sanitizer_get_current_allocated_bytes();
#else
    return mallinfo2().uordblks;
#endif
}

// Never returns when an invariant broke: the server is in no state to be destroyed.
sim_figures run(std::uint64_t seed, const options& o) {
    std::snprintf(now_running, sizeof now_running,
                  "sim-server: seed %llu failed; again with: sim-server --seed %llu%s%s --trace\n",
                  static_cast<unsigned long long>(seed), static_cast<unsigned long long>(seed),
                  o.hours > 0 ? " --hours " : "",
                  o.hours > 0 ? std::to_string(o.hours).c_str() : "");
    auto one = std::make_unique<simulation>(seed, o.hours, o.trace);
    one->hourly = [](const simulation& s, std::int64_t hour) {
        const sim_figures f = s.figures();
        std::printf(
            "hour %2lld: %llu calls, %llu answers, %llu clients so far; now %zu sessions, %zu "
            "requests, %zu chunks, %zu frames, %zu tasks, heap %.2f MiB\n",
            static_cast<long long>(hour), static_cast<unsigned long long>(f.calls),
            static_cast<unsigned long long>(f.answers), static_cast<unsigned long long>(f.clients),
            s.world().sessions(), s.world().requests(), s.world().chunks(),
            coro::frame_pool::live(), s.world().tasks(),
            static_cast<double>(heap_bytes()) / 1048576.0);
        std::fflush(stdout);
    };
    try {
        return one->run();
    } catch (const violation& why) {
        std::fflush(stdout);
        std::fprintf(stderr, "sim-server: seed %llu: %s\n", static_cast<unsigned long long>(seed),
                     why.what());
        say_seed();
        ::_exit(1);
    }
}

int all(const options& o) {
    const auto begin = std::chrono::steady_clock::now();
    sim_figures sum;
    std::uint64_t ran = 0;
    const auto add = [&](std::uint64_t seed) {
        const sim_figures f = run(seed, o);
        sum.hash ^= f.hash;
        sum.turns += f.turns;
        sum.clients += f.clients;
        sum.calls += f.calls;
        sum.answers += f.answers;
        sum.virtual_ms += f.virtual_ms;
        ++ran;
    };
    if (!o.again.empty()) {
        std::ifstream file(o.again);
        std::string line;
        if (!file) {
            std::fprintf(stderr, "sim-server: cannot read %s\n", o.again.c_str());
            return 2;
        }
        while (std::getline(file, line)) {
            if (!line.empty() && line.front() != '#') {
                add(std::stoull(line));
            }
        }
    }
    for (std::uint64_t i = 0; i < o.seeds; ++i) {
        add(o.seed + i);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf(
        "%llu seeds from %llu on: %llu clients, %llu calls, %llu answers, %.1f virtual minutes, "
        "%llu turns, %.1f s, hash %016llx\n",
        static_cast<unsigned long long>(ran), static_cast<unsigned long long>(o.seed),
        static_cast<unsigned long long>(sum.clients), static_cast<unsigned long long>(sum.calls),
        static_cast<unsigned long long>(sum.answers),
        static_cast<double>(sum.virtual_ms) / 60'000.0, static_cast<unsigned long long>(sum.turns),
        took.count(), static_cast<unsigned long long>(sum.hash));
    return 0;
}

}  // namespace
}  // namespace pillion::sim

int main(int argc, char** argv) {
    using namespace pillion::sim;
    options o;
    for (int i = 1; i < argc; ++i) {
        const std::string_view name = argv[i];
        const auto value = [&]() -> const char* { return i + 1 < argc ? argv[++i] : "0"; };
        if (name == "--seed") {
            o.seed = std::strtoull(value(), nullptr, 10);
        } else if (name == "--seeds") {
            o.seeds = std::strtoull(value(), nullptr, 10);
        } else if (name == "--hours") {
            o.hours = std::strtod(value(), nullptr);
        } else if (name == "--again") {
            o.again = value();
        } else if (name == "--fresh") {
            o.seed = static_cast<std::uint64_t>(
                std::chrono::system_clock::now().time_since_epoch().count() / 1000);
        } else if (name == "--trace") {
            o.trace = true;
        } else {
            std::fprintf(stderr, "sim-server: unknown argument %s\n", argv[i]);
            return 2;
        }
    }
    std::signal(SIGABRT, on_abort);
#ifdef PILLION_SIM_ASAN
    __sanitizer_set_death_callback(say_seed);
#endif
    return all(o);
}
