#include "app/folders.hpp"

#include <string>
#include <utility>

#include "app/server_state.hpp"
#include "base/log.hpp"

namespace pillion::app {

result<void> add_folders(server& to, std::vector<served_folder>& kept) {
    for (const folder_setting& one : to.state().folders) {
        files::resource_folder_spec spec;
        spec.name = one.name;
        spec.title = one.title;
        spec.description = one.description;
        spec.folder = one.path;
        spec.uri_prefix = one.uri;
        spec.which.include = one.include;
        spec.which.exclude = one.exclude;
        spec.how.hidden = one.hidden;
        spec.scopes = one.scopes;
        spec.icons = one.icons;
        std::string fault;
        served_folder made;
        made.it = files::add_resource_folder(to, spec, fault);
        if (made.it == nullptr) {
            log::error("folder.refused", {log::kv("folder", one.name), log::kv("reason", fault)});
            return error(errc::invalid, "a directory of the section folders cannot be offered");
        }
        made.watching = made.it->tell_changes(to);
        kept.push_back(std::move(made));
    }
    return ok();
}

}  // namespace pillion::app
