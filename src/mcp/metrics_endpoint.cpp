#include "mcp/metrics_endpoint.hpp"

#include <pillion/version.hpp>

#include "base/log.hpp"
#include "base/process_stats.hpp"
#include "http/response_writer.hpp"

namespace pillion::mcp {

namespace {

constexpr std::string_view metrics_path = "/metrics";

// What all shards share, and the process.
void collect_shared(service& shared, base::metrics_page& to) {
    to.gauge("mcp_server_sessions", "Sessions of clients before 2026-07-28.",
             static_cast<double>(shared.sessions().size()));
    to.gauge("mcp_server_tasks", "Tasks that are kept, ended ones included.",
             static_cast<double>(shared.tasks().size()));
    base::show_memory(to, "tasks", shared.tasks().bytes());
    to.gauge("pillion_kept_results", "Results that were cut and are kept whole.",
             static_cast<double>(shared.results().count()));
    base::show_memory(to, "kept_results", shared.results().bytes());
    to.counter("pillion_log_lines_dropped_total",
               "Lines of the log that were not written, as its reader was too slow.",
               log::dropped());
    to.gauge("pillion_configuration_good",
             "1 when the configuration file was good when it was last read.",
             shared.configured() ? 1 : 0);
    to.gauge("pillion_build_info", "1; the labels say what runs.", 1,
             {{"version", version}, {"compiler", base::compiler_name}});
    base::collect_process(to);
}

// One scrape under way. Kept alive by the jobs it has on shards; whatever comes after the answer is
// dropped.
class scrape final : public std::enable_shared_from_this<scrape>, private http::exchange_listener {
 public:
    scrape(engine& home, http::exchange& ex) noexcept : home_(home), exchange_(&ex) {}

    void begin() {
        exchange_->listen(this);
        service& shared = home_.shared();
        home_.collect(page_);
        for (std::size_t i = 0; i < shared.shards(); ++i) {
            if (i != home_.shard()) {
                ++missing_;
                ask(i);
            }
        }
        if (missing_ == 0) {
            return answer();
        }
        self_ = shared_from_this();
        home_.loop().arm_in_ms(timer_, limits::scrape_timeout_ms);
    }

 private:
    void ask(std::size_t shard) {
        home_.shared().post_to(
            shard, [self = shared_from_this(), to = home_.shard()](engine& asked) {
                auto part = std::make_shared<base::metrics_page>();
                asked.collect(*part);
                asked.shared().post_to(to, [self, part](engine&) { self->take(*part); });
            });
    }

    void take(const base::metrics_page& part) {
        if (exchange_ == nullptr) {
            return;
        }
        page_.add(part);
        if (--missing_ == 0) {
            answer();
        }
    }

    void answer() {
        const auto keep = shared_from_this();
        collect_shared(home_.shared(), page_);
        page_.gauge("pillion_metrics_threads_missing",
                    "Threads that did not tell their numbers in time; they are not in this page.",
                    static_cast<double>(missing_));
        base::byte_buffer body(home_.loop().chunks(), http::exchange::head_gap);
        page_.render(body);
        http::exchange& ex = *exchange_;
        end();
        ex.listen(nullptr);
        const http::extra_header extra[] = {{"Cache-Control", "no-store"}};
        ex.respond(200, base::metrics_page::content_type, std::move(body), extra, 1);
    }

    void end() noexcept {
        exchange_ = nullptr;
        timer_.cancel();
        self_.reset();
    }

    static void on_timeout(io::timer& /*self*/, void* owner) noexcept {
        static_cast<scrape*>(owner)->answer();
    }

    // Whoever half-closes still reads.
    void on_peer_eof() noexcept override {}
    void on_drained() noexcept override {}
    void on_gone() noexcept override {
        const auto keep = shared_from_this();
        end();
    }

    engine& home_;
    http::exchange* exchange_;  // null: answered, or the client is gone
    base::metrics_page page_;
    std::size_t missing_ = 0;
    std::shared_ptr<scrape> self_;  // while the timer runs
    io::timer timer_{&scrape::on_timeout, this};
};

}  // namespace

metrics_endpoint::metrics_endpoint(engine& e, http::origin_policy origins, bool check_host)
    : origins_(std::move(origins)), check_host_(check_host), guard_(e) {}

http::admission metrics_endpoint::admit(const http::exchange& ex) noexcept {
    const http::request_head& head = ex.head();
    http::admission a;
    const bool origin_ok = !head.has(http::header_id::origin) ||
                           (head.count(http::header_id::origin) == 1 &&
                            origins_.origin_allowed(head.get(http::header_id::origin)));
    if (head.path() != metrics_path) {
        a.refuse_status = 404;
    } else if (!origin_ok || (check_host_ && !origins_.host_allowed(head.host()))) {
        a.refuse_status = 403;
    } else if (head.m != http::method::get && head.m != http::method::head) {
        a.refuse_status = head.m == http::method::other ? 501 : 405;
    } else if (head.chunked || head.content_length > 0) {
        a.refuse_status = 413;
    }
    return a;
}

void metrics_endpoint::handle(http::exchange& ex) noexcept {
    guard_.admit(
        ex, [](engine& home, http::exchange& to) { std::make_shared<scrape>(home, to)->begin(); });
}

std::string_view metrics_endpoint::refuse(const http::request_head* /*head*/, std::uint16_t status,
                                          std::string_view reason, std::string_view /*request_id*/,
                                          base::byte_buffer& body, http::extra_header* extra,
                                          std::size_t& extra_count) noexcept {
    extra_count = 0;
    if (status == 405) {
        extra[extra_count++] = {"Allow", "GET, HEAD"};
    }
    body.append(reason.empty() ? http::reason_phrase(status) : reason);
    body.append('\n');
    return "text/plain; charset=utf-8";
}

}  // namespace pillion::mcp
