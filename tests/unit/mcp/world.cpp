#include "unit/mcp/world.hpp"

#include "app/server_state.hpp"
#include "base/assert.hpp"
#include "base/log.hpp"
#include "coro/frame_pool.hpp"
#include "io/stdio_stream.hpp"
#include "io/tcp_stream.hpp"

namespace pillion::mcp::testing {

namespace {

service_options service_options_of(const world_options& from) {
    service_options o;
    o.tasks = from.tasks;
    o.request_timeout_ms = from.timeout_ms;
    o.session_idle_ms = from.session_idle_ms;
    o.sessions_max = from.sessions_max;
    o.limit = from.limit;
    if (from.set) {
        from.set(o);
    }
    return o;
}

}  // namespace

std::string registration_fault(server& s) {
    std::string fault;
    std::vector<std::string> warnings;
    registry::freeze(s.state().defs, fault, warnings);
    return fault;
}

std::unique_ptr<const registry> frozen(server& s) {
    std::string fault;
    std::vector<std::string> warnings;
    auto made = registry::freeze(s.state().defs, fault, warnings);
    PILLION_ASSERT(made != nullptr);
    return made;
}

client& client::send(std::string_view bytes) {
    peer_.send(bytes);
    world_.settle();
    return *this;
}

http_reply client::ask(std::string_view bytes) {
    const std::size_t before = peer_.received().size();
    send(bytes);
    const auto all = read_replies(std::string_view(peer_.received()).substr(before));
    return all.empty() ? http_reply() : all.front();
}

pipe_end::pipe_end(world& in)
    : world_(in), input_(in.net.net().open()), output_(in.net.net().open()) {
    transport_ = std::make_unique<stdio_transport>(
        *in.engine, std::make_unique<io::stdio_stream>(in.net.loop(), input_.fd(), output_.fd()),
        [this] { ended_ = true; });
    ++in.pipes;
    transport_->start();
    in.settle();
}

pipe_end::~pipe_end() {
    transport_->close();
    output_.block(false);
    world_.engine->disconnect_modern(*transport_);
    world_.on.gate.set();
    for (int i = 0; i < 100 && (!ended_ || world_.engine->live_requests() > 0); ++i) {
        world_.pass_ms(1000);
    }
    PILLION_ASSERT(ended_ && world_.engine->live_requests() == 0);
    transport_.reset();
    --world_.pipes;
    // Shared descriptors stay open; the simulation counts them.
    world_.net.net().close(input_.fd());
    world_.net.net().close(output_.fd());
}

pipe_end& pipe_end::bytes(std::string_view text) {
    input_.send(text);
    world_.settle();
    return *this;
}

pipe_end& pipe_end::line(std::string_view text) { return bytes(std::string(text) + "\n"); }

void pipe_end::line_after(std::int64_t delay_ns, std::string_view text) {
    input_.send_after(delay_ns, std::string(text) + "\n");
}

pipe_end& pipe_end::eof() {
    input_.finish();
    world_.settle();
    return *this;
}

void pipe_end::breaks() {
    output_.reset();
    world_.settle();
}

std::vector<std::string> pipe_end::lines() const {
    std::vector<std::string> all;
    std::string_view rest = output_.received();
    for (std::size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
        all.emplace_back(rest.substr(0, end));
        rest.remove_prefix(end + 1);
    }
    return all;
}

std::vector<std::string> pipe_end::fresh() {
    std::vector<std::string> all = lines();
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(read_));
    read_ += all.size();
    return all;
}

parsed pipe_end::ask(std::string_view text) {
    fresh();
    line(text);
    const auto got = fresh();
    return parsed(got.empty() ? std::string() : got.back());
}

world::world(const world_options& options) : net(options.net), host("world", "1.2.3") {
    // A line a call is for operators.
    log::set_level(log::level::warn);
    log::set_level(log::level::off);
    furnish(host, on);
    if (options.more) {
        options.more(host);
    }
    service =
        std::make_unique<mcp::service>(frozen(host), host, helpers, 1, service_options_of(options));
    host.state().running = service.get();
    engine = std::make_unique<mcp::engine>(*service, net.loop(), 0);
    transport = std::make_unique<http_transport>(
        *engine, http_options("/mcp", http::origin_policy("127.0.0.1", 8080, true, options.origins),
                              true, true));
    http = std::make_unique<http::server>(net.loop(), *transport, http::server_limits());
}

world::~world() {
    on.gate.set();
    engine->drain();
    engine->stop_all();
    http->close_all();
    for (int i = 0; i < 200 && (!http->idle() || engine->live_requests() > 0); ++i) {
        pass_ms(100);
    }
    PILLION_ASSERT(http->idle() && engine->live_requests() == 0 && on.inside == 0);
    http.reset();
    transport.reset();
    engine.reset();
    host.state().running = nullptr;
    net.run(1000);
    PILLION_ASSERT(net.leftovers().empty());
    PILLION_ASSERT(coro::frame_pool::live() == 0);
}

client& world::connect(std::string_view address) {
    const sim::sim_peer peer = net.net().open();
    io::peer_name name = io::peer_name::of_text(address.empty() ? "sim" : address);
    name.address_bytes = static_cast<std::uint8_t>(address.size());
    http->serve(std::make_unique<io::tcp_stream>(net.loop(), peer.fd(), name));
    clients_.push_back(std::make_unique<client>(*this, peer));
    return *clients_.back();
}

std::string world::open_session(std::string_view version) {
    const http_reply r = connect().ask(http_request("POST", {}, initialize_body(version)));
    const auto at = r.headers.find("mcp-session-id");
    return at == r.headers.end() ? std::string() : at->second;
}

void world::settle() {
    // Bytes that trickle one by one and coroutines that hand over to each other take many turns;
    // quiet is when several in a row did nothing.
    int still = 0;
    for (int i = 0; i < 100'000 && still < 4; ++i) {
        const auto before = net.net().completions();
        net.loop().run_one(0);
        const bool moved =
            net.net().completions() != before || !coro::ready_queue::current().empty();
        still = moved ? 0 : still + 1;
    }
}

void world::pass_ms(std::int64_t ms) {
    net.run_for_ms(ms);
    settle();
}

bool world::quiet() {
    settle();
    return engine->live_requests() == 0;
}

std::string world::left() {
    settle();
    std::string out;
    if (engine->live_requests() > 0) {
        out += std::to_string(engine->live_requests()) + " requests; ";
    }
    if (on.inside > 0) {
        out += std::to_string(on.inside) + " handlers; ";
    }
    // A pipe keeps its read buffer and the line that is coming.
    if (net.loop().chunks().live() > 2 * pipes) {
        out += std::to_string(net.loop().chunks().live()) + " chunks; ";
    }
    return out;
}

}  // namespace pillion::mcp::testing
