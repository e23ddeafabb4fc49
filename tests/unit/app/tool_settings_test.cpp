// tool_settings: what the configuration says of tools it makes, and each way of saying it wrong.
#include "app/tool_settings.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "unit/app/config_cases.hpp"

namespace pillion::app {
namespace {

using sidecar::tool_spec;
using testing::config_case;

struct tools_case : config_case {
    settings made;

    std::vector<tool_spec> tools(const std::string& text) {
        read(text);
        key_reader reader(keys, values, "/folder", faults);
        read_tools(reader, made);
        sort_by_place(faults);
        return made.made_tools;
    }
};

TEST(tool_settings, a_command_with_all_there_is) {
    tools_case c;
    const auto all = c.tools(
        "tools:\n"
        "  du:\n"
        "    title: Usage\n"
        "    description: Disk usage\n"
        "    input: {type: object, properties: {path: {type: string, maxLength: 0x10}}}\n"
        "    output: {type: object}\n"
        "    read_only: true\n"
        "    destructive: false\n"
        "    deprecated: \"2027-01-31\"\n"
        "    instead: df\n"
        "    command:\n"
        "      argv: [du, -sh, '{path}']\n"
        "      input: arguments\n"
        "      output: json\n"
        "      folder: data\n"
        "      env: {LANG: C, N: 5}\n"
        "      pass_env: [PATH]\n"
        "      dashes: path\n"
        "      errors: {1: nothing, 255: 'all'}\n"
        "      output_bytes: 1KiB\n"
        "      kill_after: 5s\n"
        "      cpu_time: 1500ms\n"
        "      open_files: 16\n");
    EXPECT_EQ(c.said(), "");
    ASSERT_EQ(all.size(), 1U);
    const tool_spec& t = all[0];
    EXPECT_EQ(t.name, "du");
    EXPECT_EQ(t.input_json,
              R"({"type":"object","properties":{"path":{"type":"string","maxLength":16}}})");
    EXPECT_EQ(t.output_json, R"({"type":"object"})");
    EXPECT_EQ(t.read_only, true);
    EXPECT_EQ(t.destructive, false);
    EXPECT_EQ(t.idempotent, std::nullopt);
    EXPECT_EQ(t.deprecated + t.instead, "2027-01-31df");
    ASSERT_TRUE(t.command && !t.http);
    EXPECT_EQ(t.command->argv, (std::vector<std::string>{"du", "-sh", "{path}"}));
    EXPECT_EQ(t.command->standard_input, sidecar::command_spec::input::arguments);
    EXPECT_EQ(t.command->standard_output, sidecar::command_spec::output::json);
    EXPECT_EQ(t.command->folder, "/folder/data");
    EXPECT_EQ(t.command->environment[1].second, "5");
    EXPECT_EQ(t.command->dashes[0], "path");
    EXPECT_EQ(t.command->errors.at(255), "all");
    EXPECT_EQ(t.command->output_bytes_max, 1024U);
    EXPECT_EQ(t.command->kill_after_ms, 5000);
    EXPECT_EQ(t.command->cpu_seconds, 2U);
    EXPECT_EQ(t.command->open_files, 16U);
}

TEST(tool_settings, a_request_and_its_upstream) {
    tools_case c;
    c.variables["KEY"] = "secret";
    const auto all = c.tools(
        "tools:\n"
        "  user:\n"
        "    http: {upstream: users, path: '/users/{id}', query: {q: '{q}'}, pointer: /a,\n"
        "           errors: {404: none}, send: argument, body: what, method: PUT}\n"
        "upstreams:\n"
        "  users: {url: 'http://localhost:1/v1', socket: /run/s, headers: {X-Key: '${KEY}'},\n"
        "          retries: 3, hedge: 50ms, answer_timeout: 2s, open_time: 1s}\n");
    EXPECT_EQ(c.said(), "");
    ASSERT_EQ(all.size(), 1U);
    const sidecar::http_spec& h = all[0].http.value();
    EXPECT_EQ(h.method, "PUT");
    EXPECT_EQ(h.path, "/users/{id}");
    EXPECT_EQ(h.pointer, "/a");
    EXPECT_EQ(h.errors.at(404), "none");
    EXPECT_EQ(h.sends, sidecar::http_spec::body_kind::one);
    EXPECT_EQ(h.upstream->url, "http://localhost:1/v1");
    EXPECT_EQ(h.upstream->headers[0].second, "secret");
    EXPECT_EQ(h.upstream->retries, 3U);
    EXPECT_EQ(h.upstream->hedge_ms, 50);
    EXPECT_EQ(h.upstream->open_ms, 1000);
    // Made of what it uses: the path needs its argument, the others may be missing.
    EXPECT_NE(all[0].input_json.find(R"("required":["id"])"), std::string::npos)
        << all[0].input_json;
    EXPECT_NE(all[0].input_json.find(R"("what":{})"), std::string::npos);
}

TEST(tool_settings, the_fingerprint_tells_what_has_changed) {
    const std::string tool = "tools: {a: {http: {upstream: u}, timeout: 1s}}\n";
    const auto of = [](const std::string& text, const char* key = "1") {
        tools_case c;
        c.variables["KEY"] = key;
        const auto all = c.tools(text);
        EXPECT_EQ(c.said(), "") << text;
        return all.empty() ? 0 : all[0].fingerprint;
    };
    const std::string upstream = "upstreams: {u: {url: 'http://a', headers: {k: '${KEY}'}}}\n";
    const std::uint64_t first = of(tool + upstream);
    EXPECT_EQ(of(upstream + "\n# a comment\n" + tool), first);
    EXPECT_NE(of(tool + upstream, "2"), first);
    EXPECT_NE(of(tool + "upstreams: {u: {url: 'http://b', headers: {k: '${KEY}'}}}\n"), first);
    EXPECT_NE(of("tools: {a: {http: {upstream: u}, timeout: 2s}}\n" + upstream), first);
    EXPECT_NE(of("tools: {a: {http: {upstream: u, path: /b}, timeout: 1s}}\n" + upstream), first);
}

TEST(tool_settings, faults_name_what_is_wrong_and_where) {
    struct row {
        const char* text;
        const char* said;
    };
    for (const row& r : {
             row{"tools: {a: {description: x}}",
                 "1:9: tools.a.description: needs command or http beside it\n"},
             row{"tools: {a: {command: {argv: [x]}, http: {upstream: u}}}\nupstreams: {u: {url: "
                 "'http://a'}}",
                 "1:9: tools.a: is either a command or http, not both\n"},
             row{"tools: {b: {command: {argv: [x, '{nam}']}, input: {properties: {name: {}}}}}",
                 "1:9: tools.b: uses {nam}, which is not among the properties of input\n"},
             row{"tools: {c: {http: {upstream: nope}}}",
                 "1:9: tools.c.http.upstream: \"nope\" is none of upstreams\n"},
             row{"tools: {c: {http: {path: /a}}}", "1:9: tools.c.http.upstream: is missing\n"},
             row{"tools: {e: {command: {argv: [a], errors: {0: x}}}}",
                 "1:46: tools.e: errors: \"0\" is no exit code\n"},
             row{"tools: {f: {command: {argv: [cat], input: arguments}}}",
                 "1:9: tools.f: needs input: a schema of the arguments that it hands on\n"},
             row{"upstreams: {u: {socket: /s}}", "1:13: upstreams.u: needs url\n"},
             row{"upstreams: {u: {url: 'http://a', headers: {K: 'file:none'}}}",
                 "1:47: headers: the file: it cannot be read\n"},
         }) {
        tools_case c;
        c.tools(r.text);
        EXPECT_EQ(c.said(), r.said) << r.text;
    }
}

TEST(tool_settings, secrets_of_files_lose_their_last_line_end) {
    tools_case c;
    const auto all = c.tools(
        "tools: {a: {http: {upstream: u}}}\n"
        "upstreams: {u: {url: 'http://a', headers: {k: 'file:/proc/sys/kernel/ostype'}}}\n");
    EXPECT_EQ(c.said(), "");
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].http->upstream->headers[0].second, "Linux");
    EXPECT_EQ(c.made.watched, (std::vector<std::string>{"/proc/sys/kernel/ostype"}));
}

}  // namespace
}  // namespace pillion::app
