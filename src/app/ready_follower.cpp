#include "app/ready_follower.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "client/lookup.hpp"
#include "client/url.hpp"

namespace pillion::app {

namespace {

constexpr std::string_view unix_scheme = "unix:";
// An answer takes no longer, however rarely it is asked for.
constexpr std::int64_t answer_ms_max = 2000;

struct address {
    client::url where;
    std::string socket;
};

bool read_place(std::string_view text, address& to) {
    std::string url(text);
    if (text.starts_with(unix_scheme)) {
        text.remove_prefix(unix_scheme.size());
        const std::size_t end = std::min(text.find(":/"), text.size());
        to.socket = text.substr(0, end);
        const std::string_view target = text.substr(std::min(end + 1, text.size()));
        url = "http://localhost" + std::string(target.empty() ? "/" : target);
        if (!to.socket.starts_with('/')) {
            return false;
        }
    }
    std::string ignored;
    auto where = client::parse_url(url, ignored);
    if (where) {
        to.where = std::move(*where);
    }
    return where.has_value();
}

}  // namespace

struct ready_follower::place {
    place(ready_follower& of, std::string text) : owner(of), name(std::move(text)) {
        PILLION_ASSERT(read_place(name, at));
    }

    ready_follower& owner;
    std::string name;
    address at;
    // Checks outlive us by what a service keeps of them.
    std::shared_ptr<std::atomic<bool>> good = std::make_shared<std::atomic<bool>>(false);
    bool known = false;  // it has been asked
    io::timer timer{&ready_follower::on_timer, this};
};

bool ready_follower::is_place(std::string_view text) {
    address ignored;
    return read_place(text, ignored);
}

ready_follower::ready_follower(const std::vector<std::string>& places, std::int64_t interval_ms)
    : interval_ms_(interval_ms) {
    for (const std::string& text : places) {
        places_.push_back(std::make_unique<place>(*this, text));
    }
}

ready_follower::~ready_follower() { PILLION_ASSERT(idle()); }

std::vector<mcp::ready_check> ready_follower::checks() const {
    std::vector<mcp::ready_check> all;
    for (const auto& one : places_) {
        all.push_back({"follow " + one->name, [good = one->good] { return good->load(); }});
    }
    return all;
}

void ready_follower::start(io::reactor& loop, io::offload& helpers,
                           std::shared_ptr<const std::string> authorities) {
    if (places_.empty()) {
        return;
    }
    loop_ = &loop;
    agent_ = std::make_unique<client::agent>(loop, helpers);
    const bool secure = std::any_of(places_.begin(), places_.end(),
                                    [](const auto& one) { return one->at.where.secure; });
    agent_->trust(authorities == nullptr && secure ? client::system_authorities()
                                                   : std::move(authorities));
    for (const auto& one : places_) {
        ask(*one);
    }
}

void ready_follower::close() noexcept {
    for (const auto& one : places_) {
        one->timer.cancel();
    }
    if (agent_ != nullptr) {
        agent_->close();
    }
}

void ready_follower::ask(place& one) {
    client::question what;
    what.to = one.at.where;
    what.socket = one.at.socket;
    what.accept = "*/*";
    what.timeout_ms = std::min(interval_ms_, answer_ms_max);
    agent_->ask(std::move(what), [this, &one](const client::answer& said) { heard(one, said); });
}

void ready_follower::heard(place& one, const client::answer& said) {
    // A large answer is one as well.
    const bool large = said.fault == client::agent::too_large;
    const bool good = (said.fault.empty() && said.status / 100 == 2) || large;
    const bool before = one.good->exchange(good);
    if (!good && (before || !one.known)) {
        log::warn("ready.not", {log::kv("follows", one.name), log::kv("status", said.status),
                                log::kv("reason", said.fault.empty() ? "its status" : said.fault)});
    } else if (good && !before) {
        log::info("ready.again", {log::kv("follows", one.name)});
    }
    one.known = true;
    loop_->arm_in_ms(one.timer, interval_ms_);
}

void ready_follower::on_timer(io::timer& /*self*/, void* owner) noexcept {
    auto& one = *static_cast<place*>(owner);
    one.owner.ask(one);
}

}  // namespace pillion::app
