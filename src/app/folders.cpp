#include "app/folders.hpp"

#include <string>
#include <utility>

#include "app/server_state.hpp"

namespace pillion::app {

void add_folders(server& to, std::vector<served_folder>& kept) {
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
            to.state().faults.add({"folders", one.name, fault.substr(0, fault.find(':')),
                                   "folders." + one.name + "." + fault});
            continue;
        }
        made.watching = made.it->tell_changes(to);
        kept.push_back(std::move(made));
    }
}

}  // namespace pillion::app
