#include "app/registration_places.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace pillion::app {

namespace {

using mcp::registration_fault;

class place_finder {
 public:
    explicit place_finder(const configuration& from) : from_(from) {}

    config_fault placed(const registration_fault& one) const {
        const std::string_view section = one.section;
        if (section.empty()) {
            return of_option(one.text);
        }
        std::optional<file_place> at = of_named(section, one.name, one.part);
        if (section == "tools" && one.part != "scopes") {
            at = of_made_tool(one, at);
        } else if (section == "prompts" && one.part != "scopes") {
            at = of_prompt_file(one.name, at);
        } else if (section == "resources" && !at) {
            at = of_folder(one.name);
        }
        return {at.value_or(file_place()), one.text};
    }

 private:
    // What is said of a thing that has a name: of its key, or, where that is not given, of it all.
    std::optional<file_place> of_named(std::string_view section, std::string_view name,
                                       std::string_view part) const {
        const std::vector<named_values>& all = from_.values.named;
        const auto found = std::find_if(all.begin(), all.end(), [&](const named_values& one) {
            return one.section == section && one.name == name;
        });
        if (found == all.end()) {
            return std::nullopt;
        }
        const config_table keys = make_named_table(found->section, "");
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if (keys[i].name == part && !found->values[i].places.empty()) {
                return found->values[i].places.front();
            }
        }
        return found->at;
    }

    // Of those of one name the last one comes too late.
    std::optional<file_place> of_made_tool(const registration_fault& one,
                                           std::optional<file_place> otherwise) const {
        const auto& all = from_.made->made_tools;
        const auto found = std::find_if(all.rbegin(), all.rend(),
                                        [&](const auto& tool) { return tool.name == one.name; });
        if (found == all.rend()) {
            return otherwise;
        }
        const std::string_view section = found->section;
        const std::size_t dot = section.find('.');
        return of_named(section.substr(0, dot), section.substr(dot + 1), one.part);
    }

    std::optional<file_place> of_prompt_file(std::string_view name,
                                             std::optional<file_place> otherwise) const {
        const auto& all = from_.made->prompts;
        const auto found = std::find_if(all.rbegin(), all.rend(),
                                        [&](const auto& prompt) { return prompt.name == name; });
        const config_value& said = from_.values[static_cast<std::size_t>(key_id::prompt_folders)];
        return found != all.rend() && !said.from_flag && found->folder < said.places.size()
                   ? said.places[found->folder]
                   : otherwise;
    }

    // Of a folder's template.
    std::optional<file_place> of_folder(std::string_view uri) const {
        const auto& all = from_.made->folders;
        const auto found = std::find_if(all.rbegin(), all.rend(), [uri](const auto& one) {
            const std::string prefix = one.uri.empty() ? "pillion://" + one.name + "/" : one.uri;
            return uri == prefix + "{+path}";
        });
        return found == all.rend() ? std::nullopt : of_named(folders_section, found->name, "uri");
    }

    // A server names an option of its own as a flag, whoever gave it.
    config_fault of_option(const std::string& text) const {
        for (std::size_t i = 0; i < from_.keys.size(); ++i) {
            const config_key& key = from_.keys[i];
            const config_value& value = from_.values[i];
            if (key.own != nullptr && !value.from_flag && !value.places.empty() &&
                text.starts_with(key.flag + ":")) {
                return {value.places.front(), key.path() + text.substr(key.flag.size())};
            }
        }
        return {{}, text};
    }

    const configuration& from_;
};

}  // namespace

config_faults with_places(const mcp::registration_faults& faults, const configuration& from) {
    config_faults placed;
    const place_finder finder(from);
    for (const registration_fault& one : faults) {
        placed.push_back(finder.placed(one));
    }
    return placed;
}

}  // namespace pillion::app
