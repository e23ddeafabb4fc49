#include "app/tool_settings.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "app/config_keys_tools.hpp"
#include "app/config_reader.hpp"
#include "app/description_source.hpp"
#include "app/item_settings.hpp"
#include "app/value_files.hpp"
#include "app/values_of.hpp"
#include "app/yaml_scalar.hpp"
#include "app/yaml_tree.hpp"
#include "base/hash.hpp"
#include "client/url.hpp"
#include "sidecar/arguments.hpp"
#include "sidecar/openapi_import.hpp"
#include "sidecar/tool_maker.hpp"

namespace pillion::app {

namespace {

using sidecar::command_spec;
using sidecar::http_spec;
using sidecar::tool_spec;
using sidecar::upstream_spec;

class tools_reader {
 public:
    tools_reader(key_reader& from, settings& to) : from_(from), to_(to), files_(from, to) {}

    void read_upstream(const named_values& from) {
        const values_of<upstream_key> say(from.values);
        auto to = std::make_shared<upstream_spec>();
        to->name = from.name;
        if (!say[upstream_key::url].given) {
            return fault(from.at, "upstreams." + from.name + ": needs url");
        }
        to->url = say.text(upstream_key::url);
        to->socket = say.text(upstream_key::socket);
        to->headers = say.map(upstream_key::headers);
        const config_value& ca = say[upstream_key::ca];
        bool good = !ca.given || files_.read(ca, 0, ca.texts[0], "ca", to->authorities);
        for (std::size_t i = 0; i < to->headers.size(); ++i) {
            std::string& value = to->headers[i].second;
            // The first place is that of the mapping.
            good = files_.read_secret(say[upstream_key::headers], i + 1, "headers", value) && good;
        }
        say.number(upstream_key::connections, to->connections);
        say.number(upstream_key::answer, to->answer_bytes_max);
        say.number(upstream_key::answer_timeout, to->answer_timeout_ms);
        say.number(upstream_key::retries, to->retries);
        say.number(upstream_key::hedge, to->hedge_ms);
        if (to->hedge_ms > 0 && to->retries == 0) {
            fault(say[upstream_key::hedge].places[0],
                  "upstreams." + from.name + ".hedge: needs retries, of which it is one");
        }
        say.number(upstream_key::failures, to->failures_max);
        say.number(upstream_key::open_time, to->open_ms);
        std::uint64_t seed = fingerprint_of(from.values, base::hash_bytes(to->authorities));
        for (const sidecar::name_and_text& one : to->headers) {
            seed = seed * 31 + base::hash_bytes(one.second);
        }
        upstreams_.push_back({std::move(to), seed});
    }

    void read_tool(const named_values& from) {
        const values_of<tool_key> say(from.values);
        section_ = "tools." + from.name;
        tool_spec to;
        to.name = from.name;
        to.section = section_;
        to.title = say.text(tool_key::title);
        to.description = say.text(tool_key::description);
        to.input_json = say.text(tool_key::input);
        to.output_json = say.text(tool_key::output);
        to.read_only = say.hint(tool_key::read_only);
        to.destructive = say.hint(tool_key::destructive);
        to.idempotent = say.hint(tool_key::idempotent);
        to.open_world = say.hint(tool_key::open_world);
        to.deprecated = say.text(tool_key::deprecated);
        to.instead = say.text(tool_key::instead);
        to.fingerprint = fingerprint_of(from.values, 1);
        const std::size_t before = from_.fault_count();
        if (say[tool_key::command].given) {
            to.command = command_of(say[tool_key::command]);
        }
        if (say[tool_key::http].given) {
            to.http = request_of(from.at, say[tool_key::http], to.fingerprint);
        }
        std::string why;
        if (from_.fault_count() == before && finish(to, why)) {
            to_.made_tools.push_back(std::move(to));
        } else if (!why.empty()) {
            fault(from.at, section_ + ": " + why);
        }
    }

    void read_description(const named_values& from) {
        const values_of<openapi_key> say(from.values);
        section_ = "openapi." + from.name;
        sidecar::import_options how;
        how.include = say[openapi_key::include].texts;
        how.exclude = say[openapi_key::exclude].texts;
        how.rename = say.map(openapi_key::rename);
        how.prefix = say.text(openapi_key::prefix);
        say.number(openapi_key::most, how.tools_max);
        std::string text;
        std::string why;
        sidecar::openapi_import made;
        if (!read_text_of(from, say, text)) {
            return;
        }
        const bool by_url = say[openapi_key::url].given;
        if (!to_json(text, why) || !sidecar::import_openapi(text, how, made, why)) {
            const config_value& source = say[by_url ? openapi_key::url : openapi_key::file];
            return fault(source.places[0], section_ + (by_url ? ".url: " : ".file: ") + why);
        }
        if (by_url) {
            made.server_url = server_of_description(say.text(openapi_key::url), made.server_url);
        }
        const known_upstream* const at = upstream_for(from, say, made.server_url);
        if (at != nullptr) {
            add_imported(from, made, *at, base::hash_bytes(text));
        }
    }

