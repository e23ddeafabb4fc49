#include "app/run_http.hpp"

#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "app/bridge_host.hpp"
#include "app/guard_settings.hpp"
#include "app/key_keeper.hpp"
#include "app/made_tools.hpp"
#include "app/ready_follower.hpp"
#include "app/server_state.hpp"
#include "app/shard.hpp"
#include "base/cpu.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "io/blocking_pool.hpp"
#include "io/file_watch.hpp"
#include "io/service_manager.hpp"
#include "io/signals.hpp"

namespace pillion::app {

namespace {

int startup_fault(const std::string& text) {
    std::fprintf(stderr, "pillion: %s\n", text.c_str());
    return EXIT_FAILURE;
}

std::string url_of(int fd, const io::listen_spec& spec, const settings& set) {
    const std::string address = io::local_address(fd);
    const bool unix_socket = spec.kind == io::listen_kind::unix_path || io::local_port(fd) == 0;
    const char* const scheme = spec.scheme == io::listen_scheme::https ? "https://" : "http://";
    return unix_socket ? address + " (path " + set.path + ")" : scheme + address + set.path;
}

// What a person pastes into a client.
void print_recipes(const std::string& name, const std::string& url) {
    std::fprintf(
        stderr,
        "pillion: connect a client, for example with\n"
        "  claude mcp add --transport http %s %s\n"
        "  npx @modelcontextprotocol/inspector --cli %s --transport http "
        "--method tools/list\n"
        "  curl -s %s -H 'Content-Type: application/json' "
        "-H 'Accept: application/json, text/event-stream' "
        "-H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/list' "
        "-d '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":"
        "{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientCapabilities\":{}}}}'\n",
        name.c_str(), url.c_str(), url.c_str(), url.c_str());
}

std::string cannot_listen(const io::listen_spec& spec, const error& why) {
    const std::string where = spec.kind == io::listen_kind::unix_path ? "unix:" + spec.path
                              : spec.kind == io::listen_kind::tcp
                                  ? spec.host + ":" + std::to_string(spec.port)
                                  : "fd:" + std::to_string(spec.fd);
    return "cannot listen on " + where + ": " + why.detail;
}

// One set of sockets per shard: result[shard][address].
bool open_sockets(const settings& set, std::vector<std::vector<io::listen_socket>>& out,
                  std::string& fault) {
    out.resize(set.threads);
    for (const io::listen_spec& spec : set.listen) {
        auto sockets = io::open_listeners(spec, set.threads);
        if (!sockets) {
            fault = cannot_listen(spec, sockets.error());
            return false;
        }
        for (std::size_t i = 0; i < set.threads; ++i) {
            out[i].push_back(std::move((*sockets)[i]));
        }
    }
    return true;
}

class http_runner {
 public:
    http_runner(server& s, std::unique_ptr<const mcp::registry> registered, configuration start)
        : state_(s.state()),
          config_(std::move(start), offer_of(s)),
          service_(std::move(registered), s, pool_, set().threads, set().service),
          bridge_(s, service_, pool_),
          follower_(set().ready_follow, set().ready_interval_ms) {
        std::vector<mcp::ready_check> checks = state_.checks;
        for (mcp::ready_check& one : follower_.checks()) {
            checks.push_back(std::move(one));
        }
        if (set().access != nullptr) {
            set().keys->keep(auth::sources_of(*set().access));
            checks.push_back({"issuer_keys", [keys = set().keys] { return keys->complete(); }});
        }
        service_.set_ready_checks(std::move(checks));
    }

