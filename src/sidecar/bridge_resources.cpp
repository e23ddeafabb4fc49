#include "sidecar/bridge_resources.hpp"

#include <array>
#include <utility>

#include "base/arena.hpp"
#include "json/document.hpp"
#include "sidecar/bridge.hpp"
#include "sidecar/bridge_calls.hpp"
#include "sidecar/field_import.hpp"

namespace pillion::sidecar {

void bridge_resources::set(const std::string& server, const std::vector<std::string>& entries,
                           const std::vector<std::string>& templates) {
    remove(server);
    const std::lock_guard lock(mutex_);
    for (const std::string& text : entries) {
        const auto parsed = json::document::parse(text);
        const json::view one = parsed ? parsed->root() : json::view();
        const std::string_view uri = one["uri"].str();
        if (uri.empty()) {
            continue;
        }
        entry e;
        e.server = server;
        e.name = one["name"].str(uri);
        e.title = one["title"].str();
        e.description = one["description"].str();
        e.mime_type = one["mimeType"].str();
        e.size = one["size"].i64().value_or(-1);
        e.annotations = import_annotations(one["annotations"]);
        e.last_modified = std::exchange(e.annotations.last_modified, {});
        e.icons = import_icons(one["icons"]);
        e.meta = import_meta(one["_meta"]);
        entries_.emplace(uri, std::move(e));
    }
    for (const std::string& text : templates) {
        const auto parsed = json::document::parse(text);
        std::string ignored;
        auto form = mcp::uri_template::parse(
            parsed ? parsed->root()["uriTemplate"].str() : std::string_view(), ignored);
        if (form) {
            patterns_.push_back({server, std::move(*form)});
        }
    }
}

void bridge_resources::remove(const std::string& server) {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [&server](const auto& e) { return e.second.server == server; });
    std::erase_if(patterns_, [&server](const pattern& p) { return p.server == server; });
}

void bridge_resources::read_by(bridge* who) {
    links_->read_by(who);
    const std::lock_guard lock(mutex_);
    bridge_ = who;
}

bridge* bridge_resources::reader() const {
    const std::lock_guard lock(mutex_);
    return bridge_;
}

std::string bridge_resources::server_of(std::string_view uri) const {
    const std::lock_guard lock(mutex_);
    return find_server(uri);
}

// REQUIRES: the lock.
std::string bridge_resources::find_server(std::string_view uri) const {
    const auto found = entries_.find(uri);
    if (found != entries_.end()) {
        return found->second.server;
    }
    base::chunk_pool pool;
    base::arena memory(pool);
    std::array<mcp::template_value, mcp::uri_template::variables_max> values;
    for (const pattern& p : patterns_) {
        if (p.form.match(uri, memory, values.data())) {
            return p.server;
        }
    }
    return {};
}

bool bridge_resources::owns(std::string_view uri) const noexcept { return !server_of(uri).empty(); }

task<result<bool>> bridge_resources::list(context& ctx, std::string_view after,
                                          resource_page& page) {
    const std::lock_guard lock(mutex_);
    for (auto it = entries_.upper_bound(after); it != entries_.end(); ++it) {
        const entry& e = it->second;
        resource_entry out(ctx.keep(it->first), ctx.keep(e.name));
        out.title = ctx.keep(e.title);
        out.description = ctx.keep(e.description);
        out.mime_type = ctx.keep(e.mime_type);
        out.size = e.size;
        out.annotations = e.annotations;
        out.last_modified = ctx.keep(e.last_modified);
        out.icons = e.icons;
        out.meta = e.meta;
        if (!page.add(out)) {
            co_return true;
        }
    }
    co_return false;
}

task<resource_result> bridge_resources::read(context& ctx, std::string_view uri) {
    const std::string server = server_of(uri);
    bridge* const by = reader();
    if (server.empty() || by == nullptr) {
        co_return ctx.not_found();
    }
    co_return co_await read_resource(*by, server, ctx, uri);
}

// What counts is what the board says when the server's loop comes to it: the resource may have gone
// to another server by then.
void bridge_resources::subscribed(std::string_view uri, bool /*on*/) {
    bridge* const by = reader();
    const std::string server = server_of(uri);
    if (by != nullptr && !server.empty()) {
        by->look_after(server, std::string(uri));
    }
}

}  // namespace pillion::sidecar
