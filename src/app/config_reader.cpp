#include "app/config_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <utility>

#include <pillion/json.hpp>

#include "app/yaml_scalar.hpp"
#include "app/yaml_tree.hpp"

namespace pillion::app {

namespace {

std::string all_named_sections() {
    std::string all;
    for (const char* const name : named_sections) {
        all.append(all.empty() ? "" : ", ").append(name);
    }
    return all;
}

bool is_named_section(std::string_view name) {
    return std::find(std::begin(named_sections), std::end(named_sections), name) !=
           std::end(named_sections);
}

class file_reader {
 public:
    file_reader(const yaml_tree& tree, const config_table& keys, const environment& from,
                std::vector<config_value>& out, config_faults& faults)
        : tree_(tree), keys_(keys), from_(from), out_(out), faults_(faults) {}

    void read(std::vector<named_values>& named) {
        const yaml_node& root = tree_.root();
        if (root.what == yaml_node::kind::null) {
            return;
        }
        if (root.what != yaml_node::kind::map) {
            return fault(root.at, "a configuration is a mapping of sections");
        }
        for (const yaml_node::member& m : root.members) {
            if (m.name == "$schema") {
                check_schema_name(tree_.at(m.value));
            } else if (is_named_section(m.name)) {
                read_named(m.name, tree_.at(m.value), named);
            } else {
                read_section(m);
            }
        }
        const config_value& listen = value(key_id::listen);
        if (listen.given && (value(key_id::host).given || value(key_id::port).given)) {
            fault(listen.places.empty() ? root.at : listen.places.front(),
                  "http.listen: stands instead of http.host and http.port, not beside them");
        }
    }

 private:
    const config_value& value(key_id id) const { return out_[static_cast<std::size_t>(id)]; }

    void fault(file_place at, std::string text) {
        if (faults_.size() < config_faults_max) {
            faults_.push_back({at, std::move(text)});
        }
    }

    // For editors of JSON; means nothing here.
    void check_schema_name(const yaml_node& node) {
        if (node.what != yaml_node::kind::scalar || type_of(node) != plain_kind::text) {
            fault(node.at, "$schema: must be a text");
        }
    }

    void read_section(const yaml_node::member& m) {
        std::string sections;
        std::string names;
        for (const config_key& key : keys_) {
            if (key.section == m.name) {
                names += (names.empty() ? "" : ", ") + key.name;
            }
            if (sections.find(key.section) == sections.npos) {
                sections += (sections.empty() ? "" : ", ") + key.section;
            }
        }
        if (names.empty()) {
            return fault(m.at, "unknown section " + shown(m.name) + "; there are " + sections +
                                   ", " + all_named_sections());
        }
        read_keys(m.name, names, tree_.at(m.value));
    }

    // The keys of a section, whose `names` there are.
    void read_keys(const std::string& section, const std::string& names, const yaml_node& node) {
        if (node.what == yaml_node::kind::null) {
            return;
        }
        if (node.what != yaml_node::kind::map) {
            return fault(node.at, section + ": must be a mapping of keys");
        }
        for (const yaml_node::member& entry : node.members) {
            const auto key = std::find_if(keys_.begin(), keys_.end(), [&](const config_key& k) {
                return k.section == section && k.name == entry.name;
            });
            if (key == keys_.end()) {
                fault(entry.at,
                      section + ": unknown key " + shown(entry.name) + "; there are " + names);
            } else {
                read_key(*key, tree_.at(entry.value));
            }
        }
    }

    // A mapping from the names of tools, prompts, … to their keys.
    void read_named(const std::string& kind, const yaml_node& node, std::vector<named_values>& to) {
        if (node.what == yaml_node::kind::null) {
            return;
        }
        if (node.what != yaml_node::kind::map) {
            return fault(node.at, kind + ": must be a mapping of " + kind);
        }
        for (const yaml_node::member& m : node.members) {
            const std::string section = kind + "." + name_in_path(m.name);
            const config_table keys = make_named_table(kind, section);
            to.push_back({kind, m.name, m.at, std::vector<config_value>(keys.size())});
            file_reader(tree_, keys, from_, to.back().values, faults_)
                .read_keys(section, names_of(keys), tree_.at(m.value));
        }
    }

