#include "app/secure_side.hpp"

#include <cinttypes>
#include <cstdio>
#include <string>

#include "base/assert.hpp"
#include "base/random.hpp"
#include "io/socket.hpp"
#include "tls/tls_stream.hpp"

namespace pillion::app {

namespace {

// For whoever speaks plain HTTP here (STANDARD row 28: JSON, whatever goes wrong).
std::string plain_refusal() {
    const std::string body =
        "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"This port speaks HTTPS: "
        "use an https:// URL\"}}";
    std::uint64_t id[2];
    base::os_random(id, sizeof id);
    char text[33];
    std::snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, id[0], id[1]);
    return "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\nX-Request-Id: " + text +
           "\r\nConnection: close\r\n\r\n" + body;
}

}  // namespace

secure_side::secure_side(mcp::engine& e, const settings& set) : share_(e.loop()) {
    change(set);
    e.add_source(*this);
}

void secure_side::change(const settings& to) {
    // Sessions of clients go on with other certificates as well: their keys are the settings'.
    if (files_ == to.tls) {
        return;
    }
    std::string fault;
    int index = 0;
    auto made = tls::server_context::make(*to.tls, to.tickets, fault, index);
    PILLION_ASSERT(made != nullptr);
    context_ = std::move(made);
    files_ = to.tls;
}

std::unique_ptr<io::stream> secure_side::open(int fd) {
    return std::make_unique<tls::tls_stream>(share_, context_, fd, io::peer_of(fd), &plain_refusal);
}

void secure_side::collect(base::metrics_page& to) const {
    const tls::tls_counts& n = share_.counts();
    to.counter("pillion_tls_handshakes_total", "TLS handshakes that were completed.", n.full,
               {{"kind", "full"}});
    to.counter("pillion_tls_handshakes_total", "", n.resumed, {{"kind", "resumed"}});
    to.counter("pillion_tls_failures_total", "TLS connections that came to nothing.",
               n.failed - n.plain, {{"reason", "refused"}});
    to.counter("pillion_tls_failures_total", "", n.late, {{"reason", "timeout"}});
    to.counter("pillion_tls_failures_total", "", n.plain, {{"reason", "plain_http"}});
    to.counter("pillion_tls_failures_total", "", n.broken, {{"reason", "bad_record"}});
    to.highest("pillion_tls_certificate_expires_seconds",
               "When the first certificate runs out, in seconds since 1970.",
               static_cast<double>(context_->not_after_s()));
}

}  // namespace pillion::app
