#include "mcp/registry.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/server_state.hpp"
#include "json/document.hpp"
#include "unit/mcp/idle_handlers.hpp"

namespace pillion::mcp {
namespace {

using testing::no_prompt;
using testing::nothing;

task<resource_result> no_resource(context& ctx, std::string_view) { co_return ctx.contents(); }

struct freezing {
    std::unique_ptr<const registry> made;
    std::string fault;
    std::vector<std::string> warnings;
};

freezing freeze(server& s) {
    freezing o;
    o.made = registry::freeze(s.state().defs, o.fault, o.warnings);
    return o;
}

// The fault of a server that `fill` made; "" when it freezes.
std::string fault_of(const std::function<void(server&)>& fill) {
    server s("n", "1");
    fill(s);
    const freezing o = freeze(s);
    EXPECT_EQ(o.made == nullptr, !o.fault.empty());
    EXPECT_EQ(o.fault.find('\n'), std::string::npos);
    return o.fault;
}

bool mentions(const std::string& fault, std::string_view a, std::string_view b) {
    return fault.find(a) != std::string::npos && fault.find(b) != std::string::npos;
}

TEST(registry, faults_of_tools_are_one_line_that_names_the_tool) {
    struct row {
        std::function<void(server&)> fill;
        const char* says;
    };
    const auto with_input = [](const char* json) {
        return [json](server& s) { s.tool("t").input(schema::raw(json)).run(nothing); };
    };
    const row rows[] = {
        {[](server& s) {
             s.tool("t").run(nothing);
             s.tool("t").run(nothing);
         },
         "registered twice"},
        {[](server& s) { s.tool("t"); }, "no handler"},
        {with_input("{"), "not JSON"},
        {with_input("{}"), "object"},
        {with_input(R"({"type":"array"})"), "object"},
        {with_input(R"({"type":["object","null"]})"), "object"},
        {with_input("true"), "object"},
        {with_input(R"({"type":"object","properties":1})"), "input schema"},
        {with_input(R"({"type":"object","minProperties":-1})"), "input schema"},
        {with_input(R"({"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}})"),
         "input schema"},
        {[](server& s) { s.tool("t").output(schema::raw(R"({"type":7})")).run(nothing); },
         "output schema"},
        {[](server& s) { s.tool("t").output(schema::raw("[1")).run(nothing); }, "output schema"},
        {[](server& s) { s.tool("t").meta("k", "{nope").run(nothing); }, "_meta"},
    };
    for (const row& r : rows) {
        const std::string fault = fault_of(r.fill);
        EXPECT_TRUE(mentions(fault, "\"t\"", r.says)) << fault << " / " << r.says;
    }
    EXPECT_NE(fault_of([](server& s) { s.tool("").run(nothing); }), "");
    EXPECT_NE(fault_of([](server& s) { s.tool("\xFF").run(nothing); }), "");
}

TEST(registry, faults_of_prompts_and_resources) {
    EXPECT_TRUE(mentions(fault_of([](server& s) { s.prompt("p"); }), "\"p\"", "no handler"));
    EXPECT_TRUE(mentions(fault_of([](server& s) {
                             s.prompt("p").run(no_prompt);
                             s.prompt("p").run(no_prompt);
                         }),
                         "\"p\"", "twice"));
    EXPECT_NE(fault_of([](server& s) { s.prompt("").run(no_prompt); }), "");
    EXPECT_TRUE(mentions(fault_of([](server& s) { s.resource("u:x").name("n"); }), "\"u:x\"",
                         "no handler"));
    EXPECT_TRUE(
        mentions(fault_of([](server& s) { s.resource("u:x").run(no_resource); }), "u:x", "name"));
    EXPECT_TRUE(mentions(fault_of([](server& s) {
                             s.resource("u:x").name("n").run(no_resource);
                             s.resource("u:x").name("m").run(no_resource);
                         }),
                         "u:x", "twice"));
    EXPECT_TRUE(mentions(
        fault_of([](server& s) { s.resource_template("u:{x").name("n").run(no_resource); }), "u:{x",
        ""));
    EXPECT_TRUE(mentions(fault_of([](server& s) { s.resource_template("u:{x}").name("n"); }),
                         "u:{x}", "no handler"));
    EXPECT_EQ(fault_of([](server& s) {
                  s.resource_template("u:{x}").name("n").served_by_provider();
                  // A template and a resource may share their text.
                  s.resource("u:{x}").name("n").run(no_resource);
              }),
              "");
    EXPECT_NE(fault_of([](server& s) { s.resource("").name("n").run(no_resource); }), "");
}

