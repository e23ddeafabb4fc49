#include "sidecar/openapi_import.hpp"

#include <algorithm>
#include <set>

#include "sidecar/openapi_document.hpp"
#include "sidecar/openapi_operation.hpp"
#include "sidecar/openapi_servers.hpp"
#include "sidecar/operation_filter.hpp"
#include "sidecar/report_text.hpp"
#include "sidecar/tool_names.hpp"

namespace pillion::sidecar {

namespace {

constexpr std::size_t path_bytes_max = 2048;
constexpr std::size_t title_bytes_max = 200;
constexpr std::size_t description_max = 2048;

// RFC 9110 §9.2.1 and §9.2.2, RFC 5789 §2.
struct method_rule {
    std::string_view field;  // of a Path Item Object
    std::string_view name;
    bool safe;
    bool idempotent;
};
constexpr method_rule methods[] = {
    {"get", "GET", true, true},         {"put", "PUT", false, true},
    {"post", "POST", false, false},     {"delete", "DELETE", false, true},
    {"options", "OPTIONS", true, true}, {"head", "HEAD", true, true},
    {"patch", "PATCH", false, false},
};

class importer {
 public:
    importer(openapi_document& from, const import_options& how, openapi_import& to)
        : from_(from), how_(how), to_(to) {}

    bool run(std::string& fault) {
        if (!read_options(fault)) {
            return false;
        }
        const json::view info = from_.root()["info"];
        to_.title = one_line(info["title"].str(), title_bytes_max);
        to_.version = one_line(info["version"].str(), title_bytes_max);
        to_.server_url = first_server(from_.root()["servers"]);
        for (const json::member m : from_.root()["paths"].members()) {
            if (m.key.starts_with("x-")) {
                continue;
            }
            if (!read_path(m.key, m.value)) {
                fault = "it has more than 10000 operations";
                return false;
            }
        }
        tell_of_options();
        return true;
    }

 private:
    struct rename {
        operation_pattern pattern;
        const std::string* name;
        bool used = false;
    };

    bool read_options(std::string& fault) {
        if (!operation_filter::parse(how_.include, how_.exclude, filter_, fault)) {
            return false;
        }
        if (!how_.prefix.empty() && !is_tool_name(how_.prefix)) {
            fault = "the prefix has characters that no name of a tool has";
            return false;
        }
        for (const auto& [pattern, name] : how_.rename) {
            if (!operation_pattern::parse(pattern, renames_.emplace_back().pattern, fault)) {
                return false;
            }
            renames_.back().name = &name;
            if (!is_tool_name(name)) {
                fault = "\"" + one_line(name, 80) + "\" can be no name of a tool";
                return false;
            }
            if (!given_names_.insert(name).second) {
                fault = "two operations are to be renamed to " + name;
                return false;
            }
        }
        return true;
    }

    void tell(import_note::kind what, std::string_view operation, std::string reason) {
        if (to_.notes.size() < openapi_import::notes_max) {
            to_.notes.push_back({what, std::string(operation), std::move(reason)});
        }
    }

    void skip(std::string_view operation, std::string reason) {
        ++to_.skipped;
        tell(import_note::kind::skipped, operation, std::move(reason));
    }

    void tell_of_options() {
        for (const std::string& text : filter_.unused()) {
            tell(import_note::kind::document, {}, "no operation is like " + one_line(text, 120));
        }
        for (const rename& one : renames_) {
            if (!one.used) {
                tell(import_note::kind::document, {},
                     "no operation is like " + one_line(one.pattern.text(), 120) +
                         ", which is to be renamed");
            }
        }
    }

    bool read_path(std::string_view path, json::view given) {
        std::string detail;
        const json::view item = from_.follow(given, detail);
        if (!item.exists()) {
            ++to_.operations;
            skip(one_line(path, 200), detail);
            return true;
        }
        for (const method_rule& method : methods) {
            const json::view operation = item[method.field];
            if (!operation.exists()) {
                continue;
            }
            if (++to_.operations > openapi_import::operations_max) {
                return false;
            }
            read_operation_of(method, path, item, operation);
        }
        // TRACE would hand out the upstream's credentials (RFC 9110 §9.3.8); QUERY is of 3.2.
        for (const std::string_view other : {"trace", "query", "additionalOperations"}) {
            if (item[other].exists()) {
                ++to_.operations;
                skip(one_line(std::string(other) + " " + std::string(path), 200),
                     "a method that is not offered");
            }
        }
        return true;
    }