    int run() {
        std::vector<std::vector<io::listen_socket>> sockets;
        std::string fault;
        if (!open_sockets(set(), sockets, fault)) {
            return startup_fault(fault);
        }
        io::listen_socket metrics_socket;
        if (set().metrics_listen) {
            auto opened = io::open_listeners(*set().metrics_listen, 1);
            if (!opened) {
                return startup_fault(cannot_listen(*set().metrics_listen, opened.error()));
            }
            metrics_socket = std::move(opened->front());
        }
        std::vector<std::string> urls;
        for (std::size_t i = 0; i < set().listen.size(); ++i) {
            urls.push_back(url_of(sockets[0][i].fd(), set().listen[i], set()));
        }
        io::signal_watch::block();
        std::vector<std::shared_ptr<spread>> among;
        for (std::size_t i = 0; set().threads > 1 && i < set().listen.size(); ++i) {
            among.push_back(std::make_shared<spread>(set().threads));
        }
        for (std::size_t i = 0; i < set().threads; ++i) {
            shards_.push_back(std::make_unique<shard>(service_, config_.running(), i,
                                                      std::move(sockets[i]), among));
        }
        std::string note;
        if (!shards_[0]->open(note, fault)) {
            return startup_fault(fault);
        }
        if (!note.empty()) {
            log::warn("io.fallback", {log::kv("reason", note)});
        }
        if (set().metrics_listen) {
            metrics_address_ = io::local_address(metrics_socket.fd());
            shards_[0]->serve_metrics(std::move(metrics_socket), *set().metrics_listen);
        }
        {
            const std::lock_guard lock(state_.mutex);
            state_.running = &service_;
        }
        io::reactor& loop = shards_[0]->loop();
        // What changes while the servers behind us come up is read when we serve.
        renewed_.emplace(loop, [this] { reload(); }, limits::tls_files_quiet_ms);
        static_cast<void>(watch(set().watched));
        // Who has connected before waits: who asks first finds all tools.
        bridge_.bring_up(loop, set().servers);
        start_threads();
        shards_[0]->listen();
        serve_first(urls);
        return finish();
    }

 private:
    const settings& set() const noexcept { return *config_.running(); }

    void start_threads() {
        for (std::size_t i = 1; i < set().threads; ++i) {
            threads_.emplace_back([this, i] {
                base::pin_thread(i);
                std::string note;
                std::string fault;
                if (!shards_[i]->open(note, fault)) {
                    log::error("shard.failed", {log::kv("shard", i), log::kv("reason", fault)});
                    failed_ = true;
                    return note_one_more();
                }
                shards_[i]->listen();
                {
                    const std::lock_guard lock(up_mutex_);
                    up_[i] = true;
                }
                note_one_more();
                shards_[i]->run();
                {
                    // From here on nobody may post to a loop that is about to go.
                    const std::lock_guard lock(up_mutex_);
                    up_[i] = false;
                }
                shards_[i]->close();
            });
        }
        // All loops exist before anybody may be told to stop them.
        for (std::size_t seen = ready_.load(); seen + 1 < set().threads; seen = ready_.load()) {
            ready_.wait(seen);
        }
        if (set().threads > 1) {
            base::pin_thread(0);
        }
    }

    // Of the other shards, one has started or failed to: shard 0 waits for all.
    void note_one_more() noexcept {
        ready_.fetch_add(1);
        ready_.notify_all();
    }

    void announce(const std::vector<std::string>& urls) {
        for (const std::string& url : urls) {
            if (set().json_log) {
                log::info("listening", {log::kv("url", url)});
            } else {
                std::fprintf(stderr, "pillion: listening on %s\n", url.c_str());
            }
        }
        if (!metrics_address_.empty()) {
            log::info("metrics.listening", {log::kv("address", metrics_address_)});
        }
        warn_of_insecurity(set());
        log::info("serve.start", {log::kv("io", shards_[0]->loop().ops().name()),
                                  log::kv("threads", set().threads)});
        if (!set().json_log && urls[0].starts_with("http")) {
            print_recipes(state_.defs.info.name, urls[0]);
        }
    }

    void serve_first(const std::vector<std::string>& urls) {
        io::reactor& loop = shards_[0]->loop();
        io::signal_watch signals(loop, [this](int number) { on_signal(number); });
        if (!signals.start()) {
            log::error("signals.failed", {log::kv("errno", errno),
                                          log::kv("then", "it ends: SIGTERM could not end it")});
            failed_ = true;
        }
        renewed_->start();
        {
            const std::lock_guard lock(state_.mutex);
            state_.stop = [this, &loop] { loop.post([this] { begin_drain(); }); };
        }
        key_keeper keeper(loop, pool_, set().keys, [this] { take_keys(); });
        keeper.change(set());
        keeper_ = &keeper;
        follower_.start(loop, pool_, set().authorities);
        if (!failed_) {
            announce(urls);
            io::tell_manager("READY=1");
        }
        // What was said so far stands in its order.
        log::start_writer();
        if (failed_) {
            begin_drain();
        }
        shards_[0]->run();
        {
            const std::lock_guard lock(state_.mutex);
            state_.running = nullptr;
            state_.stop = nullptr;
        }
        signals.close();
        renewed_->close();
        keeper_ = nullptr;
        keeper.close();
        follower_.close();
        bridge_.close();
        while (!signals.closed() || !renewed_->closed() || config_.busy() || !keeper.idle() ||
               !bridge_.idle() || !follower_.idle()) {
            loop.run_one(10'000'000);
        }
        shards_[0]->close();
    }

