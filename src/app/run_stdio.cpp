#include "app/run_stdio.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "app/bridge_host.hpp"
#include "app/leak_report.hpp"
#include "app/made_tools.hpp"
#include "app/server_state.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "io/blocking_pool.hpp"
#include "io/file_watch.hpp"
#include "io/signals.hpp"
#include "io/stdio_stream.hpp"
#include "mcp/engine.hpp"
#include "mcp/stdio_transport.hpp"

namespace pillion::app {

namespace {

constexpr std::int64_t grace_ms = 2000;

class stdio_runner {
 public:
    stdio_runner(server& s, std::unique_ptr<const mcp::registry> registered, configuration start,
                 std::unique_ptr<io::backend> with)
        : state_(s.state()),
          config_(std::move(start), offer_of(s)),
          service_(std::move(registered), s, pool_, 1, set().service),
          loop_(std::move(with)),
          engine_(std::make_unique<mcp::engine>(service_, loop_, 0)),
          bridge_(s, service_, pool_),
          renewed_(
              loop_, [this] { reload(); }, limits::tls_files_quiet_ms),
          limit_(&stdio_runner::on_limit, this) {
        transport_ = std::make_unique<mcp::stdio_transport>(
            *engine_, std::make_unique<io::stdio_stream>(loop_), [this] { on_pipe_end(); });
    }

    int run() {
        io::signal_watch signals(loop_, [this](int number) { on_signal(number); });
        {
            const std::lock_guard lock(state_.mutex);
            state_.running = &service_;
            state_.stop = [this] { loop_.post([this] { on_signal(SIGTERM); }); };
        }
        loop_.set_output(set().output);
        log::start_writer();
        // What changes while the servers behind us come up is read when we serve.
        static_cast<void>(watch(set().watched));
        // Nobody is listened to before: who asks first finds all tools.
        bridge_.bring_up(loop_, set().servers);
        renewed_.start();
        transport_->start();
        const bool watched = signals.start();
        if (!watched) {
            log::error("signals.failed", {log::kv("errno", errno),
                                          log::kv("then", "it ends: SIGTERM could not end it")});
            begin_drain();
        }
        loop_.run();
        {
            const std::lock_guard lock(state_.mutex);
            state_.running = nullptr;
            state_.stop = nullptr;
        }
        limit_.cancel();
        if (in_time_) {
            engine_->stop_all();
            in_time_ = engine_->end_parts();
        }
        if (!in_time_) {
            log::error("shutdown.grace_exceeded", {});
            log::stop_writer(limits::log_patience_ms);
            std::_Exit(EXIT_FAILURE);
        }
        signals.close();
        renewed_.close();
        bridge_.close();
        while (!signals.closed() || !renewed_.closed() || config_.busy() || !bridge_.idle()) {
            loop_.run_one(10'000'000);
        }
        transport_.reset();
        engine_.reset();
        loop_.drain(1000);
        leak_report left;
        left.add(loop_);
        left.print(set().json_log);
        return left.clean() && watched ? 0 : EXIT_FAILURE;
    }

 private:
    const settings& set() const noexcept { return *config_.running(); }

    void on_signal(int number) {
        if (number == SIGHUP) {
            return reload();
        }
        if (draining_) {
            return hurry();
        }
        begin_drain();
    }

    void reload() {
        config_.request(pool_, loop_, [this](const auto& to, auto&) { change(to); });
    }

    // Whether they are others than before.
    bool watch(const std::vector<std::string>& paths) {
        if (!paths.empty() && !renewed_.change(paths)) {
            log::warn("files.not_watched", {log::kv("then", "SIGHUP reads them again")});
        }
        return std::exchange(watched_, paths) != paths;
    }

    // Null: they were refused.
    void change(const reloader::settings_ref& to) {
        service_.note_configuration(to != nullptr);
        if (to == nullptr) {
            return;
        }
        if (!renewed_.closing() && watch(to->watched)) {
            // What happened to those since they were read, nobody saw.
            reload();
        }
        loop_.set_output(to->output);
        bridge_.change(to->servers);
        // The settings own the options.
        engine_->change(std::shared_ptr<const mcp::service_options>(to, &to->service));
    }

    void begin_drain() {
        draining_ = true;
        engine_->drain();
        loop_.arm_in_ms(limit_, set().drain_timeout_ms);
        transport_->drain();
    }

    void hurry() {
        hurried_ = true;
        engine_->stop_all();
        loop_.arm_in_ms(limit_, grace_ms);
        transport_->close();
    }

    // The pipe has closed: nobody is left to answer to.
    void on_pipe_end() {
        pipe_ended_ = true;
        engine_->drain();
        engine_->stop_all();
        loop_.arm_in_ms(limit_, poll_ms);
    }

    static void on_limit(io::timer& self, void* owner) noexcept {
        auto& me = *static_cast<stdio_runner*>(owner);
        if (me.pipe_ended_) {
            if (me.engine_->idle()) {
                return me.loop_.stop();
            }
            me.waited_ms_ += poll_ms;
            if (me.waited_ms_ >= grace_ms) {
                me.in_time_ = false;
                return me.loop_.stop();
            }
            return me.loop_.arm_in_ms(self, poll_ms);
        }
        if (me.hurried_) {
            // Even the pipe does not take what is queued.
            me.in_time_ = false;
            return me.loop_.stop();
        }
        me.hurry();
    }

    static constexpr std::int64_t poll_ms = 2;

    detail::server_state& state_;
    reloader config_;
    io::blocking_pool pool_;
    mcp::service service_;
    io::reactor loop_;
    std::unique_ptr<mcp::engine> engine_;
    std::unique_ptr<mcp::stdio_transport> transport_;
    bridge_host bridge_;
    io::file_watch renewed_;
    std::vector<std::string> watched_;  // by it
    io::timer limit_;
    bool draining_ = false;
    bool hurried_ = false;
    bool pipe_ended_ = false;
    bool in_time_ = true;
    std::int64_t waited_ms_ = 0;
};

}  // namespace

int run_stdio(server& s, std::unique_ptr<const mcp::registry> registered, configuration start) {
    io::signal_watch::block();
    std::string note;
    auto made = io::make_backend(start.made->io, note);
    if (!made) {
        std::fprintf(stderr, "pillion: %s\n", made.error().detail);
        return EXIT_FAILURE;
    }
    if (!note.empty()) {
        log::warn("io.fallback", {log::kv("reason", note)});
    }
    int code = EXIT_FAILURE;
    {
        stdio_runner runner(s, std::move(registered), std::move(start), std::move(*made));
        code = runner.run();
    }
    log::stop_writer(limits::log_patience_ms);
    return code;
}

}  // namespace pillion::app
