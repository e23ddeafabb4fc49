#include "app/key_keeper.hpp"

#include <algorithm>
#include <utility>

#include "app/remote_access.hpp"
#include "auth/discovery.hpp"
#include "auth/jwk_set.hpp"
#include "base/assert.hpp"
#include "base/log.hpp"

namespace pillion::app {

namespace {

constexpr std::int64_t fetch_timeout_ms = 5000;

}  // namespace

struct key_keeper::source {
    explicit source(key_keeper& of, auth::key_source of_whom)
        : owner(of), name(std::move(of_whom)) {}

    key_keeper& owner;
    auth::key_source name;
    auth::key_schedule schedule;
    io::timer timer{&key_keeper::on_timer, this};
    std::string_view first_fault;    // of the first of the places where its metadata may be…
    std::uint16_t first_status = 0;  // … and what it answered
    bool fetching = false;
    bool dropped = false;  // nobody wants its keys any more
};

key_keeper::key_keeper(io::reactor& loop, io::offload& helpers,
                       std::shared_ptr<auth::key_board> board, std::function<void()> tell)
    : loop_(loop), board_(std::move(board)), tell_(std::move(tell)), agent_(loop, helpers) {
    board_->on_wanted([this] {
        posted_.fetch_add(1);
        loop_.post([this] {
            posted_.fetch_sub(1);
            serve_wanted();
        });
    });
}

key_keeper::~key_keeper() { PILLION_ASSERT(closed_ && idle()); }

void key_keeper::change(const settings& to) {
    const std::vector<auth::key_source> wanted =
        to.access != nullptr ? auth::sources_of(*to.access) : std::vector<auth::key_source>();
    with_secrets_ = to.access != nullptr && to.access->with_secrets;
    agent_.trust(to.authorities);
    board_->keep(wanted);
    std::vector<source_ref> next;
    for (const auth::key_source& name : wanted) {
        const auto at = std::find_if(all_.begin(), all_.end(),
                                     [&name](const source_ref& s) { return s->name == name; });
        next.push_back(at != all_.end() ? *at : std::make_shared<source>(*this, name));
    }
    for (const source_ref& one : all_) {
        if (std::find(next.begin(), next.end(), one) == next.end()) {
            one->dropped = true;
            one->timer.cancel();
        }
    }
    all_ = std::move(next);
    for (const source_ref& one : all_) {
        look_after(one);
    }
}

void key_keeper::close() {
    closed_ = true;
    board_->on_wanted({});
    for (const source_ref& one : all_) {
        one->dropped = true;
        one->timer.cancel();
        board_->settle(one->name, nullptr, loop_.now_ns());
    }
    all_.clear();
    agent_.close();
    tell_();
}

void key_keeper::on_timer(io::timer&, void* owner) noexcept {
    auto& one = *static_cast<source*>(owner);
    const auto& all = one.owner.all_;
    const auto at = std::find_if(all.begin(), all.end(),
                                 [&one](const source_ref& s) { return s.get() == &one; });
    if (at != all.end()) {
        one.owner.look_after(source_ref(*at));
    }
}

// What is due now, and when to look again.
void key_keeper::look_after(const source_ref& one) {
    const std::int64_t now_ns = loop_.now_ns();
    if (one->schedule.too_old(now_ns)) {
        one->schedule.expired();
        board_->expire(one->name);
        log::error("auth.keys_expired", {log::kv("issuer", one->name.issuer),
                                         log::kv("then", "its tokens are refused")});
        tell_();
    }
    if (one->schedule.due(now_ns) && !one->fetching) {
        return fetch(one);
    }
    watch(*one);
}

void key_keeper::watch(source& one) noexcept {
    if (!one.fetching) {
        loop_.timers().arm(one.timer, one.schedule.next_ns());
    } else if (one.schedule.has_keys()) {
        loop_.timers().arm(one.timer, one.schedule.expires_ns());
    } else {
        one.timer.cancel();
    }
}

void key_keeper::serve_wanted() {
    if (closed_) {
        return;
    }
    for (const auth::key_source& name : board_->wanted()) {
        const auto at = std::find_if(all_.begin(), all_.end(),
                                     [&name](const source_ref& s) { return s->name == name; });
        if (at != all_.end() && !(*at)->fetching) {
            fetch(source_ref(*at));
        }
    }
}

void key_keeper::fetch(const source_ref& one) {
    one->fetching = true;
    watch(*one);
    if (one->name.from == auth::key_source::discovered) {
        discover(one, 0);
    } else {
        fetch_set(one, one->name.from);
    }
}

void key_keeper::discover(const source_ref& one, std::size_t attempt) {
    std::string fault;
    auto where = client::parse_url(auth::discovery_urls(one->name.issuer)[attempt], fault);
    if (!where) {
        return failed(one, "the issuer is no URL");
    }
    client::question what;
    what.to = std::move(*where);
    what.timeout_ms = fetch_timeout_ms;
    what.answer_bytes_max = auth::discovery_bytes_max;
    agent_.ask(std::move(what), [this, one, attempt](const client::answer& said) {
        discovered(one, attempt, said);
    });
}

void key_keeper::discovered(const source_ref& one, std::size_t attempt,
                            const client::answer& said) {
    const auto from = said.fault.empty() && said.status == 200
                          ? auth::read_discovery(said.body, one->name.issuer)
                          : std::nullopt;
    if (from && !one->dropped) {
        if (!is_safe_discovery(*from, one->name.issuer)) {
            return failed(one, "its jwks_uri is not safe");
        }
        return fetch_set(one, *from);
    }
    if (attempt == 0) {
        one->first_fault = said.fault;
        one->first_status = said.status;
        if (!one->dropped) {
            return discover(one, 1);
        }
    }
    // Few issuers have both places: that the other has nothing says less than what the first did.
    const bool by_first = one->first_status != 404;
    const std::string_view fault = by_first ? one->first_fault : said.fault;
    failed(one, !fault.empty() ? fault : "its metadata is not there, or not its own",
           by_first ? one->first_status : said.status);
}

void key_keeper::fetch_set(const source_ref& one, std::string_view from) {
    std::string fault;
    auto where = client::parse_url(from, fault);
    if (!where) {
        return failed(one, "the place of its keys is no URL");
    }
    client::question what;
    what.to = std::move(*where);
    what.accept = "application/jwk-set+json, application/json";
    what.timeout_ms = fetch_timeout_ms;
    what.answer_bytes_max = auth::jwk_set::text_bytes_max;
    agent_.ask(std::move(what),
               [this, one](client::answer said) { fetched(one, std::move(said)); });
}

void key_keeper::fetched(const source_ref& one, client::answer said) {
    if (!said.fault.empty()) {
        return failed(one, said.fault);
    }
    if (said.status != 200) {
        return failed(one, "its keys are not there", said.status);
    }
    std::string fault;
    const auto keys = auth::jwk_set::parse(said.body, with_secrets_, fault);
    if (keys == nullptr) {
        return failed(one, fault);
    }
    one->fetching = false;
    if (one->dropped) {
        return;
    }
    const auth::key_board::text before = board_->keys(one->name);
    one->schedule.fetched(loop_.now_ns());
    board_->settle(one->name, std::make_shared<const std::string>(std::move(said.body)),
                   loop_.now_ns());
    if (board_->keys(one->name) != before) {
        log::info("auth.keys_fetched",
                  {log::kv("issuer", one->name.issuer), log::kv("keys", keys->size())});
    }
    tell_();
    look_after(one);
}

void key_keeper::failed(const source_ref& one, std::string_view reason, std::uint16_t status) {
    one->fetching = false;
    if (one->dropped) {
        return;
    }
    one->schedule.failed(loop_.now_ns());
    const std::string_view then = one->schedule.has_keys()
                                      ? "the old keys count until they are ten minutes old"
                                      : "its tokens are refused";
    log::warn("auth.keys_failed", {log::kv("issuer", one->name.issuer), log::kv("reason", reason),
                                   log::kv("status", status), log::kv("then", then)});
    board_->settle(one->name, nullptr, loop_.now_ns());
    tell_();
    look_after(one);
}

}  // namespace pillion::app