// The first one was told, and whose it was stood in its text only.
TEST(registry, all_faults_are_told_with_what_they_are_about) {
    server s("n", "1");
    s.tool("a").input(schema::raw("{")).output(schema::raw(R"({"type":1})")).run(nothing);
    s.tool("good").about("a").run(nothing);
    s.tool("good").about("b").run(nothing);
    s.prompt("p");
    s.resource("u:x").name("n").scope("no good scope").run(no_resource);
    s.method_scope("no/such", "x");
    registration_faults faults;
    std::vector<std::string> warnings;
    EXPECT_EQ(registry::freeze(s.state().defs, faults, warnings), nullptr);
    const auto shown = [](const registration_fault& one) {
        return std::string(one.section) + " " + one.name + " " + one.part;
    };
    std::vector<std::string> about;
    std::transform(faults.begin(), faults.end(), std::back_inserter(about), shown);
    EXPECT_EQ(about,
              (std::vector<std::string>{"tools a input", "tools a output", "tools good ",
                                        "prompts p ", "resources u:x scopes", "methods no/such "}));
}

TEST(registry, faults_are_bounded) {
    server s("n", "1");
    for (std::size_t i = 0; i < 2 * registration_faults::faults_max; ++i) {
        s.tool("t");
    }
    registration_faults faults;
    std::vector<std::string> warnings;
    EXPECT_EQ(registry::freeze(s.state().defs, faults, warnings), nullptr);
    EXPECT_EQ(faults.size(), registration_faults::faults_max);
    // Full as they are, they tell that there are some.
    EXPECT_EQ(registry::freeze(s.state().defs, faults, warnings), nullptr);
}

TEST(registry, a_server_needs_a_name_and_a_version) {
    server unnamed("", "1");
    EXPECT_EQ(freeze(unnamed).made, nullptr);
    server unversioned("n", "");
    EXPECT_EQ(freeze(unversioned).made, nullptr);
}

TEST(registry, unwise_names_are_warned_about_and_served) {
    server s("n", "1");
    s.tool("with space").about("a").run(nothing);
    s.tool(std::string(129, 'a')).about("a").run(nothing);
    s.tool("a.good-Name_1").about("a").run(nothing);
    s.tool("silent").run(nothing);
    const freezing o = freeze(s);
    ASSERT_NE(o.made, nullptr);
    ASSERT_EQ(o.warnings.size(), 3U);
    EXPECT_NE(o.warnings[2].find("no description"), std::string::npos);
    EXPECT_NE(o.made->find_tool("with space"), nullptr);
}

TEST(registry, entries_are_found_by_name_and_listed_in_order) {
    server s("n", "1");
    for (const char* name : {"z", "a", "m"}) {
        s.tool(name).run(nothing);
        s.prompt(name).run(no_prompt);
        s.resource(std::string("u:") + name).name(name).run(no_resource);
        s.resource_template(std::string("t:{x}/") + name).name(name).run(no_resource);
    }
    const freezing o = freeze(s);
    ASSERT_NE(o.made, nullptr);
    const registry& r = *o.made;
    ASSERT_EQ(r.tools().size(), 3U);
    EXPECT_EQ(r.tools()[0].definition->name, "z");
    EXPECT_EQ(r.tools()[2].definition->name, "m");
    EXPECT_EQ(r.find_tool("a"), &r.tools()[1]);
    EXPECT_EQ(r.find_prompt("m"), &r.prompts()[2]);
    EXPECT_EQ(r.find_resource("u:z"), &r.resources()[0]);
    EXPECT_EQ(r.find_template("t:{x}/a"), &r.templates()[1]);
    for (const char* name : {"", "b", "zz", "A", "u:z"}) {
        EXPECT_EQ(r.find_tool(name), nullptr);
        EXPECT_EQ(r.find_prompt(name), nullptr);
    }
    EXPECT_EQ(r.find_resource("t:{x}/a"), nullptr);
    EXPECT_EQ(r.find_template("u:z"), nullptr);
}

// A server that uses everything there is.
void fill_all(server& s) {
    s.title("Title").about("About").website("https://x.example").instructions("Do.");
    s.add_icon(icon("https://x.example/i.png", "image/png", {"48x48", "any"}, "dark"));
    s.tool("t")
        .title("T")
        .about("line\nbreak")
        .input(object().required("a", string()))
        .output(object().required("b", string()))
        .read_only()
        .destructive(false)
        .idempotent()
        .open_world(false)
        .add_icon(icon("data:,x"))
        .meta("k", "{\n\"v\":1}")
        .run(nothing);
    s.tool("any").output(schema::raw(R"({"type":"array"})")).run(nothing);
    s.prompt("p")
        .title("P")
        .about("A")
        .argument("x", "X", true)
        .argument("y", "", false)
        .add_icon(icon("data:,x"))
        .meta("k", "[1]")
        .run(no_prompt);
    s.resource("u:r")
        .name("r")
        .title("R")
        .about("A")
        .mime_type("text/plain")
        .size(5)
        .annotate(content_annotations(true, true, 0.5, "2026-01-01T00:00:00Z"))
        .add_icon(icon("data:,x"))
        .meta("k", "1")
        .run(no_resource);
    s.resource_template("u:{v}")
        .name("t")
        .title("R")
        .size(7)
        .annotate(content_annotations(false, true, -1, "2026-01-01T00:00:00Z"))
        .complete("v",
                  [](context& ctx, std::string_view, json::view) -> task<completion_result> {
                      co_return ctx.completion();
                  })
        .run(no_resource);
}

