#include "app/config_keys_tools.hpp"

#include <algorithm>
#include <utility>

#include "app/config_keys_access.hpp"
#include "app/ready_follower.hpp"
#include "client/url.hpp"
#include "json/pointer.hpp"
#include "sidecar/icon_check.hpp"

namespace pillion::app {

namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 30;

bool is_date(std::string_view text) {
    constexpr std::string_view form = "dddd-dd-dd";
    return text.size() == form.size() &&
           std::equal(text.begin(), text.end(), form.begin(), [](char c, char like) {
               return like == 'd' ? c >= '0' && c <= '9' : c == like;
           });
}

bool is_upstream_url(std::string_view text) {
    std::string ignored;
    return client::parse_url(text, ignored).has_value() && text.find('?') == text.npos;
}

bool is_server_url(std::string_view text) {
    std::string ignored;
    return client::parse_url(text, ignored).has_value();
}

// Adds keys of one section.
class table_maker {
 public:
    explicit table_maker(std::string section) : section_(std::move(section)) {}

    config_key& add(const char* name, value_type type, const char* help) {
        config_key key;
        key.section = section_;
        key.name = name;
        key.type = type;
        key.help = help;
        key.live = true;
        all_.push_back(std::move(key));
        return all_.back();
    }
    void text(const char* name, const char* help) { add(name, value_type::text, help).min = 1; }
    void texts(const char* name, const char* help) {
        add(name, value_type::text_list, help).min = 1;
    }
    void number(const char* name, std::int64_t min, std::int64_t max, const char* help) {
        config_key& key = add(name, value_type::count, help);
        key.min = min;
        key.max = max;
    }
    void size(const char* name, std::int64_t min, const char* help) {
        config_key& key = add(name, value_type::bytes, help);
        key.min = min;
        key.max = most_bytes;
    }
    void time(const char* name, std::int64_t min, const char* help) {
        add(name, value_type::duration, help).min = min;
    }
    void words(const char* name, std::vector<std::string> all, const char* help) {
        add(name, value_type::choice, help).words = std::move(all);
    }
    void keys(const char* name, config_table (*inside)(const std::string&), const char* help) {
        add(name, value_type::section, help).inside = inside;
    }
    config_table take() { return std::move(all_); }

 private:
    std::string section_;
    config_table all_;
};

}  // namespace

config_key icons_key(const std::string& section) {
    config_key key;
    key.section = section;
    key.name = "icons";
    key.type = value_type::sections;
    key.help = "Pictures that clients may show beside it";
    key.inside = &make_icon_table;
    return key;
}

config_table make_icon_table(const std::string& section) {
    table_maker to(section);
    config_key& source = to.add("src", value_type::text, "Where it is: an http(s) URL or an image");
    source.min = 1;
    source.pattern = "^(https?://|data:image/)";
    source.is_valid = sidecar::is_icon_source;
    source.expected = "an http(s) URL or data:image/...;base64,...";
    to.text("mime_type", "What it is, such as image/png");
    config_key& sizes = to.add("sizes", value_type::text_list, "Sizes it is good for; else all");
    sizes.min = 1;
    sizes.pattern = "^([1-9][0-9]*x[1-9][0-9]*|any)$";
    sizes.is_valid = sidecar::is_icon_size;
    sizes.expected = "a size such as 48x48, or any";
    to.words("theme", {"light", "dark"}, "The background it is for; else both");
    return to.take();
}

config_table make_external_table(const std::string& section) {
    table_maker to(section);
    to.text("idempotency", "What makes a call that comes twice count once, or why nothing does");
    to.text("retries", "Whether it may be called again after a failure");
    to.text("timeout", "What has happened when a call took too long");
    to.text("audit", "The event that says so afterwards, and where");
    to.text("approval", "Who must agree before");
    return to.take();
}

config_table make_tool_table(const std::string& section) {
    table_maker to(section);
    to.time("timeout", 1, "Longest time of a call");
    to.number("concurrent", 0, 1'000'000, "Calls at a time; 0: any number");
    to.number("queue", 0, 1'000'000,
              "Calls that wait for one of these places; beyond it they are shed");
    to.number("rate", 0, 1'000'000, "Calls a second, of all callers together; 0: any number");
    to.number("rate_burst", 0, 1'000'000, "The same at once; 0: what a second gives");
    config_key& scopes = to.add("scopes", value_type::text_list, "");
    scopes = scopes_key(section);
    config_key& icons = to.add("icons", value_type::sections, "");
    icons = icons_key(section);
    to.words("risk", {"low", "medium", "high"}, "How much harm a call can do");
    to.text("side_effects", "What a call changes");
    to.keys("external", &make_external_table, "What holds of its effects outside of the server");
    to.text("title", "Name that people read");
    to.text("description", "What the tool is for: models choose by it");
    to.add("input", value_type::json, "JSON Schema of the arguments");
    to.add("output", value_type::json, "JSON Schema of the structured result");
    to.add("read_only", value_type::boolean, "Whether it changes nothing");
    to.add("destructive", value_type::boolean, "Whether it may destroy something");
    to.add("idempotent", value_type::boolean, "Whether calling it twice changes nothing more");
    to.add("open_world", value_type::boolean, "Whether it reaches beyond this system");
    config_key& date = to.add("deprecated", value_type::text, "Date from which it may go");
    date.min = 1;
    date.pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$";
    date.is_valid = is_date;
    date.expected = "a date such as \"2027-01-31\"";
    to.text("instead", "What to use instead of a deprecated tool");
    to.keys("command", &make_command_table, "The program that it runs");
    to.keys("http", &make_http_table, "The request that it makes");
    return to.take();
}