    // A description, from its file or URL. False with a fault.
    bool read_text_of(const named_values& from, const values_of<openapi_key>& say,
                      std::string& text) {
        const config_value& file = say[openapi_key::file];
        const config_value& url = say[openapi_key::url];
        if (file.given == url.given) {
            fault(from.at, section_ + ": needs file or url, and not both");
            return false;
        }
        if (file.given) {
            return files_.read(file, 0, file.texts[0], "file", text, description_bytes_max);
        }
        const known_upstream* const named = find_upstream(say.text(openapi_key::upstream));
        std::string why;
        if (!fetch_description(say.text(openapi_key::url),
                               named == nullptr ? nullptr : named->it.get(), text, why)) {
            fault(url.places[0], section_ + ".url: " + why);
            return false;
        }
        return true;
    }

    // Of a tool that is not made here only what comes on top can be said.
    void refuse_others(const named_values& from) {
        const config_table keys = make_tool_table("tools." + from.name);
        for (auto i = static_cast<std::size_t>(tool_key::title); i < keys.size(); ++i) {
            if (from.values[i].given) {
                return fault(from.at, keys[i].path() + ": needs command or http beside it");
            }
        }
    }

 private:
    struct known_upstream {
        std::shared_ptr<const upstream_spec> it;
        std::uint64_t fingerprint;
    };

    void fault(file_place at, std::string text) { from_.fault_at(at, std::move(text)); }

    // A description may be YAML, which is bounded more closely.
    static bool to_json(std::string& text, std::string& why) {
        const std::size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
        if (first == text.npos || text[first] == '{') {
            return true;
        }
        yaml_tree tree;
        config_faults faults;
        json::builder made;
        if (!tree.read(text, faults) || !yaml_to_json(tree, tree.root(), made)) {
            why = faults.empty() ? "holds a number that JSON has not" : faults.front().text;
            return false;
        }
        text = made.text();
        return true;
    }

    // The one that is named, or one made of what the description says; null with a fault.
    const known_upstream* upstream_for(const named_values& from, const values_of<openapi_key>& say,
                                       const std::string& server_url) {
        const std::string name = say.text(openapi_key::upstream);
        if (!name.empty()) {
            const known_upstream* const found = find_upstream(name);
            if (found == nullptr) {
                fault(from.at, section_ + ".upstream: " + shown(name) + " is none of upstreams");
            }
            return found;
        }
        std::string why;
        if (!client::parse_url(server_url, why) || server_url.find('?') != server_url.npos) {
            fault(from.at, section_ +
                               ": needs upstream: the description names no server that "
                               "could be asked, or came in the clear");
            return nullptr;
        }
        auto made = std::make_shared<upstream_spec>();
        made->name = from.name;
        made->url = server_url;
        upstreams_.push_back({std::move(made), base::hash_bytes(server_url)});
        return &upstreams_.back();
    }

    const known_upstream* find_upstream(const std::string& name) const {
        const auto known = std::find_if(upstreams_.begin(), upstreams_.end(),
                                        [&name](const auto& u) { return u.it->name == name; });
        return known == upstreams_.end() ? nullptr : &*known;
    }

    void add_imported(const named_values& from, sidecar::openapi_import& made,
                      const known_upstream& at, std::uint64_t text_hash) {
        to_.import_report.push_back(section_ + ": " + std::to_string(made.tools.size()) +
                                    " tools of " + std::to_string(made.operations) +
                                    " operations, " + std::to_string(made.skipped) + " skipped, " +
                                    std::to_string(made.not_asked) + " not asked for");
        for (const sidecar::import_note& note : made.notes) {
            to_.import_report.push_back(section_ + ": " + describe(note));
        }
        const std::uint64_t seed = fingerprint_of(from.values, text_hash) + at.fingerprint;
        const values_of<openapi_key> say(from.values);
        const std::vector<icon> icons = icons_of(from_, say[openapi_key::icons], section_);
        for (sidecar::imported_tool& one : made.tools) {
            tool_spec to;
            to.name = std::move(one.name);
            to.section = section_;
            to.title = std::move(one.title);
            to.description = std::move(one.description);
            to.input_json = std::move(one.input_json);
            to.read_only = one.read_only;
            to.destructive = one.destructive;
            to.idempotent = one.idempotent;
            to.icons = icons;
            to.http = std::move(one.http);
            to.http->upstream = at.it;
            to.fingerprint = seed;
            std::string why;
            if (sidecar::check(to, why)) {
                to_.made_tools.push_back(std::move(to));
            } else {
                to_.import_report.push_back(section_ + ": " + one.operation + ": skipped: " + why);
            }
        }
    }

