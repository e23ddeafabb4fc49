// config_cases: a small table of keys and a reader over it, for the tests of the configuration.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/config_reader.hpp"

namespace pillion::app::testing {

// The keys of a server with two options of its own, and what a text configures.
struct config_case {
    std::string root;
    bool hidden = false;
    std::vector<detail::own_option> own;
    config_table keys;
    std::map<std::string, std::string> variables;
    config_faults faults;
    config_values values;

    config_case() {
        own.resize(2);
        own[0].name = "root";
        own[0].text = &root;
        own[1].name = "no-ignore";
        own[1].on = &hidden;
        keys = make_config_table(own, server_profile::generic);
    }

    environment from() const {
        return [this](const std::string& name) {
            const auto found = variables.find(name);
            return found == variables.end() ? std::nullopt : std::optional(found->second);
        };
    }

    config_case& read(std::string_view text) {
        faults.clear();
        values = read_config(text, keys, from(), faults);
        return *this;
    }

    // All faults, one a line: "LINE:COLUMN: text".
    std::string said() const {
        std::string all;
        for (const config_fault& f : faults) {
            const std::string line = describe(f, "f");
            all += (f.at.line > 0 ? line.substr(2) : line) + "\n";
        }
        return all;
    }

    const config_value& of(key_id id) const { return values[static_cast<std::size_t>(id)]; }
};

}  // namespace pillion::app::testing
