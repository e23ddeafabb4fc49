#include "sidecar/server_group.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "rpc/errors.hpp"

namespace pillion::sidecar {

namespace {

// How long it is at least until resting servers are looked for again, and until one that was ended
// is asked whether it has gone.
constexpr std::int64_t look_ms = 100;

}  // namespace

server_group::server_group(io::reactor& loop, const bridge_spec& what, link_maker make,
                           upstream_listener& listener)
    : loop_(loop),
      make_(std::move(make)),
      listener_(listener),
      first_(loop, what, make_, listener) {}

void server_group::close() noexcept {
    closed_ = true;
    rest_.cancel();
    first_.close();
    for (const auto& one : owned_) {
        one.second->close();
    }
}

bool server_group::idle() const noexcept {
    return first_.idle() &&
           std::all_of(owned_.begin(), owned_.end(),
                       [](const auto& one) { return one.second->idle(); }) &&
           std::all_of(leaving_.begin(), leaving_.end(),
                       [](const auto& one) { return one->idle(); });
}

void server_group::teach() {
    for (const auto& one : owned_) {
        one.second->learn_from_first();
    }
}

upstream_server* server_group::find(const std::string& owner) noexcept {
    if (!spec().per_client || owner.empty()) {
        return &first_;
    }
    const auto found = owned_.find(owner);
    return found == owned_.end() ? nullptr : found->second.get();
}

upstream_server* server_group::take(const std::string& owner) {
    if (upstream_server* const known = find(owner)) {
        return known;
    }
    if (closed_ || !make_room()) {
        return nullptr;
    }
    auto one = std::make_unique<upstream_server>(loop_, first_, ++made_, make_, listener_);
    upstream_server& made = *one;
    owned_.emplace(owner, std::move(one));
    made.start();
    wait_for_rest();
    return &made;
}

// False: all places are taken by servers that work.
bool server_group::make_room() {
    if (owned_.size() < spec().clients_max) {
        return true;
    }
    auto oldest = owned_.end();
    for (auto it = owned_.begin(); it != owned_.end(); ++it) {
        const bool older =
            oldest == owned_.end() || it->second->used_ns() < oldest->second->used_ns();
        if (!it->second->busy() && older) {
            oldest = it;
        }
    }
    if (oldest == owned_.end()) {
        return false;
    }
    end(oldest, "another client needs its place");
    return true;
}

void server_group::end(server_map::iterator which, std::string_view why) {
    log::info("bridge.client_left",
              {log::kv("server", which->second->label()), log::kv("reason", why)});
    which->second->close();
    leaving_.push_back(std::move(which->second));
    owned_.erase(which);
}

std::int64_t server_group::rested_ms(const upstream_server& one) const noexcept {
    return (loop_.now_ns() - one.used_ns()) / 1'000'000;
}

// Until the next one may have rested long enough, or has gone.
void server_group::wait_for_rest() {
    if (owned_.empty() && leaving_.empty()) {
        return;
    }
    std::int64_t in_ms = leaving_.empty() ? spec().client_idle_ms : look_ms;
    for (const auto& one : owned_) {
        if (!one.second->busy()) {
            in_ms = std::min(in_ms, spec().client_idle_ms - rested_ms(*one.second));
        }
    }
    loop_.arm_in_ms(rest_, std::max(in_ms, look_ms));
}

void server_group::on_rest(io::timer& /*self*/, void* owner) noexcept {
    auto& me = *static_cast<server_group*>(owner);
    std::erase_if(me.leaving_, [](const auto& one) { return one->idle(); });
    for (auto it = me.owned_.begin(); it != me.owned_.end();) {
        const auto one = it++;
        if (!one->second->busy() && me.rested_ms(*one->second) >= me.spec().client_idle_ms) {
            me.end(one, "its client has been quiet");
        }
    }
    me.wait_for_rest();
}

void server_group::begin(const std::shared_ptr<bridged_call>& call) {
    if (upstream_server* const by = take(call->asked().owner)) {
        return by->begin(call);
    }
    call_event full;
    full.code = rpc::unavailable;
    full.text = "The server " + spec().name + " has no room for another client";
    call->push(std::move(full));
}

void server_group::cancel(bridged_call& call, std::string_view reason) {
    if (upstream_server* const by = find(call.asked().owner)) {
        by->cancel(call, reason);
    }
}

void server_group::answer(const std::string& owner, std::uint64_t question,
                          std::string_view result_json) {
    if (upstream_server* const by = find(owner)) {
        by->answer(question, result_json);
    }
}

void server_group::refuse(const std::string& owner, std::uint64_t question, int code,
                          std::string_view message) {
    if (upstream_server* const by = find(owner)) {
        by->refuse(question, code, message);
    }
}

void server_group::subscribe(const std::string& uri, bool on) {
    first_.subscribe(uri, on);
    for (const auto& one : owned_) {
        one.second->subscribe(uri, on);
    }
}

void server_group::follow(const std::set<std::string>& uris) {
    first_.follow(uris);
    for (const auto& one : owned_) {
        one.second->follow(uris);
    }
}

}  // namespace pillion::sidecar