    void read_operation_of(const method_rule& method, std::string_view path, json::view item,
                           json::view operation) {
        const std::string where = one_line(std::string(method.name) + " " + std::string(path), 200);
        if (path.size() > path_bytes_max || !operation.is_object() ||
            operation.size() > openapi_document::members_max) {
            return skip(where, "it is no operation, or a very large one");
        }
        operation_id id{method.name, path, operation["operationId"].str(), operation["tags"]};
        if (id.id.size() > operation_pattern::bytes_max) {
            id.id = {};
        }
        if (!filter_.takes(id)) {
            ++to_.not_asked;
            return;
        }
        if (to_.tools.size() >= how_.tools_max) {
            return skip(where, "there are " + std::to_string(how_.tools_max) + " tools already");
        }
        const json::view servers =
            operation["servers"].exists() ? operation["servers"] : item["servers"];
        if (!is_served_here(servers)) {
            return skip(where, "it is served elsewhere: " + one_line(first_server(servers), 120));
        }
        operation_request made;
        std::string fault;
        if (!read_operation(from_, budget_, method.name, path, item, operation, made, fault)) {
            return skip(where, fault);
        }
        imported_tool tool;
        if (!choose_name(id, where, tool.name)) {
            return skip(where, "another tool has its name");
        }
        describe_tool(method, operation, where, tool);
        tool.input_json = std::move(made.input_json);
        tool.http = std::move(made.http);
        to_.tools.push_back(std::move(tool));
        for (std::string& note : made.notes) {
            tell(import_note::kind::note, where, std::move(note));
        }
    }

    // Where the description as a whole names no server, the first that an operation names is it.
    bool is_served_here(json::view servers) {
        if (servers.size() == 0) {
            return true;
        }
        const std::string own = first_server(servers);
        if (to_.server_url.empty() && !from_.root()["servers"].exists()) {
            to_.server_url = own;
        }
        return own == to_.server_url;
    }

    // What the operator said, or the operationId; where that is taken, the route.
    bool choose_name(const operation_id& id, std::string_view where, std::string& to) {
        for (rename& one : renames_) {
            if (one.pattern.matches(id)) {
                one.used = true;
                to = *one.name;
                return names_.take(to);
            }
        }
        for (const std::string& wanted : {fit_name(id.id), name_of_route(id.method, id.path)}) {
            if (wanted.empty()) {
                continue;
            }
            to = fit_name(how_.prefix + wanted);
            if (given_names_.count(to) > 0 || !names_.take(to)) {
                tell(import_note::kind::note, where, "another tool is called " + to);
                continue;
            }
            if (to.size() > tool_name_advised) {
                tell(import_note::kind::note, where,
                     "its name has more than 64 characters, which some models refuse: " + to);
            }
            return true;
        }
        return false;
    }

    static void describe_tool(const method_rule& method, json::view operation,
                              const std::string& where, imported_tool& to) {
        to.operation = where;
        to.title = one_line(operation["summary"].str(), title_bytes_max);
        const std::string_view more = operation["description"].str();
        std::string text = to.title;
        if (!more.empty() && more != operation["summary"].str()) {
            text += (text.empty() ? "" : "\n\n") + cut_text(more, description_max);
        }
        to.deprecated = operation["deprecated"].boolean();
        to.description = (to.deprecated ? "[DEPRECATED] " : "") +
                         cut_text(text.empty() ? where : text, description_max);
        to.read_only = method.safe;
        to.destructive = !method.safe;
        to.idempotent = method.idempotent;
    }

    openapi_document& from_;
    const import_options& how_;
    openapi_import& to_;
    import_budget budget_;
    operation_filter filter_;
    std::vector<rename> renames_;
    std::set<std::string> given_names_;
    name_set names_;
};

}  // namespace

std::string describe(const import_note& note) {
    const std::string_view word =
        note.what == import_note::kind::skipped ? "skipped: " : std::string_view();
    return (note.operation.empty() ? "" : note.operation + ": ") + std::string(word) + note.reason;
}

bool import_openapi(std::string_view json, const import_options& options, openapi_import& to,
                    std::string& fault) {
    to = openapi_import();
    std::size_t where = 0;
    auto document = openapi_document::parse(json, &where);
    if (!document) {
        fault = document.error().detail;
        if (document.error().kind == errc::invalid && where > 0) {
            fault += " (byte " + std::to_string(where) + ")";
        }
        return false;
    }
    return importer(*document, options, to).run(fault);
}

}  // namespace pillion::sidecar