config_table make_command_table(const std::string& section) {
    table_maker to(section);
    to.texts("argv",
             "The program and its arguments, with {name} for arguments of the call; no shell");
    to.words("input", {"none", "arguments"}, "Whether it reads the arguments as JSON");
    to.words("output", {"text", "json"}, "What it writes");
    to.text("folder", "Where it works");
    to.add("env", value_type::text_map, "Its variables; it has no others");
    to.texts("pass_env", "Names of variables of the server that it sees as well");
    to.texts("dashes", "Arguments of the call that may begin with -");
    to.add("errors", value_type::text_map, "What exit codes mean, beside 0");
    to.size("output_bytes", 1, "Most that it may write");
    to.size("stderr_bytes", 1, "How much of the end of its stderr an error shows");
    to.time("kill_after", 1, "Time from TERM to KILL for a call that must end");
    to.time("cpu_time", 1, "Most processor time");
    to.size("memory", 1, "Most address space");
    to.size("file_size", 1, "Largest file that it may write");
    to.number("open_files", 3, 1'000'000, "Most descriptors");
    return to.take();
}

config_table make_http_table(const std::string& section) {
    table_maker to(section);
    to.text("upstream", "Which of the upstreams is asked");
    to.words("method", {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, "Method");
    config_key& path = to.add("path", value_type::text, "Path, with {name} for arguments");
    path.min = 1;
    path.pattern = "^/";
    path.is_valid = [](std::string_view text) { return text.starts_with('/'); };
    path.expected = "a path that begins with /";
    to.add("query", value_type::text_map, "Parameters of the query, with {name} for arguments");
    to.add("headers", value_type::text_map, "Header fields, with {name} for arguments");
    to.words("send", {"none", "rest", "argument", "form", "text"},
             "The body: the arguments that have no other place as JSON (rest) or as a form, the "
             "one argument that body names, or body as a text with {name}");
    to.text("body", "An argument, or a text");
    to.text("content_type", "Of a body that is a text");
    to.words("output", {"auto", "text", "json"}, "What the answer is");
    config_key& pointer = to.add("pointer", value_type::text, "The part of the answer that counts");
    pointer.pattern = "^(/([^~]|~[01])*)?$";
    pointer.is_valid = [](std::string_view text) { return json::is_pointer(text); };
    pointer.expected = "a JSON Pointer";
    to.add("errors", value_type::text_map, "What statuses mean");
    return to.take();
}

config_table make_upstream_table(const std::string& section) {
    table_maker to(section);
    config_key& url = to.add("url", value_type::text, "Where it is: http(s)://host[:port][/path]");
    url.min = 1;
    url.is_valid = is_upstream_url;
    url.expected = "the URL of a service: http(s)://host[:port][/path]";
    to.text("socket", "Unix socket to connect to instead");
    to.text("ca", "File of the authorities to believe (PEM) instead of the system's");
    to.add("headers", value_type::text_map, "Header fields of each request; file:PATH for secrets");
    to.number("connections", 1, 256, "Connections at a time of each event loop");
    to.size("answer", 1, "Largest answer");
    to.time("answer_timeout", 1,
            "Longest time until it has answered, whatever time the call has; later is a failure");
    to.number("retries", 0, 10, "How often a request is repeated that may be");
    to.time("hedge", 0,
            "After how long without an answer a request that changes nothing is sent again, beside "
            "the first; 0: never");
    to.number("failures", 0, 1'000'000, "Failures in a row that open the breaker; 0: none do");
    to.time("open_time", 1, "How long the breaker stays open");
    return to.take();
}

config_table make_server_table(const std::string& section) {
    table_maker to(section);
    to.text("command", "The program, which speaks MCP over its standard input and output");
    to.add("args", value_type::text_list, "Its arguments");
    to.add("env", value_type::text_map, "Its variables, beside those that it inherits");
    to.texts("pass_env",
             "Names of variables of the server that it inherits; without this HOME, LOGNAME, PATH, "
             "SHELL, TERM and USER");
    to.text("cwd", "Where it works");
    config_key& url = to.add("url", value_type::text,
                             "Where it is, instead of command: http(s)://host[:port][/path]");
    url.min = 1;
    url.is_valid = is_server_url;
    url.expected = "the URL of an MCP server: http(s)://host[:port][/path][?query]";
    to.words("transport", {"auto", "http", "sse"},
             "How it is spoken to: http is Streamable HTTP, sse is HTTP+SSE of 2024-11-05");
    to.text("socket", "Unix socket to connect to instead");
    to.text("ca", "File of the authorities to believe (PEM) instead of the system's");
    to.add("headers", value_type::text_map, "Header fields of each request; file:PATH for secrets");
    to.add("prefix", value_type::text, "Stands before the names of its tools and prompts");
    to.texts("allow", "Those of its tools and prompts that are offered");
    to.texts("deny", "Those that are not");
    to.add("rename", value_type::text_map, "What those are called instead");
    to.add("per_client", value_type::boolean,
           "Whether each session, or principal, has one of its own, started with its first call");
    to.number("clients_max", 1, 10'000,
              "Most of these at a time; beyond it the one that rested longest goes");
    to.time("client_idle", 1, "How long one of these may rest until it goes");
    to.time("start_timeout", 1, "Longest time until it is ready");
    to.time("ping", 0, "How often it is asked whether it is there, while it has no call; 0: never");
    to.size("message", 1, "Largest message that it may send");
    to.time("restart_min", 1,
            "Pause before it is started again; doubled each time that it was not ready");
    to.time("restart_max", 1, "Longest such pause");
    return to.take();
}

config_table make_openapi_table(const std::string& section) {
    table_maker to(section);
    to.text("file", "File of the description (OpenAPI 3, JSON or YAML)");
    config_key& url = to.add("url", value_type::text,
                             "Where it is instead, asked at the start and at each reload; at an "
                             "upstream of the same origin as that is asked");
    url.min = 1;
    url.is_valid = is_server_url;
    url.expected = "the URL of a description: http(s)://host[:port][/path][?query]";
    to.text("upstream", "Which of the upstreams is asked; else the server of the description");
    to.texts("include",
             "Which operations become tools: operationId, METHOD /path or tag:NAME, "
             "with * and ?");
    to.texts("exclude", "Which do not");
    to.add("rename", value_type::text_map, "What the tools of operations are called instead");
    to.add("prefix", value_type::text, "Stands before the names of the others");
    to.number("most", 1, 10'000, "Most tools; beyond it operations are skipped");
    config_key& icons = to.add("icons", value_type::sections, "");
    icons = icons_key(section);
    icons.live = true;
    return to.take();
}

config_table make_folder_table(const std::string& section) {
    table_maker to(section);
    to.text("path", "The directory");
    to.text("uri", "What the URIs of its files begin with; ends with /");
    to.text("title", "Name that people read");
    to.text("description", "What is in it");
    to.texts("include", "Patterns of paths that are offered, with *, ? and **");
    to.texts("exclude", "Patterns of those that are not");
    to.add("hidden", value_type::boolean, "Offer names that begin with a dot, too");
    to.add("scopes", value_type::text_list, "") = scopes_key(section);
    to.add("icons", value_type::sections, "") = icons_key(section);
    config_table all = to.take();
    for (config_key& key : all) {
        key.live = false;
    }
    return all;
}

void add_bridge(config_table& to) {
    to.push_back({.section = "bridge",
                  .name = "mcp_config",
                  .flag = "--mcp-config",
                  .min = 1,
                  .help = "File of a client (mcpServers) whose servers are offered, too",
                  .live = true});
    to.push_back({.section = "bridge",
                  .name = "prefix",
                  .flag = "--bridge-prefix",
                  .help = "Stands before the names of what those servers offer, instead of their "
                          "own name and __",
                  .live = true});
    to.push_back({.section = "prompt_files",
                  .name = "folders",
                  .flag = "--prompts",
                  .type = value_type::text_list,
                  .min = 1,
                  .help = "Directory whose Markdown files are prompts; repeatable",
                  .live = true});
    to.push_back({.section = "ready",
                  .name = "follow",
                  .flag = "--ready-follow",
                  .type = value_type::text_list,
                  .min = 1,
                  .is_valid = ready_follower::is_place,
                  .expected = "http(s)://host[:port][/path] or unix:/path.sock[:/path]",
                  .help = "Service without which this one is not ready (2xx is well); repeatable",
                  .http_only = true});
    to.push_back({.section = "ready",
                  .name = "interval",
                  .type = value_type::duration,
                  .fallback = "2s",
                  .min = 1,
                  .help = "How often it is asked",
                  .http_only = true});
}

}  // namespace pillion::app
