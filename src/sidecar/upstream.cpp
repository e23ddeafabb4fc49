#include "sidecar/upstream.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "client/lookup.hpp"

namespace pillion::sidecar {

namespace {

std::mutex known_mutex;  // guards the list
// By specification; those that nobody has any more are forgotten when another one comes.
std::vector<std::pair<std::shared_ptr<const upstream_spec>, std::weak_ptr<upstream>>>& known() {
    static std::vector<std::pair<std::shared_ptr<const upstream_spec>, std::weak_ptr<upstream>>>
        all;
    return all;
}

breaker::outcome outcome_of(const client::answer& got) {
    return is_trouble(got) ? breaker::outcome::bad : breaker::outcome::good;
}

}  // namespace

bool is_trouble(const client::answer& got) {
    const bool ours = got.fault == client::agent::too_large || got.fault == client::agent::too_many;
    return (!got.fault.empty() && !ours) || got.status == 502 || got.status == 503 ||
           got.status == 504;
}

std::shared_ptr<upstream> upstream_of(const std::shared_ptr<const upstream_spec>& spec,
                                      std::string& fault) {
    const std::lock_guard lock(known_mutex);
    auto& all = known();
    for (const auto& [its, it] : all) {
        auto there = it.lock();
        if (its == spec && there != nullptr) {
            return there;
        }
    }
    std::erase_if(all, [](const auto& one) { return one.second.expired(); });
    static std::uint64_t made_so_far = 0;
    auto made = std::make_shared<upstream>(spec, ++made_so_far);
    auto where = client::parse_url(spec->url, fault);
    if (!where) {
        return nullptr;
    }
    made->where = std::move(*where);
    if (made->where.secure) {
        made->authorities = spec->authorities.empty()
                                ? client::system_authorities()
                                : std::make_shared<const std::string>(spec->authorities);
    }
    all.emplace_back(spec, made);
    return made;
}

void upstream_parts::close() noexcept {
    for (const auto& [of, one] : sides_) {
        one->agent.close();
    }
}

bool upstream_parts::idle() const noexcept {
    return std::all_of(sides_.begin(), sides_.end(),
                       [](const auto& one) { return one.second->agent.idle(); });
}

upstream_parts::side& upstream_parts::side_of(const std::shared_ptr<upstream>& from) {
    const auto found = sides_.find(from->serial);
    if (found != sides_.end()) {
        return *found->second;
    }
    // Those of upstreams that a reload has taken away.
    std::erase_if(sides_, [](const auto& one) {
        return one.second->of.expired() && one.second->agent.idle();
    });
    auto made = std::make_unique<side>(loop_, helpers_,
                                       std::min(from->spec->connections, client::agent::calls_max));
    made->of = from;
    if (from->where.secure) {
        made->agent.trust(from->authorities);
    }
    auto& place = sides_[from->serial];
    place = std::move(made);
    return *place;
}

task<client::answer> upstream_parts::fetch(std::shared_ptr<upstream> from, client::question what,
                                           breaker::permit by, coro::stop_node& stop) {
    side& at = side_of(from);
    client::answer got;
    const bool placed = co_await at.places.acquire(&stop);
    if (!placed) {
        from->state.tell(by, breaker::outcome::unknown, now_ms());
        got.fault = stopped;
        co_return got;
    }
    coro::event done;
    const std::uint64_t number = at.agent.ask(std::move(what), [&got, &done](client::answer told) {
        got = std::move(told);
        done.set();
    });
    const bool told = co_await done.wait(&stop);
    if (!told) {
        at.agent.cancel(number);
        got.fault = stopped;
    }
    at.places.release();
    from->state.tell(by, told ? outcome_of(got) : breaker::outcome::unknown, now_ms());
    co_return got;
}

// Two equal requests, of which the second begins later or never. It lives in the frame of who waits
// for it, and what is under way at its end is closed: that says nothing about the service.
class upstream_parts::race {
 public:
    race(side& at, upstream& of, io::reactor& loop) noexcept : at_(at), of_(of), loop_(loop) {}
    race(const race&) = delete;
    race& operator=(const race&) = delete;
    ~race() {
        for (lane& one : lanes_) {
            if (one.begun && !one.over) {
                at_.agent.cancel(one.number);
                finish(one, breaker::outcome::unknown);
            }
        }
    }