std::string keys_of(json::view object) {
    std::string keys;
    for (const json::member m : object.members()) {
        keys += std::string(m.key) + " ";
    }
    return keys;
}

std::string keys_in(std::string_view text) {
    EXPECT_EQ(text.find('\n'), std::string::npos);
    const auto doc = json::document::parse(text);
    EXPECT_TRUE(doc.ok()) << text;
    return doc ? keys_of(doc->root()) : "";
}

TEST(registry, tools_show_each_revision_only_the_fields_it_knows) {
    server s("n", "1");
    fill_all(s);
    const freezing o = freeze(s);
    ASSERT_NE(o.made, nullptr) << o.fault;
    const rendered_entry& full = o.made->tools()[0].entry;
    EXPECT_EQ(keys_in(full[0]), "name description inputSchema ");
    EXPECT_EQ(keys_in(full[1]), "name description inputSchema annotations ");
    EXPECT_EQ(keys_in(full[2]),
              "name title description inputSchema outputSchema annotations _meta ");
    EXPECT_EQ(keys_in(full[3]),
              "name title description inputSchema outputSchema annotations icons _meta ");
    EXPECT_EQ(keys_in(full[4]), keys_in(full[3]));
    const auto d = json::document::parse(full[1]);
    EXPECT_EQ(keys_of(d->root()["annotations"]),
              "title readOnlyHint destructiveHint idempotentHint openWorldHint ");
    const auto latest = json::document::parse(full[4]);
    EXPECT_EQ(keys_of(latest->root()["icons"][std::size_t{0}]), "src ");
    EXPECT_EQ(latest->root()["description"].str(), "line\nbreak");
    // An output schema that is no object exists from 2026-07-28 on (G24).
    const rendered_entry& any = o.made->tools()[1].entry;
    for (std::size_t i = 0; i < revisions; ++i) {
        EXPECT_EQ(keys_in(any[i]).find("outputSchema") != std::string::npos, i == 4);
        EXPECT_EQ(keys_in(any[i]).find("annotations"), std::string::npos);
    }
}

TEST(registry, page_is_one_piece_with_commas_between_its_entries) {
    server s("n", "1");
    fill_all(s);
    for (const char* name : {"a", "b", "c"}) {
        s.tool(name).run(nothing);
    }
    const freezing o = freeze(s);
    ASSERT_NE(o.made, nullptr) << o.fault;
    const std::vector<tool>& list = o.made->tools();
    for (std::size_t v = 0; v < revisions; ++v) {
        for (std::size_t from = 0; from <= list.size(); ++from) {
            std::string joined;
            for (std::size_t to = from; to <= list.size(); ++to) {
                EXPECT_EQ(entries_of(list, from, to, static_cast<revision>(v)), joined);
                if (to < list.size()) {
                    joined += (joined.empty() ? "" : ",") + std::string(list[to].entry[v]);
                }
            }
        }
    }
}

TEST(registry, prompts_and_resources_show_each_revision_only_the_fields_it_knows) {
    server s("n", "1");
    fill_all(s);
    const freezing o = freeze(s);
    ASSERT_NE(o.made, nullptr) << o.fault;
    const rendered_entry& p = o.made->prompts()[0].entry;
    const rendered_entry& r = o.made->resources()[0].entry;
    const rendered_entry& t = o.made->templates()[0].entry;
    for (const std::size_t old : {0U, 1U}) {
        EXPECT_EQ(keys_in(p[old]), "name description arguments ");
        EXPECT_EQ(keys_in(r[old]), "uri name description mimeType size annotations ");
        EXPECT_EQ(keys_in(t[old]), "uriTemplate name annotations ");
        const auto d = json::document::parse(r[old]);
        EXPECT_EQ(keys_of(d->root()["annotations"]), "audience priority ");
    }
    EXPECT_EQ(keys_in(p[2]), "name title description arguments _meta ");
    EXPECT_EQ(keys_in(p[3]), "name title description arguments icons _meta ");
    EXPECT_EQ(keys_in(r[2]), "uri name title description mimeType size annotations _meta ");
    EXPECT_EQ(keys_in(r[4]), "uri name title description mimeType size annotations icons _meta ");
    EXPECT_EQ(keys_in(t[2]), "uriTemplate name title annotations ");
    const auto d = json::document::parse(r[2]);
    EXPECT_EQ(keys_of(d->root()["annotations"]), "audience priority lastModified ");
    const auto arguments = json::document::parse(p[0]);
    EXPECT_EQ(keys_of(arguments->root()["arguments"][std::size_t{0}]),
              "name description required ");
    EXPECT_EQ(keys_of(arguments->root()["arguments"][std::size_t{1}]), "name required ");
}

