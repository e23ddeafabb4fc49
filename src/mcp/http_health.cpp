// What operators and people with a browser ask the transport (methods of mcp/http_transport.hpp).
#include <exception>

#include "base/log.hpp"
#include "json/writer.hpp"
#include "mcp/home_page.hpp"
#include "mcp/http_transport.hpp"

namespace pillion::mcp {

namespace {

constexpr http::extra_header no_store[] = {{"Cache-Control", "no-store"}};

// A check of the embedding program's; what it throws means no.
bool holds(const ready_check& check) noexcept {
    try {
        return check.good();
    } catch (const std::exception& e) {
        log::warn("ready.check_threw", {log::kv("check", check.name), log::kv("what", e.what())});
    } catch (...) {
        log::warn("ready.check_threw", {log::kv("check", check.name)});
    }
    return false;
}

void write_check(json::writer& w, std::string_view name, bool good) {
    w.key(name);
    w.string(good ? "ok" : "fail");
}

}  // namespace

// That the loop answers is the whole statement.
void http_transport::handle_health(http::exchange& ex) {
    base::byte_buffer body(engine_.loop().chunks(), http::exchange::head_gap);
    json::writer w(body);
    w.begin_object();
    w.key_raw(R"("status":)");
    w.string("ok");
    w.key_raw(R"("version":)");
    w.string_lossy(engine_.registered().info().version);
    w.key_raw(R"("uptime":)");
    w.integer((engine_.loop().now_ns() - started_ns_) / 1'000'000'000);
    w.end_object();
    ex.respond(200, "application/json", std::move(body), no_store, 1);
}

// Whether calls should be sent here (STANDARD row 113). What only limits the server, a refused
// configuration or a full store of tasks, is told and makes nobody unready.
void http_transport::handle_ready(http::exchange& ex) {
    const service& shared = engine_.shared();
    base::byte_buffer checks(engine_.loop().chunks());
    json::writer c(checks);
    c.begin_object();
    bool ready = !engine_.draining();
    write_check(c, "accepting", ready);
    write_check(c, "configuration", shared.configured());
    write_check(c, "tasks", shared.tasks().has_room());
    for (const ready_check& one : shared.ready_checks()) {
        const bool good = holds(one);
        ready = ready && good;
        write_check(c, one.name, good);
    }
    c.end_object();
    base::byte_buffer body(engine_.loop().chunks(), http::exchange::head_gap);
    json::writer w(body);
    w.begin_object();
    w.key_raw(R"("status":)");
    w.string(ready ? "ready" : "not_ready");
    w.key_raw(R"("checks":)");
    w.raw(checks.view());
    w.end_object();
    ex.respond(ready ? 200 : 503, "application/json", std::move(body), no_store, 1);
}

void http_transport::handle_home(http::exchange& ex) {
    base::byte_buffer body(engine_.loop().chunks(), http::exchange::head_gap);
    write_home_page(body, engine_.registered().info(), options_.path);
    ex.respond(200, "text/html; charset=utf-8", std::move(body), home_page_headers,
               std::size(home_page_headers));
}

}  // namespace pillion::mcp