    static std::string names_of(const config_table& keys) {
        std::string names;
        for (const config_key& key : keys) {
            names += (names.empty() ? "" : ", ") + key.name;
        }
        return names;
    }

    // As it is, unless it could be taken for something else.
    static std::string name_in_path(const std::string& name) {
        constexpr std::string_view plain =
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
        const bool clear = !name.empty() && name.find_first_not_of(plain) == name.npos;
        return clear && name.size() <= 64 ? name : shown(name);
    }

    void read_key(const config_key& key, const yaml_node& node) {
        config_value& value = out_[static_cast<std::size_t>(&key - keys_.data())];
        if (key.type == value_type::sections) {
            return read_sections(key, node, value);
        }
        if (key.type == value_type::section || key.type == value_type::json ||
            key.type == value_type::text_map) {
            return read_mapping(key, node, value);
        }
        if (node.what == yaml_node::kind::list && key.type == value_type::text_list) {
            value.given = true;
            for (const std::size_t item : node.items) {
                read_scalar(key, tree_.at(item), value);
            }
            return;
        }
        read_scalar(key, node, value);
    }

    void read_mapping(const config_key& key, const yaml_node& node, config_value& value) {
        if (node.what != yaml_node::kind::map) {
            return fault(node.at, key.path() + ": must be " + expected_of(key));
        }
        value.given = true;
        value.places.push_back(node.at);
        if (key.type == value_type::section) {
            const config_table keys = key.inside(key.path());
            value.inside.resize(keys.size());
            file_reader(tree_, keys, from_, value.inside, faults_)
                .read_keys(key.path(), names_of(keys), node);
        } else if (key.type == value_type::json) {
            json::builder text;
            if (!yaml_to_json(tree_, node, text)) {
                return fault(node.at, key.path() + ": holds a number that JSON has not");
            }
            value.texts.emplace_back(text.text());
        } else {
            for (const yaml_node::member& m : node.members) {
                read_text_of(key, m, value);
            }
        }
    }

    void read_sections(const config_key& key, const yaml_node& node, config_value& value) {
        if (node.what != yaml_node::kind::list) {
            value.given = true;
            return read_one_of(key, node, value);
        }
        value.given = true;
        for (const std::size_t item : node.items) {
            read_one_of(key, tree_.at(item), value);
        }
    }

    void read_one_of(const config_key& key, const yaml_node& node, config_value& value) {
        if (node.what != yaml_node::kind::map) {
            return fault(node.at, key.path() + ": must be " + expected_of(key));
        }
        const config_table keys = key.inside(key.path());
        config_value& one = value.inside.emplace_back();
        one.given = true;
        one.places.push_back(node.at);
        one.inside.resize(keys.size());
        file_reader(tree_, keys, from_, one.inside, faults_)
            .read_keys(key.path(), names_of(keys), node);
    }

    // A text of a text_map.
    void read_text_of(const config_key& key, const yaml_node::member& m, config_value& value) {
        const yaml_node& node = tree_.at(m.value);
        std::string why;
        std::string expanded;
        if (node.what != yaml_node::kind::scalar) {
            return fault(node.at, key.path() + "." + name_in_path(m.name) + ": must be a text");
        }
        if (!substitute(node.text, from_, expanded, why)) {
            return fault(node.at, key.path() + "." + name_in_path(m.name) + ": " + why);
        }
        value.names.push_back(m.name);
        value.texts.push_back(std::move(expanded));
        value.places.push_back(node.at);
    }

