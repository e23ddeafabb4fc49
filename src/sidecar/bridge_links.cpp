#include "sidecar/bridge_links.hpp"

#include <algorithm>

#include "sidecar/bridge_calls.hpp"

namespace pillion::sidecar {

void bridge_links::note(const std::string& server, std::string_view owner,
                        const std::vector<std::string_view>& uris) {
    const std::lock_guard lock(mutex_);
    // Of more the first ones would be forgotten at once.
    const std::size_t from = uris.size() - std::min(uris.size(), links_max);
    for (std::size_t i = from; i < uris.size(); ++i) {
        note_one(server, owner, uris[i]);
    }
}

// REQUIRES: the lock.
void bridge_links::note_one(const std::string& server, std::string_view owner,
                            std::string_view uri) {
    if (uri.empty() || uri.size() > uri_bytes_max) {
        return;
    }
    const auto [at, is_new] = links_.try_emplace({std::string(uri), std::string(owner)});
    if (!is_new) {
        ages_[at->second.server].erase(at->second.age);
    }
    at->second = {server, ++last_age_};
    age_map& ages = ages_[server];
    ages.emplace(last_age_, at);
    if (ages.size() > links_max) {
        links_.erase(ages.begin()->second);
        ages.erase(ages.begin());
    }
}

void bridge_links::define(const std::string& server, const std::vector<std::string>& uris) {
    const std::lock_guard lock(mutex_);
    std::erase_if(defined_, [&server](const auto& one) { return one.second == server; });
    for (const std::string& uri : uris) {
        if (!uri.empty() && uri.size() <= uri_bytes_max) {
            defined_.emplace(uri, server);
        }
    }
}

void bridge_links::forget(const std::string& server) {
    define(server, {});
    const std::lock_guard lock(mutex_);
    ages_.erase(server);
    std::erase_if(links_, [&server](const auto& one) { return one.second.server == server; });
}

std::string bridge_links::server_of(std::string_view uri, std::string_view owner) const {
    const std::lock_guard lock(mutex_);
    const auto defined = defined_.find(uri);
    if (defined != defined_.end()) {
        return defined->second;
    }
    for (const std::string_view whose : {owner, everybody}) {
        const auto found = links_.find({std::string(uri), std::string(whose)});
        if (found != links_.end()) {
            return found->second.server;
        }
    }
    return {};
}

void bridge_links::read_by(bridge* who) {
    const std::lock_guard lock(mutex_);
    bridge_ = who;
}

bool bridge_links::owns(std::string_view uri) const noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = links_.lower_bound({std::string(uri), std::string()});
    return (found != links_.end() && found->first.first == uri) || defined_.contains(uri);
}

task<result<bool>> bridge_links::list(context& /*ctx*/, std::string_view /*after*/,
                                      resource_page& /*page*/) {
    co_return false;
}

task<resource_result> bridge_links::read(context& ctx, std::string_view uri) {
    const std::string server = server_of(uri, owner_of(ctx));
    bridge* by = nullptr;
    {
        const std::lock_guard lock(mutex_);
        by = bridge_;
    }
    if (server.empty() || by == nullptr) {
        co_return ctx.not_found();
    }
    co_return co_await read_resource(*by, server, ctx, uri);
}

}  // namespace pillion::sidecar