TEST(registry, server_info_and_capabilities_by_revision) {
    server s("n", "1");
    fill_all(s);
    const freezing o = freeze(s);
    ASSERT_NE(o.made, nullptr);
    const auto info = [&](revision r) {
        return keys_in(std::string(o.made->implementation_json(r)));
    };
    EXPECT_EQ(info(revision::r2024_11_05), "name version ");
    EXPECT_EQ(info(revision::r2025_03_26), "name version ");
    EXPECT_EQ(info(revision::r2025_06_18), "name version title ");
    EXPECT_EQ(info(revision::r2025_11_25), "name version title description websiteUrl icons ");
    EXPECT_EQ(info(modern), "name version title description websiteUrl icons ");
    EXPECT_EQ(keys_in(std::string(o.made->short_info())), "name version ");
    EXPECT_EQ(o.made->capabilities_json(revision::r2024_11_05),
              R"({"tools":{"listChanged":true},"prompts":{"listChanged":true},)"
              R"("resources":{"subscribe":true,"listChanged":true},"logging":{}})");
    EXPECT_NE(o.made->capabilities_json(revision::r2025_03_26).find(R"("completions":{})"),
              std::string_view::npos);
    server bare("n", "1");
    const freezing b = freeze(bare);
    ASSERT_NE(b.made, nullptr);
    EXPECT_EQ(b.made->capabilities_json(modern), R"({"logging":{}})");
    EXPECT_FALSE(b.made->has_resources() || b.made->has_completions());
}

TEST(registry, schemas_refer_to_each_other_and_to_shared_ones) {
    const auto tool = [](server& s, const char* name, const char* json) {
        s.tool(name).about("a").input(schema::raw(json)).run(nothing);
    };
    server s("n", "1");
    s.shared_schema("https://example.com/city", string().min(2));
    tool(s, "a",
         R"({"$id":"https://example.com/a","type":"object",)"
         R"("properties":{"city":{"$ref":"city"}}})");
    tool(s, "b", R"({"type":"object","properties":{"inner":{"$ref":"https://example.com/a"}}})");
    const freezing o = freeze(s);
    ASSERT_NE(o.made, nullptr) << o.fault;
    base::chunk_pool pool;
    base::arena memory(pool);
    schema_check::failure why;
    const auto good = json::document::parse(R"({"inner":{"city":"Oslo"}})");
    const auto bad = json::document::parse(R"({"inner":{"city":"O"}})");
    EXPECT_TRUE(o.made->find_tool("b")->input->validate(good->root(), memory, why));
    EXPECT_FALSE(o.made->find_tool("b")->input->validate(bad->root(), memory, why));
    EXPECT_EQ(why.path, "/inner/city");

    EXPECT_TRUE(mentions(fault_of([&](server& x) {
                             tool(x, "t",
                                  R"({"type":"object","properties":{"x":)"
                                  R"({"$ref":"https://example.com/none"}}})");
                         }),
                         "\"t\"", "https://example.com/none"));
    EXPECT_TRUE(mentions(fault_of([](server& x) {
                             x.shared_schema("u:1", schema::raw("{"));
                             x.tool("t").run(nothing);
                         }),
                         "u:1", "not JSON"));
    EXPECT_TRUE(mentions(fault_of([](server& x) {
                             x.shared_schema("u:1", string());
                             x.shared_schema("u:1", integer());
                             x.tool("t").run(nothing);
                         }),
                         "u:1", "two different schemas"));
}

// STANDARD row 70
TEST(registry, schemas_are_published_keyword_by_keyword) {
    const std::string text =
        R"({"$defs":{"x":{"type":"integer"}},"type":"object",)"
        R"("properties":{"a":{"$ref":"#/$defs/x"},)"
        R"("b":{"const":1.50}},"if":{"required":["a"]},"then":{"required":["b"]},)"
        R"("x-own":[1e2,"\u00e9"],"additionalProperties":false})";
    server s("n", "1");
    s.tool("t").input(schema::raw(text)).run(nothing);
    const freezing o = freeze(s);
    ASSERT_NE(o.made, nullptr) << o.fault;
    for (const std::string_view entry : o.made->tools()[0].entry) {
        EXPECT_NE(entry.find(R"("inputSchema":)" + text), std::string::npos) << entry;
    }
}

}  // namespace
}  // namespace pillion::mcp