    void on_signal(int number) {
        if (number == SIGHUP) {
            return reload();
        }
        log::info("shutdown.begin", {log::kv("signal", number), log::kv("again", draining_)});
        if (!draining_) {
            return begin_drain();
        }
        shards_[0]->hurry();
        const std::lock_guard lock(up_mutex_);
        for (std::size_t i = 1; i < shards_.size(); ++i) {
            if (up_[i]) {
                shards_[i]->loop().post([s = shards_[i].get()] { s->hurry(); });
            }
        }
    }

    // Whether they are others than before.
    bool watch(const std::vector<std::string>& paths) {
        if (!paths.empty() && !renewed_->change(paths)) {
            log::warn("files.not_watched", {log::kv("then", "SIGHUP reads them again")});
        }
        return std::exchange(watched_, paths) != paths;
    }

    void reload() {
        config_.request(pool_, shards_[0]->loop(),
                        [this](const auto& to, const auto& all) { change(to, all); });
    }

    // Null: they were refused.
    void change(const reloader::settings_ref& to, const reloader::in_force& all) {
        service_.note_configuration(to != nullptr);
        if (to == nullptr) {
            return;
        }
        warn_of_insecurity(*to);
        if (keeper_ != nullptr) {
            keeper_->change(*to);
        }
        if (!renewed_->closing() && watch(to->watched)) {
            // What happened to those since they were read, nobody saw.
            reload();
        }
        bridge_.change(to->servers);
        shards_[0]->change(to);
        const std::lock_guard lock(up_mutex_);
        for (std::size_t i = 1; i < shards_.size(); ++i) {
            if (up_[i]) {
                shards_[i]->loop().post([s = shards_[i].get(), to, all] { s->change(to); });
            }
        }
    }

    void take_keys() {
        shards_[0]->take_keys();
        const std::lock_guard lock(up_mutex_);
        for (std::size_t i = 1; i < shards_.size(); ++i) {
            if (up_[i]) {
                shards_[i]->loop().post([s = shards_[i].get()] { s->take_keys(); });
            }
        }
    }

    void begin_drain() {
        draining_ = true;
        io::tell_manager("STOPPING=1");
        shards_[0]->drain();
        const std::lock_guard lock(up_mutex_);
        for (std::size_t i = 1; i < shards_.size(); ++i) {
            if (up_[i]) {
                shards_[i]->loop().post([s = shards_[i].get()] { s->drain(); });
            }
        }
    }

    int finish() {
        bool in_time = shards_[0]->ended_in_time();
        for (std::thread& t : threads_) {
            t.join();
        }
        leak_report left;
        for (const auto& s : shards_) {
            left.add(s->left());
            in_time = in_time && s->ended_in_time();
        }
        left.print(set().json_log);
        if (!in_time) {
            // Some handler ignores every request to stop. Destroying what it uses would be worse
            // than leaving it to the system.
            log::error("shutdown.grace_exceeded", {});
            log::stop_writer(limits::log_patience_ms);
            std::_Exit(EXIT_FAILURE);
        }
        return left.clean() && !failed_ ? 0 : EXIT_FAILURE;
    }

    detail::server_state& state_;
    reloader config_;
    io::blocking_pool pool_;
    mcp::service service_;
    bridge_host bridge_;
    ready_follower follower_;
    std::string metrics_address_;  // empty: none
    std::vector<std::unique_ptr<shard>> shards_;
    std::vector<std::thread> threads_;
    key_keeper* keeper_ = nullptr;           // while shard 0 runs
    std::optional<io::file_watch> renewed_;  // from before shard 0 runs
    std::vector<std::string> watched_;       // by it
    std::atomic<std::size_t> ready_{0};
    std::atomic<bool> failed_{false};  // the start has; known once ready_ has counted all
    std::mutex up_mutex_;              // guards up_
    bool up_[256] = {};                // shards whose loop may be posted to
    bool draining_ = false;
};

}  // namespace

int run_http(server& s, std::unique_ptr<const mcp::registry> registered, configuration start) {
    io::raise_descriptor_limit();
    int code = EXIT_FAILURE;
    {
        http_runner runner(s, std::move(registered), std::move(start));
        code = runner.run();
    }
    log::stop_writer(limits::log_patience_ms);
    return code;
}

}  // namespace pillion::app
