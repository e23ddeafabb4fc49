#include "app/prompt_files.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "app/config_reader.hpp"
#include "app/yaml_tree.hpp"
#include "base/utf8.hpp"
#include "sidecar/tool_names.hpp"

namespace pillion::app {

namespace {

constexpr std::string_view file_ending = ".md";

// The head and the text below it, and the line at which each begins.
struct prompt_halves {
    std::string_view head;
    std::string_view text;
    std::uint32_t text_line = 1;
    bool has_head = false;
};

std::string_view line_of(std::string_view text) {
    std::string_view line = text.substr(0, text.find('\n'));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) {
        line.remove_suffix(1);
    }
    return line;
}

// False when the head does not end.
bool split(std::string_view text, prompt_halves& to) {
    to.text = text;
    if (line_of(text) != "---") {
        return true;
    }
    to.has_head = true;
    std::size_t at = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::size_t begin = at;
    for (std::uint32_t line = 2; at < text.size(); ++line) {
        const std::string_view rest = text.substr(at);
        const std::size_t next = std::min(rest.find('\n'), rest.size() - 1) + 1;
        if (line_of(rest) == "---" || line_of(rest) == "...") {
            to.head = text.substr(begin, at - begin);
            to.text = rest.substr(next);
            to.text_line = line + 1;
            return true;
        }
        at += next;
    }
    return false;
}

// Reads the head. Faults go on where they can, so that all are told of at once.
class head_reader {
 public:
    head_reader(sidecar::prompt_file& to, config_faults& faults) : to_(to), faults_(faults) {}

    void read(std::string_view head) {
        // It begins in the second line of the file.
        if (!tree_.read("\n" + std::string(head), faults_) ||
            tree_.root().what == yaml_node::kind::null) {
            return;
        }
        if (tree_.root().what != yaml_node::kind::map) {
            return fail(tree_.root().at, "the head must be keys and their values");
        }
        for (const yaml_node::member& m : tree_.root().members) {
            const yaml_node& value = tree_.at(m.value);
            if (m.name == "name") {
                read_name(value, "name", to_.name);
            } else if (m.name == "title") {
                read_text(value, "title", to_.title);
            } else if (m.name == "description") {
                read_text(value, "description", to_.description);
            } else if (m.name == "arguments") {
                read_arguments(value);
            } else {
                fail(m.at, "unknown key " + shown(m.name) +
                               "; there are name, title, description and arguments");
            }
        }
    }

 private:
    void fail(file_place at, std::string text) { faults_.push_back({at, std::move(text)}); }

    bool read_text(const yaml_node& from, const std::string& key, std::string& to) {
        if (from.what != yaml_node::kind::scalar) {
            fail(from.at, key + ": must be a text");
            return false;
        }
        to = from.text;
        return true;
    }

    void read_name(const yaml_node& from, const std::string& key, std::string& to) {
        if (read_text(from, key, to) && !sidecar::is_tool_name(to)) {
            fail(from.at, key + ": must be 1 to 128 of a-z, A-Z, 0-9, _, . and -");
        }
    }

    void read_arguments(const yaml_node& from) {
        if (from.what != yaml_node::kind::list ||
            from.items.size() > sidecar::prompt_file::arguments_max) {
            return fail(from.at, "arguments: must be a list of at most 64");
        }
        for (const std::size_t index : from.items) {
            read_argument(tree_.at(index));
        }
    }

    void read_argument(const yaml_node& from) {
        if (from.what != yaml_node::kind::map) {
            return fail(from.at, "arguments: each has a name, and perhaps more");
        }
        sidecar::prompt_argument made;
        for (const yaml_node::member& m : from.members) {
            const yaml_node& value = tree_.at(m.value);
            if (m.name == "name") {
                read_name(value, "arguments: name", made.name);
            } else if (m.name == "description") {
                read_text(value, "arguments: description", made.description);
            } else if (m.name == "required") {
                read_required(value, made.required);
            } else if (m.name == "complete") {
                read_suggestions(value, made.complete);
            } else {
                fail(m.at, "arguments: unknown key " + shown(m.name) +
                               "; there are name, description, required and complete");
            }
        }
        const auto same = [&made](const sidecar::prompt_argument& a) {
            return a.name == made.name;
        };
        if (made.name.empty()) {
            fail(from.at, "arguments: one has no name");
        } else if (std::any_of(to_.arguments.begin(), to_.arguments.end(), same)) {
            fail(from.at, "arguments: two are called " + shown(made.name));
        } else {
            to_.arguments.push_back(std::move(made));
        }
    }

    void read_required(const yaml_node& from, bool& to) {
        to = from.text == "true";
        if (from.what != yaml_node::kind::scalar || !from.plain || (!to && from.text != "false")) {
            fail(from.at, "arguments: required: must be true or false");
        }
    }

