#include "app/shard.hpp"

#include <unistd.h>
#include <utility>

#include "base/limits.hpp"
#include "base/log.hpp"
#include "io/handshakes.hpp"
#include "io/tcp_stream.hpp"

namespace pillion::app {

namespace {

constexpr std::int64_t poll_ms = 5;
// How long work that was told to stop may take before it is left behind.
constexpr std::int64_t grace_ns = 2'000'000'000;
// What stopped handlers get to say their last word before the connections are cut.
constexpr std::int64_t last_word_ns = 250'000'000;

mcp::http_options options_of(std::uint16_t bound_port, const io::listen_spec& spec,
                             const settings& set, mcp::introspector* asks) {
    mcp::http_options made(set.path, origins_of(bound_port, spec, set), bound_port != 0,
                           set.legacy_sse);
    made.access = set.access;
    made.keys = set.keys;
    made.asks = asks;
    made.external_url = set.external_url;
    made.proxies = set.trusted_proxies;
    made.secure = spec.scheme == io::listen_scheme::https;
    return made;
}

// A connection on its way to another shard. Nothing is lost of it: it is served there, or closed.
class passed_on {
 public:
    passed_on(spread& among, std::size_t shard, int fd) noexcept
        : among_(among), shard_(shard), fd_(fd) {}
    passed_on(const passed_on&) = delete;
    passed_on& operator=(const passed_on&) = delete;
    ~passed_on() {
        if (fd_ >= 0) {
            ::close(fd_);
        }
        among_.arrived(shard_);
    }
    // Thread: that shard.
    void deliver() const noexcept {
        if (spread::taker* const by = among_.taker_of(shard_)) {
            by->take(std::exchange(fd_, -1));
        }
    }

