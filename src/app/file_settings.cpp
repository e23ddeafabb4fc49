#include "app/file_settings.hpp"

#include <string>
#include <utility>

#include "app/config_keys_tools.hpp"
#include "app/item_settings.hpp"
#include "app/prompt_files.hpp"
#include "app/values_of.hpp"
#include "base/hash.hpp"

namespace pillion::app {

namespace {

void read_prompts(key_reader& from, settings& to) {
    const config_value& folders = from.of(key_id::prompt_folders);
    for (std::size_t i = 0; i < folders.texts.size(); ++i) {
        std::vector<std::string> faults;
        const std::string folder = from.path_of(folders, folders.texts[i]);
        std::vector<sidecar::prompt_file> found;
        // Those to come, too, and whatever the prompt in a file is called.
        to.watched.push_back(folder + "/*.md");
        if (!read_prompt_folder(folder, folders.hidden ? "the folder" : folder, found, faults)) {
            for (const std::string& one : faults) {
                from.fault(key_id::prompt_folders, i, one);
            }
        }
        for (sidecar::prompt_file& one : found) {
            one.folder = i;
            to.prompts.push_back(std::move(one));
        }
    }
    for (const sidecar::prompt_file& one : to.prompts) {
        std::string text = one.name + "\n" + one.title + "\n" + one.description;
        for (const sidecar::prompt_argument& argument : one.arguments) {
            text += "\n" + argument.name + argument.description + (argument.required ? "!" : "?");
            for (const std::string& word : argument.complete) {
                text += "|" + word;
            }
        }
        for (const sidecar::prompt_message& message : one.messages) {
            text += message.assistant ? "\nA" : "\nU";
            for (const sidecar::prompt_part& part : message.parts) {
                text += std::to_string(part.argument) + part.text;
            }
        }
        to.prompts_fingerprint = to.prompts_fingerprint * 31 + base::hash_bytes(text);
    }
}

void read_folder(const named_values& one, key_reader& from, settings& to) {
    const values_of<folder_key> say(one.values);
    folder_setting made;
    made.name = one.name;
    if (!say[folder_key::path].given) {
        return from.fault_at(one.at, "folders." + one.name + ": needs path");
    }
    made.path = from.path_in_folder(say.text(folder_key::path));
    made.uri = say.text(folder_key::uri);
    made.title = say.text(folder_key::title);
    made.description = say.text(folder_key::description);
    made.include = say[folder_key::include].texts;
    made.exclude = say[folder_key::exclude].texts;
    made.scopes = say[folder_key::scopes].texts;
    made.icons = icons_of(from, say[folder_key::icons], "folders." + one.name);
    made.hidden = say.hint(folder_key::hidden).value_or(false);
    to.folders.push_back(std::move(made));
}

}  // namespace

void read_file_settings(key_reader& from, settings& to) {
    read_prompts(from, to);
    for (const named_values& one : from.named()) {
        if (one.section == folders_section) {
            read_folder(one, from, to);
        }
    }
}

}  // namespace pillion::app
