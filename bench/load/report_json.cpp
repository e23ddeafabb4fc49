#include <cmath>

#include <pillion/json.hpp>
#include <pillion/version.hpp>

#include "report.hpp"

namespace pillion::load {

namespace {

// Microseconds with three decimals.
double to_us(double ns) { return std::round(ns) / 1e3; }

void put_latency(json::builder& b, const run_result& what) {
    b.key("latency_us");
    if (what.latency.count() == 0) {
        b.value(nullptr);
        return;
    }
    b.begin_object();
    const auto put = [&](const char* name, metric of) {
        b.member(name, to_us(what.value(of).value_or(0)));
    };
    b.member("min", to_us(static_cast<double>(what.latency.min_ns())));
    put("p50", metric::p50);
    put("p90", metric::p90);
    put("p99", metric::p99);
    put("p99.9", metric::p999);
    put("p99.99", metric::p9999);
    put("max", metric::max);
    put("mean", metric::mean);
    b.end_object();
}

void put_errors(json::builder& b, const tally& counts) {
    b.key("errors").begin_object();
    b.member("total", counts.errors()).member("rate", counts.error_rate());
    b.key("by_class").begin_object();
    for (std::size_t i = 1; i < faults; ++i) {
        const auto of = static_cast<fault>(i);
        if (counts.errors(of) > 0) {
            b.member(name_of(of), counts.errors(of));
        }
    }
    b.end_object();
    b.key("examples").begin_object();
    for (std::size_t i = 1; i < faults; ++i) {
        const auto of = static_cast<fault>(i);
        if (!counts.example(of).empty()) {
            b.member(name_of(of), counts.example(of));
        }
    }
    b.end_object();
    b.key("rpc_codes").begin_object();
    for (const auto& [code, times] : counts.rpc_codes()) {
        b.member(std::to_string(code), times);
    }
    b.end_object().end_object();
}

void put_machine(json::builder& b, const run_result& what) {
    const double answers = static_cast<double>(what.answers_watched);
    const auto per_request = [&](double total) { return answers > 0 ? total / answers : 0; };
    b.key("client").begin_object();
    b.member("io", what.backend);
    b.member("cpu_share", what.client_share());
    if (what.client_spins) {
        // It is busy all the time, whatever it has to do.
        for (const char* const unknown : {"cpu_us_per_request", "bottleneck", "ceiling_rps"}) {
            b.key(unknown).value(nullptr);
        }
    } else {
        const double cpu_ns = static_cast<double>(what.client_cpu_watched_ns);
        b.member("cpu_us_per_request", to_us(per_request(cpu_ns)));
        b.member("bottleneck", what.client_was_bottleneck());
        if (cpu_ns > 0) {
            // What one core of it can ask for.
            b.member("ceiling_rps", 1e9 * answers / cpu_ns);
        }
    }
    b.end_object();
    b.key("server");
    if (!what.server) {
        b.value(nullptr);
        return;
    }
    const double cpu_ns = static_cast<double>(what.server->cpu_ns);
    b.begin_object();
    b.key("pids").begin_array();
    for (const int pid : what.pids) {
        b.value(pid);
    }
    b.end_array();
    b.member("cpu_us_per_request", to_us(per_request(cpu_ns)));
    b.member("cpu_share", what.seconds > 0 ? cpu_ns / 1e9 / what.seconds : 0);
    b.member("rss_bytes", what.server->rss_bytes);
    b.member("context_switches_per_request",
             per_request(static_cast<double>(what.server->switches)));
    b.end_object();
}

void put_point(json::builder& b, const series_point& point) {
    b.begin_object();
    b.member("t", point.end_s).member("seconds", point.seconds);
    b.member("ok", point.ok).member("errors", point.errors);
    if (point.rate > 0) {
        b.member("rate", point.rate);
    }
    b.member("rps", static_cast<double>(point.ok) / point.seconds);
    b.member("p50_us", to_us(static_cast<double>(point.p50_ns)));
    b.member("p90_us", to_us(static_cast<double>(point.p90_ns)));
    b.member("p99_us", to_us(static_cast<double>(point.p99_ns)));
    b.member("max_us", to_us(static_cast<double>(point.max_ns)));
    b.end_object();
}

void put_set_up(json::builder& b, const run_options& how) {
    b.member("target", how.to.text).member("revision", name_of(how.what.rev));
    b.member("scenario", how.what.name);
    if (how.what.has_tool()) {
        b.member("tool", how.what.questions[0].name);
    }
    b.member("connections", how.connections);
    b.member("mode", how.rate > 0 ? "open" : "closed");
    if (how.rate > 0) {
        b.member("rate", how.rate);
    }
    b.member("checked", !how.unchecked);
    b.member("spin", how.spin);
    if (how.is_ramp()) {
        b.member("rate_to", how.rate_to);
    }
    b.member("warm_up_s", static_cast<double>(how.warm_up_ns) / 1e9);
}

void put_run(json::builder& b, const step& one) {
    const run_options& how = one.how;
    const run_result& what = one.what;
    put_set_up(b, how);
    b.member("seconds", what.seconds);
    b.member("ok", what.counts.ok).member("rps", what.rps());
    put_latency(b, what);
    put_errors(b, what.counts);
    b.member("bytes_in", what.counts.bytes_in).member("bytes_out", what.counts.bytes_out);
    b.member("reconnects", what.counts.reconnects);
    if (const char* const events = events_of(how.what.how)) {
        b.member(events, what.counts.events);
    }
    put_machine(b, what);
    b.key("assertions").begin_array();
    for (const assertion& a : how.assertions) {
        b.begin_object().member("text", a.text);
        b.member("passed", holds(a, what.value(a.what))).end_object();
    }
    b.end_array();
    b.key("series").begin_array();
    for (const series_point& point : what.series) {
        put_point(b, point);
    }
    b.end_array();
}

void put_ceiling(json::builder& b, const bench_result& all) {
    b.key("ceiling").begin_object();
    b.member("rate", *all.ceiling).key("steps").begin_array();
    for (const step& one : all.steps) {
        // The first is in closed loop.
        if (one.how.rate > 0) {
            b.begin_object().member("rate", one.how.rate).member("met", one.met);
            b.member("rps", one.what.rps()).member("error_rate", one.what.counts.error_rate());
            put_latency(b, one.what);
            b.end_object();
        }
    }
    b.end_array().end_object();
}

}  // namespace

std::string json_report(const bench_result& all) {
    json::builder b;
    b.begin_object();
    b.member("pillion_bench", pillion::version).member("passed", passed(all));
    if (all.is_list()) {
        b.key("steps").begin_array();
        for (const step& one : all.steps) {
            b.begin_object().member("passed", passed(one));
            put_run(b, one);
            b.end_object();
        }
        b.end_array();
    } else {
        if (all.ceiling) {
            put_ceiling(b, all);
        }
        put_run(b, all.one());
    }
    b.end_object();
    return std::string(b.text());
}

std::string json_point(const series_point& point) {
    json::builder b;
    put_point(b, point);
    return std::string(b.text());
}

}  // namespace pillion::load