 private:
    spread& among_;
    std::size_t shard_;
    mutable int fd_;
};

}  // namespace

http::origin_policy origins_of(std::uint16_t bound_port, const io::listen_spec& spec,
                               const settings& set) {
    const bool named = spec.kind == io::listen_kind::tcp;
    return http::origin_policy(named ? spec.host : "localhost", bound_port, io::is_loopback(spec),
                               set.allowed_origins, set.allowed_hosts);
}

port::port(mcp::engine& e, io::listen_socket socket, const io::listen_spec& spec,
           const settings& set, spread* among, secure_side* secure, mcp::introspector* asks)
    : engine_(e),
      loop_(e.loop()),
      socket_(std::move(socket)),
      spec_(spec),
      bound_port_(io::local_port(socket_.fd())),
      among_(among),
      secure_(spec.scheme == io::listen_scheme::https ? secure : nullptr),
      asks_(asks),
      connections_max_(set.http.connections_max),
      peers_(set.unix_peers),
      transport_(e, options_of(bound_port_, spec, set, asks)),
      server_(loop_, transport_, set.http),
      listener_(loop_, socket_.fd(), *this) {
    e.add_source(*this);
    if (among_ != nullptr) {
        server_.show_connections(among_->held(e.shard()));
    }
}

port::~port() {
    if (among_ != nullptr) {
        among_->leave(engine_.shard());
    }
}

void port::start() noexcept {
    if (among_ != nullptr) {
        among_->open(engine_.shard(), *this);
    }
    listener_.start();
}

void port::change(const settings& to) noexcept {
    connections_max_ = to.http.connections_max;
    transport_.change(options_of(bound_port_, spec_, to, asks_));
    server_.change(to.http);
}

bool port::wants_connection() noexcept {
    // Far beyond the cap even a refusal costs too much; up to there it is a proper 503.
    return server_.connections() < connections_max_ + connections_max_ / 4 + 64;
}

void port::on_connection(int fd) noexcept {
    const std::size_t here = engine_.shard();
    const std::size_t where = among_ == nullptr || draining_ ? here : among_->place(here);
    if (where == here) {
        take(fd);
    } else {
        pass_on(fd, where);
    }
}

void port::pass_on(int fd, std::size_t shard) noexcept {
    auto one = std::make_shared<const passed_on>(*among_, shard, fd);
    engine_.shared().post_to(shard, [one](mcp::engine&) { one->deliver(); });
}

bool port::idle() const noexcept {
    return closed_ && server_.idle() && (among_ == nullptr || among_->coming(engine_.shard()) == 0);
}

void port::take(int fd) noexcept {
    // A socket without a port is a unix socket, whoever opened it.
    const bool known = bound_port_ != 0 || peers_.unnamed() || peers_.allow(fd);
    if (secure_ != nullptr && bound_port_ != 0) {
        server_.serve(secure_->open(fd));
    } else {
        server_.serve(std::make_unique<io::tcp_stream>(loop_, fd, io::peer_of(fd)),
                      known ? 0 : 403);
    }
}

void port::collect(base::metrics_page& to) const {
    const http::server_counts& n = server_.counts();
    to.counter("pillion_http_connections_accepted_total", "Connections that were accepted.",
               listener_.accepted());
    to.counter("pillion_http_connections_refused_total",
               "Connections that were turned away as there were too many.", n.over_cap,
               {{"with", "503"}});
    to.counter("pillion_http_connections_refused_total", "", n.unwanted, {{"with", "429"}});
    to.counter("pillion_http_connections_refused_total", "", n.forbidden, {{"with", "403"}});
    to.counter("pillion_http_connections_refused_total", "", listener_.refused(),
               {{"with", "close"}});
    to.counter("pillion_http_accept_failures_total", "Failures of accept.", listener_.failed());
    to.gauge("pillion_http_connections", "Connections that are open.",
             static_cast<double>(server_.connections()));
    to.gauge("pillion_shard_connections", "Connections that are open, by the thread they are on.",
             static_cast<double>(server_.connections()),
             {{"shard", std::to_string(engine_.shard())}});
    to.gauge("pillion_http_event_streams", "Event streams that are open.",
             static_cast<double>(n.streams));
    to.counter("pillion_http_requests_total", "Requests whose head could be read.", n.requests);
    static constexpr std::string_view classes[] = {"1xx", "2xx", "3xx", "4xx", "5xx"};
    for (std::size_t i = 0; i < n.responses.size(); ++i) {
        if (i > 0) {
            to.counter("pillion_http_responses_total", "Responses by the class of their status.",
                       n.responses[i], {{"class", classes[i]}});
        }
    }
    to.counter("pillion_http_slow_peers_total", "Connections cut for their slowness.",
               n.slow_senders, {{"side", "sender"}});
    to.counter("pillion_http_slow_peers_total", "", n.slow_readers, {{"side", "reader"}});
    to.counter("pillion_http_received_bytes_total", "Bytes received.", n.bytes_in);
    to.counter("pillion_http_sent_bytes_total", "Bytes of responses.", n.bytes_out);
}

void port::drain() noexcept {
    if (!draining_) {
        draining_ = true;
        if (among_ != nullptr) {
            among_->close(engine_.shard());
        }
        // An inherited socket is not ours alone: whoever gave it may have it served by others.
        const bool alone = spec_.kind == io::listen_kind::tcp;
        bool ignored = false;
        if (alone) {
            ignored = io::ignore_handshakes(socket_.fd());
        } else if (spec_.kind == io::listen_kind::unix_path) {
            io::refuse_connects(socket_.fd());
        }
        listener_.close(!io::is_loopback(spec_) ? limits::drain_handshake_far_ms
                        : listener_.busy()      ? limits::drain_handshake_busy_ms
                                                : limits::drain_handshake_near_ms,
                        ignored ? limits::drain_handshake_ms_max : 0, alone);
        server_.drain();
    }
}

// From now on clients are told at once that nobody listens, instead of waiting for nothing.
void port::on_listener_closed() noexcept {
    closed_ = true;
    socket_.close();
}

shard::shard(mcp::service& shared, std::shared_ptr<const settings> set, std::size_t index,
             std::vector<io::listen_socket> sockets, std::vector<std::shared_ptr<spread>> among)
    : shared_(shared),
      set_(std::move(set)),
      index_(index),
      sockets_(std::move(sockets)),
      among_(std::move(among)),
      poll_(&shard::on_poll, this) {}

shard::~shard() = default;

bool shard::open(std::string& note, std::string& fault) {
    io::backend_options options;
    options.waits_for_company = true;
    auto made = io::make_backend(set_->io, note, options);
    if (!made) {
        fault = made.error().detail;
        return false;
    }
    open_on(std::move(*made));
    return true;
}

void shard::open_on(std::unique_ptr<io::backend> with) {
    loop_ = std::make_unique<io::reactor>(std::move(with));
    loop_->set_output(set_->output);
    engine_ = std::make_unique<mcp::engine>(shared_, *loop_, index_);
    if (set_->tls != nullptr) {
        secure_ = std::make_unique<secure_side>(*engine_, *set_);
    }
    if (set_->access != nullptr) {
        desk_ = std::make_unique<introspection_desk>(*loop_, shared_.blocking(), *set_);
    }
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
        ports_.push_back(std::make_unique<port>(*engine_, std::move(sockets_[i]), set_->listen[i],
                                                *set_, among_.empty() ? nullptr : among_[i].get(),
                                                secure_.get(), desk_.get()));
    }
    sockets_.clear();
}