    static bool finish(tool_spec& to, std::string& why) {
        if (!sidecar::check(to, why)) {
            return false;
        }
        const auto used = sidecar::used_arguments(to);
        if (!sidecar::fits_schema(to, used, why)) {
            return false;
        }
        if (to.input_json.empty()) {
            to.input_json = sidecar::schema_of(used);
        }
        return true;
    }

    // Texts by numbers from `least` to `most`.
    std::map<int, std::string> numbered(const config_value& from, int least, int most,
                                        const char* what) {
        std::map<int, std::string> to;
        for (std::size_t i = 0; i < from.names.size(); ++i) {
            const std::string& name = from.names[i];
            int number = 0;
            const auto got = std::from_chars(name.data(), name.data() + name.size(), number);
            if (got.ec != std::errc{} || got.ptr != name.data() + name.size() || number < least ||
                number > most) {
                fault(from.places[i + 1], section_ + ": errors: " + shown(name) + " is no " + what);
            } else {
                to[number] = from.texts[i];
            }
        }
        return to;
    }

    command_spec command_of(const config_value& from) {
        const values_of<command_key> say(from.inside);
        command_spec to;
        to.argv = say[command_key::argv].texts;
        to.standard_input = say.text(command_key::input) == "arguments"
                                ? command_spec::input::arguments
                                : command_spec::input::none;
        to.standard_output = say.text(command_key::output) == "json" ? command_spec::output::json
                                                                     : command_spec::output::text;
        to.folder = say[command_key::folder].given
                        ? from_.path_in_folder(say.text(command_key::folder))
                        : "";
        to.environment = say.map(command_key::env);
        to.passed = say[command_key::pass_env].texts;
        to.dashes = say[command_key::dashes].texts;
        to.errors = numbered(say[command_key::errors], 1, 255, "exit code");
        say.number(command_key::output_bytes, to.output_bytes_max);
        say.number(command_key::stderr_bytes, to.stderr_tail_bytes);
        say.number(command_key::kill_after, to.kill_after_ms);
        say.number(command_key::cpu_time, to.cpu_seconds);
        to.cpu_seconds = (to.cpu_seconds + 999) / 1000;
        say.number(command_key::memory, to.memory_bytes);
        say.number(command_key::file_size, to.file_bytes);
        say.number(command_key::open_files, to.open_files);
        return to;
    }

    http_spec request_of(file_place at, const config_value& from, std::uint64_t& fingerprint) {
        using body = http_spec::body_kind;
        const values_of<http_key> say(from.inside);
        http_spec to;
        const std::string name = say.text(http_key::upstream);
        const known_upstream* const known = find_upstream(name);
        if (known == nullptr) {
            fault(at, section_ + ".http.upstream: " +
                          (name.empty() ? "is missing" : shown(name) + " is none of upstreams"));
            return to;
        }
        to.upstream = known->it;
        fingerprint = fingerprint * 31 + known->fingerprint;
        to.method = say.text(http_key::method, "GET");
        to.path = say.text(http_key::path, "/");
        to.query = say.map(http_key::query);
        to.headers = say.map(http_key::headers);
        const std::string send = say.text(http_key::send);
        to.sends = send == "rest"       ? body::rest
                   : send == "argument" ? body::one
                   : send == "form"     ? body::form
                   : send == "text"     ? body::text
                                        : body::none;
        to.body = say.text(http_key::body);
        to.content_type = say.text(http_key::content_type);
        const std::string output = say.text(http_key::output);
        to.takes = output == "text"   ? http_spec::output::text
                   : output == "json" ? http_spec::output::json
                                      : http_spec::output::automatic;
        to.pointer = say.text(http_key::pointer);
        to.errors = numbered(say[http_key::errors], 300, 599, "status");
        return to;
    }

    key_reader& from_;
    settings& to_;
    value_files files_;
    std::vector<known_upstream> upstreams_;
    std::string section_;
};

}  // namespace

bool makes_tool(const named_values& tool) {
    return tool.section == "tools" &&
           (tool.values[static_cast<std::size_t>(tool_key::command)].given ||
            tool.values[static_cast<std::size_t>(tool_key::http)].given);
}

void read_tools(key_reader& from, settings& to) {
    tools_reader reader(from, to);
    for (const named_values& one : from.named()) {
        if (one.section == upstreams_section) {
            reader.read_upstream(one);
        }
    }
    for (const named_values& one : from.named()) {
        if (makes_tool(one)) {
            reader.read_tool(one);
        } else if (one.section == "tools") {
            reader.refuse_others(one);
        } else if (one.section == openapi_section) {
            reader.read_description(one);
        }
    }
}

}  // namespace pillion::app
