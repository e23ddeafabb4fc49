#include <pillion/server.hpp>

#include "app/cli.hpp"
#include "app/server_state.hpp"

namespace pillion {

namespace detail {

void server_state::publish(mcp::change what, std::string_view uri) {
    const std::lock_guard lock(mutex);
    if (running != nullptr) {
        running->publish(what, uri);
    }
}

}  // namespace detail

server::server(std::string name, std::string own_version)
    : state_(std::make_unique<detail::server_state>()) {
    state_->defs.info.name = std::move(name);
    state_->defs.info.version = std::move(own_version);
}

server::~server() = default;

server& server::title(std::string text) {
    state_->defs.info.title = std::move(text);
    return *this;
}

server& server::about(std::string text) {
    state_->defs.info.description = std::move(text);
    return *this;
}

server& server::website(std::string url) {
    state_->defs.info.website = std::move(url);
    return *this;
}

server& server::instructions(std::string text) {
    state_->defs.info.instructions = std::move(text);
    return *this;
}

server& server::add_icon(icon what) {
    state_->defs.info.icons.push_back(std::move(what));
    return *this;
}

tool_builder server::tool(std::string name) { return catalog(state_->defs).tool(std::move(name)); }

prompt_builder server::prompt(std::string name) {
    return catalog(state_->defs).prompt(std::move(name));
}

resource_builder server::resource(std::string uri) {
    return catalog(state_->defs).resource(std::move(uri));
}

resource_builder server::resource_template(std::string uri_template) {
    return catalog(state_->defs).resource_template(std::move(uri_template));
}

server& server::provide(std::shared_ptr<resource_provider> provider,
                        std::vector<std::string> scopes) {
    state_->defs.providers.push_back(std::move(provider));
    state_->defs.provider_scopes.push_back(std::move(scopes));
    return *this;
}

server& server::method_scope(std::string method, std::string needed) {
    state_->defs.method_scopes[std::move(method)].push_back(std::move(needed));
    return *this;
}

server& server::shared_schema(std::string uri, const schema& shape) {
    state_->defs.schemas.emplace_back(std::move(uri), shape.json());
    return *this;
}

server& server::profile(server_profile which) {
    state_->defs.profile = which;
    return *this;
}

server_profile server::profile() const noexcept { return state_->defs.profile; }

server& server::error_data(std::string member) {
    state_->defs.error_members.push_back(std::move(member));
    return *this;
}

server& server::page_size(std::size_t entries) {
    state_->defs.page_size = entries;
    return *this;
}

server& server::cache_ttl(std::chrono::milliseconds ttl) {
    state_->defs.cache_ttl = ttl;
    return *this;
}

server& server::option(std::string name, std::string help, std::string* value) {
    detail::own_option o;
    o.name = std::move(name);
    o.help = std::move(help);
    o.text = value;
    state_->options.push_back(std::move(o));
    return *this;
}

server& server::flag(std::string name, std::string help, bool* value) {
    detail::own_option o;
    o.name = std::move(name);
    o.help = std::move(help);
    o.on = value;
    state_->options.push_back(std::move(o));
    return *this;
}

server& server::on_start(std::function<result<void>(server&)> hook) {
    state_->hooks.push_back(std::move(hook));
    return *this;
}

server& server::ready_check(std::string name, std::function<bool()> good) {
    state_->checks.push_back({std::move(name), std::move(good)});
    return *this;
}

int server::main(int argc, char** argv) { return app::run_command(*this, argc, argv); }

void server::shutdown() noexcept {
    const std::lock_guard lock(state_->mutex);
    if (state_->stop) {
        state_->stop();
    }
}

void server::tools_changed() { state_->publish(mcp::change::tools); }
void server::prompts_changed() { state_->publish(mcp::change::prompts); }
void server::resources_changed() { state_->publish(mcp::change::resources); }
void server::resource_updated(std::string_view uri) {
    state_->publish(mcp::change::resource_updated, uri);
}

}  // namespace pillion