void shard::listen() noexcept {
    for (const auto& p : ports_) {
        p->start();
    }
}

void shard::serve_metrics(io::listen_socket socket, const io::listen_spec& spec) {
    metrics_socket_ = std::move(socket);
    metrics_ =
        std::make_unique<metrics_port>(*engine_, metrics_socket_.fd(), spec, *set_, secure_.get());
}

void shard::run() noexcept { loop_->run(); }

void shard::change(std::shared_ptr<const settings> to) noexcept {
    set_ = std::move(to);
    loop_->set_output(set_->output);
    // The settings own the options.
    engine_->change(std::shared_ptr<const mcp::service_options>(set_, &set_->service));
    if (secure_ != nullptr) {
        secure_->change(*set_);
    }
    if (desk_ != nullptr) {
        desk_->change(*set_);
    }
    for (const auto& p : ports_) {
        p->change(*set_);
    }
    if (metrics_ != nullptr) {
        metrics_->change(*set_);
    }
}

void shard::take_keys() noexcept {
    for (const auto& p : ports_) {
        p->take_keys();
    }
}

bool shard::idle() const noexcept {
    for (const auto& p : ports_) {
        if (!p->idle()) {
            return false;
        }
    }
    return (metrics_ == nullptr || metrics_->idle()) && engine_->idle();
}

void shard::drain() noexcept {
    if (draining_) {
        return;
    }
    draining_ = true;
    stop_at_ns_ = loop_->now_ns() + set_->drain_timeout_ms * 1'000'000;
    leave_at_ns_ = stop_at_ns_ + grace_ns;
    for (const auto& p : ports_) {
        p->drain();
    }
    if (metrics_ != nullptr) {
        metrics_->drain();
    }
    engine_->drain();
    on_poll(poll_, this);
}

void shard::hurry() noexcept {
    drain();
    stop_at_ns_ = loop_->now_ns();
    leave_at_ns_ = stop_at_ns_ + grace_ns;
    on_poll(poll_, this);
}

void shard::on_poll(io::timer& self, void* owner) noexcept {
    shard& me = *static_cast<shard*>(owner);
    const std::int64_t now = me.loop_->now_ns();
    if (now >= me.stop_at_ns_ && !me.hurried_) {
        me.hurried_ = true;
        me.engine_->stop_all();
    }
    if (now >= me.stop_at_ns_ + last_word_ns && !me.cut_) {
        me.cut_ = true;
        for (const auto& p : me.ports_) {
            p->close_all();
        }
        if (me.metrics_ != nullptr) {
            me.metrics_->close_all();
        }
    }
    me.in_time_ = now < me.leave_at_ns_;
    // What is still asked about tokens, nobody waits for.
    const bool served = me.idle();
    if (served && me.desk_ != nullptr) {
        me.desk_->close();
    }
    if ((served && (me.desk_ == nullptr || me.desk_->idle())) || !me.in_time_) {
        self.cancel();
        return me.loop_->stop();
    }
    me.loop_->arm_in_ms(self, poll_ms);
}

void shard::close() noexcept {
    if (!in_time_) {
        return;
    }
    engine_->stop_all();
    if (!engine_->end_parts()) {
        in_time_ = false;
        return;
    }
    metrics_.reset();
    ports_.clear();
    if (secure_ != nullptr) {
        secure_->leave_engine();
    }
    engine_.reset();
    loop_->drain(1000);
    desk_.reset();
    secure_.reset();
    left_.add(*loop_);
    metrics_socket_.close();
    loop_.reset();
}

}  // namespace pillion::app
