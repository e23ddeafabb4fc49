// What counting costs a request: one reading of the clock and one addition to a histogram, which
// the call log shares; and what a scrape costs a shard, by the number of tools that were called.
#include <benchmark/benchmark.h>
#include <memory>
#include <string>
#include <vector>

#include <pillion/server.hpp>

#include "app/server_state.hpp"
#include "base/clock.hpp"
#include "mcp/meters.hpp"
#include "mcp/registry.hpp"

namespace {

using namespace pillion;

std::unique_ptr<const mcp::registry> with_tools(std::size_t count) {
    server s("bench", "1");
    for (std::size_t i = 0; i < count; ++i) {
        s.tool("tool_" + std::to_string(i)).about("x").run([](context& ctx) {
            return ctx.result();
        });
    }
    std::string fault;
    std::vector<std::string> warnings;
    return mcp::registry::freeze(s.state().defs, fault, warnings);
}

template <std::size_t Tools>
void count_a_call(benchmark::State& state) {
    const auto offers = with_tools(Tools);
    mcp::meters m;
    const mcp::meters::rows rows = m.rows_of(*offers);
    std::size_t next = 0;
    std::int64_t before = base::monotonic_now_ns();
    for (auto _ : state) {
        const std::int64_t now = base::monotonic_now_ns();
        m.ended(mcp::method_id::tools_call, rows.tools[next], "ok", now - before);
        before = now;
        next = next + 1 < rows.tools.size() ? next + 1 : 0;
    }
}
BENCHMARK_TEMPLATE(count_a_call, 1)->Name("count a call with its clock/1 tool/pillion");
BENCHMARK_TEMPLATE(count_a_call, 1000)->Name("count a call with its clock/1000 tools/pillion");

void read_the_clock(benchmark::State& state) {
    for (auto _ : state) {
        benchmark::DoNotOptimize(base::monotonic_now_ns());
    }
}
BENCHMARK(read_the_clock)->Name("read the clock/alone/pillion");

template <std::size_t Tools>
void scrape(benchmark::State& state) {
    const auto offers = with_tools(Tools);
    mcp::meters m;
    for (const std::uint32_t row : m.rows_of(*offers).tools) {
        m.ended(mcp::method_id::tools_call, row, "ok", 1000);
        m.ended(mcp::method_id::tools_call, row, "tool_error", 1000);
    }
    base::chunk_pool pool;
    for (auto _ : state) {
        base::metrics_page page;
        m.collect(page);
        base::byte_buffer out(pool);
        page.render(out);
        benchmark::DoNotOptimize(out.data());
    }
}
BENCHMARK_TEMPLATE(scrape, 10)->Name("collect and render/10 tools/pillion");
BENCHMARK_TEMPLATE(scrape, 1000)->Name("collect and render/1000 tools/pillion");

template <std::size_t Tools>
void collect(benchmark::State& state) {
    const auto offers = with_tools(Tools);
    mcp::meters m;
    for (const std::uint32_t row : m.rows_of(*offers).tools) {
        m.ended(mcp::method_id::tools_call, row, "ok", 1000);
        m.ended(mcp::method_id::tools_call, row, "tool_error", 1000);
    }
    for (auto _ : state) {
        base::metrics_page page;
        m.collect(page);
    }
}
BENCHMARK_TEMPLATE(collect, 1000)->Name("collect/1000 tools/pillion");

}  // namespace

BENCHMARK_MAIN();