    void read_scalar(const config_key& key, const yaml_node& node, config_value& value) {
        if (node.what != yaml_node::kind::scalar) {
            const char* const found = node.what == yaml_node::kind::null   ? "nothing"
                                      : node.what == yaml_node::kind::list ? "a list"
                                                                           : "a mapping";
            return fault(node.at, key.path() + ": found " + found + " and not " + expected_of(key));
        }
        std::string text = node.text;
        const bool variable = has_variable(text);
        const bool hidden = variable || key.type == value_type::secret;
        if (!variable && !type_fits(key, node, text)) {
            return refuse(key, node, hidden);
        }
        std::string why;
        std::string expanded;
        if (!substitute(text, from_, expanded, why)) {
            return fault(node.at, key.path() + ": " + why);
        }
        if (!parse_value(key, expanded, value)) {
            return refuse(key, node, hidden);
        }
        value.places.push_back(node.at);
        value.hidden = value.hidden || hidden;
    }

    // Whether the file's own type is the key's; makes `text` its plain spelling.
    static bool type_fits(const config_key& key, const yaml_node& node, std::string& text) {
        const plain_kind kind = type_of(node);
        const bool number = kind == plain_kind::integer || kind == plain_kind::real;
        switch (key.type) {
            case value_type::boolean:
                std::transform(text.begin(), text.end(), text.begin(),
                               [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
                return kind == plain_kind::boolean;
            case value_type::count:
                text = number ? integer_text(text, kind) : text;
                return number;
            case value_type::count_or_auto:
                text = number ? integer_text(text, kind) : text;
                return number || text == "auto";
            case value_type::bytes:
                text = number ? integer_text(text, kind) : text;
                return number || !is_integer_text(text);
            default:
                return kind == plain_kind::text;
        }
    }

    void refuse(const config_key& key, const yaml_node& node, bool hidden) {
        const bool text = key.type != value_type::boolean && key.type != value_type::count &&
                          key.type != value_type::count_or_auto && key.type != value_type::bytes;
        std::string said = key.path() + ": ";
        said += hidden ? "the value is not " : shown(node.text) + " is not ";
        said += expected_of(key);
        if (text && !hidden && type_of(node) != plain_kind::text &&
            key.type != value_type::choice && key.type != value_type::duration) {
            said += "; put it in quotes";
        }
        fault(node.at, std::move(said));
    }

    const yaml_tree& tree_;
    const config_table& keys_;
    const environment& from_;
    std::vector<config_value>& out_;
    config_faults& faults_;
};

}  // namespace

bool read_whole_file(const std::string& path, std::string& out, std::string& fault,
                     std::size_t bytes_max) {
    // Not blocking: to open a pipe that nobody writes to would hold up the reload, and the shutdown
    // behind it, for ever.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat what{};
    const bool regular = fd >= 0 && ::fstat(fd, &what) == 0 && S_ISREG(what.st_mode);
    std::size_t size = 0;
    ssize_t got = regular ? 1 : -1;
    // What it has now, and one byte to see whether it grows.
    const std::size_t known = regular ? static_cast<std::size_t>(what.st_size) : 0;
    out.assign(regular ? std::min(std::max(known, std::size_t{4096}), bytes_max) + 1 : 0, '\0');
    while (got > 0 && size < out.size()) {
        got = ::read(fd, out.data() + size, out.size() - size);
        size += got > 0 ? static_cast<std::size_t>(got) : 0;
        if (size == out.size() && size <= bytes_max) {
            out.resize(std::min(2 * size, bytes_max + 1));
        }
    }
    if (fd >= 0) {
        ::close(fd);
    }
    out.resize(size);
    if (got < 0 || size > bytes_max) {
        fault = fd >= 0 && !regular ? "it is no regular file"
                : got < 0           ? "it cannot be read"
                          : "it is larger than " + std::to_string(bytes_max >> 20) + " MiB";
        return false;
    }
    return true;
}

config_values read_config(std::string_view text, const config_table& keys, const environment& from,
                          config_faults& faults) {
    config_values out(keys.size());
    yaml_tree tree;
    if (tree.read(text, faults)) {
        file_reader(tree, keys, from, out, faults).read(out.named);
        sort_by_place(faults);
    }
    return out;
}

}  // namespace pillion::app
