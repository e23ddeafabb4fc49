#include "sidecar/bridge.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "rpc/errors.hpp"
#include "sidecar/bridge_offer.hpp"

namespace pillion::sidecar {

namespace {

// How long a call waits for a client that has been asked something.
constexpr std::int64_t parked_ms = 10 * 60 * 1000;
constexpr std::int64_t sweep_ms = 30'000;

bool has_same_resources(const offered_lists& a, const offered_lists& b) {
    return a[list_kind::resources] == b[list_kind::resources] &&
           a[list_kind::templates] == b[list_kind::templates];
}

bool has_resources(const offered_lists& of) {
    return !of[list_kind::resources].empty() || !of[list_kind::templates].empty();
}

}  // namespace

struct bridge::kept_server {
    server_group it;
    offered_names names;
    offered_lists lists;

    kept_server(io::reactor& loop, const bridge_spec& what, link_maker make,
                upstream_listener& listener)
        : it(loop, what, std::move(make), listener) {}
};

bridge::bridge(server& host, std::shared_ptr<bridge_resources> resources,
               const mcp::change_board& board, linker make)
    : host_(host), resources_(std::move(resources)), board_(board), make_(std::move(make)) {
    resources_->read_by(this);
}

bridge::~bridge() {
    PILLION_ASSERT(idle());
    resources_->read_by(nullptr);
}

void bridge::start(io::reactor& home, const std::vector<bridge_spec>& all) {
    home_ = &home;
    home_thread_ = std::this_thread::get_id();
    {
        const std::lock_guard lock(mutex_);
        open_ = true;
    }
    for (const bridge_spec& one : all) {
        add(one);
    }
    home_->arm_in_ms(sweep_, sweep_ms);
}

void bridge::add(const bridge_spec& what) {
    link_maker make = [this, what] { return make_(*home_, what); };
    servers_.push_back(std::make_unique<kept_server>(*home_, what, std::move(make),
                                                     static_cast<upstream_listener&>(*this)));
    servers_.back()->it.start();
}

bool bridge::settled() const noexcept {
    return std::all_of(servers_.begin(), servers_.end(),
                       [](const auto& one) { return one->it.first().settled(); });
}

void bridge::change(const std::vector<bridge_spec>& all) {
    if (!open()) {
        return;  // a reload may end after close(): nobody would end what it starts
    }
    const auto stays = [&all](const bridge_spec& what) {
        return std::any_of(all.begin(), all.end(), [&what](const bridge_spec& other) {
            return other.name == what.name && other.fingerprint == what.fingerprint;
        });
    };
    const auto place = [&all](const std::unique_ptr<kept_server>& one) {
        return std::find_if(all.begin(), all.end(), [&one](const bridge_spec& what) {
            return what.name == one->it.spec().name;
        });
    };
    bury();
    bool any_left = false;
    bool resources_left = false;
    for (auto& one : servers_) {
        if (!stays(one->it.spec())) {
            any_left = true;
            resources_left = has_resources(one->lists) || resources_left;
            withdraw(*one);
            one->it.close();
            leaving_.push_back(std::move(one));
        }
    }
    std::erase(servers_, nullptr);
    for (const bridge_spec& what : all) {
        if (find(what.name) == nullptr) {
            add(what);
        }
    }
    std::sort(servers_.begin(), servers_.end(),
              [&place](const auto& a, const auto& b) { return place(a) < place(b); });
    // Others may have what had been left out because of those that went.
    if (any_left) {
        offer(servers_.begin());
    }
    if (resources_left) {
        offer_resources(servers_.begin());
    }
}

// Those that were closed and have ended.
void bridge::bury() {
    std::erase_if(leaving_, [](const auto& one) { return one->it.idle(); });
}

void bridge::close() noexcept {
    {
        const std::lock_guard lock(mutex_);
        open_ = false;
    }
    sweep_.cancel();
    for (const auto& one : servers_) {
        one->it.close();
    }
}

bool bridge::open() const noexcept {
    const std::lock_guard lock(mutex_);
    return open_;
}

bool bridge::idle() const noexcept {
    const auto idle_one = [](const auto& one) { return one->it.idle(); };
    return std::all_of(servers_.begin(), servers_.end(), idle_one) &&
           std::all_of(leaving_.begin(), leaving_.end(), idle_one);
}

server_group* bridge::find(const std::string& name) noexcept {
    const auto found = std::find_if(servers_.begin(), servers_.end(), [&name](const auto& one) {
        return one->it.spec().name == name;
    });
    return found == servers_.end() ? nullptr : &(*found)->it;
}

bool bridge::with(const std::string& server_name, base::unique_function<void(server_group*)> job) {
    if (std::this_thread::get_id() == home_thread_) {
        job(find(server_name));
        return true;
    }
    // Its loop is there as long as it is open.
    const std::lock_guard lock(mutex_);
    if (!open_) {
        return false;
    }
    home_->post([this, server_name, run = std::move(job)]() mutable { run(find(server_name)); });
    return true;
}

void bridge::on_lists(upstream_server& of) {
    const auto at = std::find_if(servers_.begin(), servers_.end(),
                                 [&of](const auto& kept) { return &kept->it.first() == &of; });
    if (at == servers_.end() || (*at)->lists == of.offers()) {
        return;
    }
    kept_server& one = **at;
    const bool same_resources = has_same_resources(one.lists, of.offers());
    one.lists = of.offers();
    one.it.teach();
    offer(at);
    if (!same_resources) {
        offer_resources(at);
    }
}

// Of two servers with the same name the first of the configuration has it, whichever is ready
// first: those behind this one are offered anew. Lists that cannot be offered change nothing: what
// was offered before stays.
void bridge::offer(server_list::iterator from) {
    std::vector<offered_names> names;
    std::string why;
    const auto edit = [&](catalog& now) {
        for (auto it = from; it != servers_.end(); ++it) {
            sidecar::withdraw(now, (*it)->names);
        }
        for (auto it = from; it != servers_.end(); ++it) {
            names.push_back(sidecar::offer(now, *this, (*it)->it.spec(), (*it)->lists));
        }
    };
    if (!host_.update(edit, &why)) {
        const std::string first = from == servers_.end() ? "" : (*from)->it.spec().name;
        log::error("bridge.refused", {log::kv("server", first), log::kv("reason", why)});
        return;
    }
    for (auto it = from; it != servers_.end(); ++it) {
        resources_->links()->define((*it)->it.spec().name, {});
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        kept_server& one = *from[static_cast<std::ptrdiff_t>(i)];
        one.names = std::move(names[i]);
        resources_->links()->define(one.it.spec().name, one.names.pages);
    }
}

void bridge::offer_resources(server_list::iterator from) {
    for (auto it = from; it != servers_.end(); ++it) {
        resources_->remove((*it)->it.spec().name);
    }
    for (auto it = from; it != servers_.end(); ++it) {
        resources_->set((*it)->it.spec().name, (*it)->lists[list_kind::resources],
                        (*it)->lists[list_kind::templates]);
    }
    follow();
    host_.resources_changed();
}

// Who wants to hear of a resource hears of it, whichever server has it now, and whether or not one
// had it when he came. Whoever comes or goes from now on is looked after.
void bridge::follow() {
    std::map<std::string, std::set<std::string>> wanted;  // by the server
    for (std::string& uri : board_.followed()) {
        std::string name = resources_->server_of(uri);
        if (!name.empty()) {
            wanted[std::move(name)].insert(std::move(uri));
        }
    }
    for (const auto& one : servers_) {
        one->it.follow(wanted[one->it.spec().name]);
    }
}

void bridge::look_after(const std::string& server_name, std::string uri) {
    with(server_name, [this, uri = std::move(uri)](server_group* at) {
        if (at != nullptr && resources_->server_of(uri) == at->spec().name) {
            at->subscribe(uri, board_.is_followed(uri));
        }
    });
}

void bridge::withdraw(kept_server& one) {
    const auto edit = [&one](catalog& now) { sidecar::withdraw(now, one.names); };
    host_.update(edit);
    resources_->links()->forget(one.it.spec().name);
    if (!has_resources(one.lists)) {
        return;  // it had none: nobody is told of a change
    }
    resources_->remove(one.it.spec().name);
    host_.resources_changed();
}

void bridge::on_resource_updated(upstream_server& /*of*/, std::string_view uri) {
    host_.resource_updated(uri);
}

std::string bridge::faults() const {
    std::string all;
    for (const auto& one : servers_) {
        if (!one->it.first().up()) {
            all += (all.empty() ? "" : "; ") + one->it.spec().name + ": " +
                   (one->it.first().fault().empty() ? "it is starting" : one->it.first().fault());
        }
    }
    return all;
}

void bridge::end_parked(const parked_call& one, std::string_view why) {
    with(one.server, [call = one.call, reason = std::string(why)](server_group* at) {
        if (at != nullptr) {
            at->cancel(*call, reason);
        }
        // Its client may have come back at that moment.
        call_event end;
        end.code = rpc::invalid_params;
        end.text = "The call has not waited for the answer";
        call->push(std::move(end));
    });
}

void bridge::on_sweep(io::timer& self, void* owner) noexcept {
    auto& me = *static_cast<bridge*>(owner);
    const std::int64_t now_ms = me.home_->now_ns() / 1'000'000;
    for (;;) {
        const parked_call old = me.parked_.take_older(parked_ms, now_ms);
        if (old.call == nullptr) {
            break;
        }
        me.end_parked(old, "the client has not come back");
    }
    me.bury();
    me.home_->arm_in_ms(self, sweep_ms);
}

}  // namespace pillion::sidecar