    void read_suggestions(const yaml_node& from, std::vector<std::string>& to) {
        if (from.what != yaml_node::kind::list ||
            from.items.size() > sidecar::prompt_file::suggestions_max) {
            return fail(from.at, "arguments: complete: must be a list of at most 1000");
        }
        for (const std::size_t index : from.items) {
            read_text(tree_.at(index), "arguments: complete", to.emplace_back());
        }
    }

    sidecar::prompt_file& to_;
    config_faults& faults_;
    yaml_tree tree_;
};

// The names of a folder's prompts, in order.
bool list_folder(const std::string& folder, const std::string& called, std::vector<std::string>& to,
                 std::string& fault) {
    namespace fs = std::filesystem;
    std::error_code failed;
    fs::directory_iterator at(folder, failed);
    for (; !failed && at != fs::directory_iterator(); at.increment(failed)) {
        const std::string name = at->path().filename().string();
        std::error_code gone;
        if (name.ends_with(file_ending) && name.front() != '.' && at->is_regular_file(gone)) {
            to.push_back(name);
        }
        if (to.size() > prompt_files_max) {
            fault = shown_path(called) + ": more than 1000 prompts";
            return false;
        }
    }
    if (failed) {
        fault = shown_path(called) + ": " + failed.message();
        return false;
    }
    std::sort(to.begin(), to.end());
    return true;
}

}  // namespace

bool read_prompt_file(std::string_view name, std::string_view text, sidecar::prompt_file& to,
                      config_faults& faults) {
    const std::size_t before = faults.size();
    to = sidecar::prompt_file();
    to.name = name;
    if (text.starts_with("\xEF\xBB\xBF")) {
        text.remove_prefix(3);
    }
    if (text.size() > prompt_bytes_max || !base::utf8::validate(text) ||
        text.find('\0') != text.npos) {
        faults.push_back({{1, 1},
                          text.size() > prompt_bytes_max
                              ? "larger than 256 KiB"
                              : "a byte that is no text (UTF-8 is expected)"});
        return false;
    }
    prompt_halves halves;
    if (!split(text, halves)) {
        faults.push_back({{1, 1}, "the head, which begins with ---, does not end with one"});
        return false;
    }
    if (halves.has_head) {
        head_reader(to, faults).read(halves.head);
    }
    if (faults.size() == before && !sidecar::is_tool_name(to.name)) {
        faults.push_back(
            {{1, 1}, "the name of the file can be no name of a prompt; say one: name"});
    }
    std::size_t line = 0;
    std::string fault;
    // What is unknown in the text may only be so because of the head.
    if (faults.size() == before && !sidecar::parse_prompt_text(halves.text, to, line, fault)) {
        const auto below = static_cast<std::uint32_t>(line) - 1;
        faults.push_back({{halves.text_line + below, 1}, fault});
    }
    return faults.size() == before;
}

bool read_prompt_folder(const std::string& folder, const std::string& called,
                        std::vector<sidecar::prompt_file>& to, std::vector<std::string>& faults) {
    const std::size_t before = faults.size();
    std::vector<std::string> names;
    std::string fault;
    if (!list_folder(folder, called, names, fault)) {
        faults.push_back(fault);
        return false;
    }
    std::map<std::string, std::string> files;  // by the name of the prompt
    for (const std::string& name : names) {
        const std::string path = called + "/" + name;
        std::string text;
        if (!read_whole_file(folder + "/" + name, text, fault)) {
            faults.push_back(shown_path(path) + ": " + fault);
            continue;
        }
        sidecar::prompt_file made;
        config_faults found;
        read_prompt_file(std::string_view(name).substr(0, name.size() - file_ending.size()), text,
                         made, found);
        sort_by_place(found);
        const auto [known, fresh] = files.emplace(made.name, path);
        if (found.empty() && !fresh) {
            found.push_back({{1, 1},
                             "the prompt of " + shown_path(known->second) + " has the name " +
                                 shown(made.name) + " already"});
        }
        for (const config_fault& one : found) {
            faults.push_back(describe(one, path));
        }
        if (found.empty()) {
            to.push_back(std::move(made));
        }
    }
    return faults.size() == before;
}

void add_prompt_files(catalog& to, std::vector<sidecar::prompt_file> files) {
    for (sidecar::prompt_file& one : files) {
        prompt_builder made = to.prompt(one.name);
        sidecar::add_prompt(made, std::move(one));
    }
}

void add_prompt_files(server& to, std::vector<sidecar::prompt_file> files) {
    for (sidecar::prompt_file& one : files) {
        prompt_builder made = to.prompt(one.name);
        sidecar::add_prompt(made, std::move(one));
    }
}

}  // namespace pillion::app