    // REQUIRES: it holds a place.
    void begin(client::question what, breaker::permit by) {
        lane& one = lanes_[lanes_[0].begun ? 1 : 0];
        one.begun = true;
        one.by = by;
        one.number = at_.agent.ask(std::move(what), [this, &one](client::answer told) {
            one.got = std::move(told);
            finish(one, outcome_of(one.got));
            changed.set();
        });
        if (&one == &lanes_[0]) {
            loop_.arm_in_ms(timer_, of_.spec->hedge_ms);
        }
    }
    // The time of the second has come, once.
    bool due() noexcept { return std::exchange(due_, false) && !lanes_[1].begun; }
    // Whether nothing better will come.
    bool decided() const {
        return counts(lanes_[0]) || counts(lanes_[1]) ||
               (lanes_[0].over && lanes_[1].over == lanes_[1].begun);
    }
    // The first good answer, else one that says more than that there is none. REQUIRES: decided().
    client::answer take() {
        const bool first = counts(lanes_[0]) || !lanes_[1].over ||
                           (!counts(lanes_[1]) && lanes_[0].got.fault.empty());
        return std::move(lanes_[first ? 0 : 1].got);
    }

    coro::event changed;

 private:
    struct lane {
        std::uint64_t number = 0;
        breaker::permit by;
        bool begun = false;
        bool over = false;
        client::answer got;
    };

    // Too many requests (RFC 6585 §4) may be said of the second alone.
    static bool counts(const lane& one) {
        return one.over && one.got.fault.empty() && !is_trouble(one.got) && one.got.status != 429;
    }
    void finish(lane& one, breaker::outcome what) {
        one.over = true;
        at_.places.release();
        of_.state.tell(one.by, what, loop_.now_ns() / 1'000'000);
    }
    static void on_timer(io::timer&, void* owner) noexcept {
        auto& me = *static_cast<race*>(owner);
        me.due_ = true;
        me.changed.set();
    }

    side& at_;
    upstream& of_;
    io::reactor& loop_;
    lane lanes_[2];
    bool due_ = false;
    io::timer timer_{&race::on_timer, this};
};

task<client::answer> upstream_parts::fetch_hedged(std::shared_ptr<upstream> from,
                                                  client::question what, breaker::permit by,
                                                  second_request& second, coro::stop_node& stop) {
    side& at = side_of(from);
    const bool placed = co_await at.places.acquire(&stop);
    if (!placed) {
        from->state.tell(by, breaker::outcome::unknown, now_ms());
        client::answer none;
        none.fault = stopped;
        co_return none;
    }
    race both(at, *from, loop_);
    both.begin(std::move(what), by);
    while (!both.decided()) {
        const bool told = co_await both.changed.wait(&stop);
        if (!told) {
            client::answer none;
            none.fault = stopped;
            co_return none;
        }
        both.changed.reset();
        // It pushes nobody out: whoever waits for a place comes first.
        if (both.due() && !both.decided() && at.places.try_acquire()) {
            begin_second(at, *from, second, both);
        }
    }
    co_return both.take();
}

// REQUIRES: a place is held for it.
void upstream_parts::begin_second(side& at, upstream& of, second_request& from, race& to) {
    const breaker::permit by = of.state.ask(true, now_ms());
    std::optional<client::question> made = by.given ? from.make() : std::nullopt;
    if (made) {
        return to.begin(std::move(*made), by);
    }
    of.state.tell(by, breaker::outcome::unknown, now_ms());
    at.places.release();
}

}  // namespace pillion::sidecar
