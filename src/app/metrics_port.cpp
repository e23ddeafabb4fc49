#include "app/metrics_port.hpp"

#include "app/shard.hpp"
#include "base/limits.hpp"
#include "io/tcp_stream.hpp"

namespace pillion::app {

namespace {

http::server_limits limits_of(const settings& set) {
    http::server_limits of = set.http;
    of.connections_max = limits::metrics_connections_max;
    return of;
}

}  // namespace

metrics_port::metrics_port(mcp::engine& e, int fd, const io::listen_spec& spec, const settings& set,
                           secure_side* secure)
    : loop_(e.loop()),
      spec_(spec),
      bound_port_(io::local_port(fd)),
      secure_(spec.scheme == io::listen_scheme::https && bound_port_ != 0 ? secure : nullptr),
      endpoint_(e, origins_of(bound_port_, spec, set), bound_port_ != 0),
      server_(loop_, endpoint_, limits_of(set)),
      listener_(loop_, fd, *this) {
    endpoint_.change_users(set.metrics_users);
    listener_.start();
}

void metrics_port::change(const settings& to) noexcept {
    endpoint_.change(origins_of(bound_port_, spec_, to));
    endpoint_.change_users(to.metrics_users);
    server_.change(limits_of(to));
}

void metrics_port::drain() noexcept {
    listener_.close(limits::drain_handshake_near_ms);
    server_.drain();
}

void metrics_port::on_connection(int fd) noexcept {
    if (secure_ != nullptr) {
        server_.serve(secure_->open(fd));
    } else {
        server_.serve(std::make_unique<io::tcp_stream>(loop_, fd, io::peer_of(fd)));
    }
}

}  // namespace pillion::app
