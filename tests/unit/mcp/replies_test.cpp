// Results of handlers as clients of each revision see them.
#include <functional>

#include <gtest/gtest.h>

#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {
namespace {

// A world with one tool "it", called by clients of every revision.
class replies {
 public:
    explicit replies(std::function<tool_result(context&)> body, const char* output = nullptr)
        : world_(options_with(std::move(body), output)) {}

    parsed call(std::string_view version) {
        client& c = world_.connect();
        parsed p = version == "2026-07-28"
                       ? c.ask_message(modern_call("7", "it"))
                       : c.ask_message(legacy_call(world_.open_session(version), "7", "it"));
        EXPECT_TRUE(p.good()) << p.raw();
        EXPECT_EQ(p.id(), "7");
        return p;
    }
    // What stands in result.content[i], as text.
    static json::view content(const parsed& p, std::size_t i) { return p["result"]["content"][i]; }

 private:
    static world_options options_with(std::function<tool_result(context&)> body,
                                      const char* output) {
        world_options o;
        o.more = [body = std::move(body), output](server& s) {
            s.error_data("a").error_data("b");
            auto t = s.tool("it");
            if (output != nullptr) {
                t.output(schema::raw(output));
            }
            t.run([body](context& ctx) { return body(ctx); });
        };
        return o;
    }
    world world_;
};

TEST(replies, every_kind_of_content_in_the_newest_revisions) {
    replies r([](context& ctx) {
        return ctx.result()
            .text("t")
            .image("\x01\xFF", "image/png")
            .audio("ab", "audio/wav")
            .resource_text("u:1", "", "text")
            .resource_blob("u:2", "", "abc")
            .link("u:3", "n", "text/x", "d");
    });
    for (const char* version : {"2025-06-18", "2025-11-25", "2026-07-28"}) {
        const parsed p = r.call(version);
        EXPECT_EQ(p["result"]["content"].size(), 6U);
        EXPECT_NE(
            p.raw().find(R"("content":[{"type":"text","text":"t"},)"
                         R"({"type":"image","data":"Af8=","mimeType":"image/png"},)"
                         R"({"type":"audio","data":"YWI=","mimeType":"audio/wav"},)"
                         R"({"type":"resource","resource":{"uri":"u:1","mimeType":"text/plain",)"
                         R"("text":"text"}},{"type":"resource","resource":{"uri":"u:2",)"
                         R"("mimeType":"application/octet-stream","blob":"YWJj"}},)"
                         R"({"type":"resource_link","uri":"u:3","name":"n","mimeType":"text/x",)"
                         R"("description":"d"}],"isError":false)"),
            std::string::npos)
            << p.raw();
    }
}

TEST(replies, content_that_a_revision_does_not_know_becomes_text) {
    replies r([](context& ctx) {
        return ctx.result().audio("ab", "audio/wav").link("u:3", "n").link("u:4", "");
    });
    for (const char* version : all_versions) {
        const parsed p = r.call(version);
        const std::string_view v(version);
        EXPECT_EQ(replies::content(p, 0)["type"].str(), v < "2025-03-26" ? "text" : "audio");
        EXPECT_EQ(replies::content(p, 1)["type"].str(),
                  v < "2025-06-18" ? "text" : "resource_link");
        if (v < "2025-06-18") {
            EXPECT_EQ(replies::content(p, 1)["text"].str(), "Resource: u:3 (n)");
            EXPECT_EQ(replies::content(p, 2)["text"].str(), "Resource: u:4");
        }
    }
}

TEST(replies, base64_of_all_bytes_and_lengths) {
    replies r([](context& ctx) {
        std::string bytes;
        for (int i = 0; i < 256; ++i) {
            bytes.push_back(static_cast<char>(i));
        }
        tool_result out = ctx.result();
        for (const std::size_t n : {0U, 1U, 2U, 3U, 4U, 256U}) {
            out.image(std::string_view(bytes).substr(256 - n), "image/png");
        }
        return out;
    });
    const parsed p = r.call("2026-07-28");
    const char* heads[] = {"", "/w==", "/v8=", "/f7/", "/P3+/w=="};
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(replies::content(p, i)["data"].str(), heads[i]);
    }
    EXPECT_EQ(replies::content(p, 5)["data"].str().size(), 344U);
}

TEST(replies, annotations_by_revision) {
    replies r([](context& ctx) {
        return ctx.result()
            .text("a")
            .annotate(content_annotations(true, true, 0.25, "2026-01-01T00:00:00Z"))
            .text("b")
            .annotate(content_annotations(false, true, 7))
            .text("c");
    });
    for (const char* version : all_versions) {
        const parsed p = r.call(version);
        const json::view first = replies::content(p, 0)["annotations"];
        EXPECT_EQ(first["audience"].size(), 2U);
        EXPECT_EQ(first["priority"].num(), 0.25);
        EXPECT_EQ(first["lastModified"].exists(), std::string_view(version) >= "2025-06-18");
        EXPECT_EQ(replies::content(p, 1)["annotations"]["priority"].num(), 1);
        EXPECT_FALSE(replies::content(p, 2)["annotations"].exists());
    }
}

TEST(replies, annotating_nothing_is_harmless) {
    replies r([](context& ctx) { return ctx.result().annotate(content_annotations(true, false)); });
    EXPECT_EQ(r.call("2026-07-28")["result"]["content"].size(), 0U);
}

TEST(replies, failures_are_results_that_say_so) {
    replies r([](context& ctx) { return ctx.error("no ", "luck"); });
    for (const char* version : all_versions) {
        const parsed p = r.call(version);
        EXPECT_TRUE(p["result"]["isError"].boolean());
        EXPECT_EQ(p.text(), "no luck");
    }
}

TEST(replies, structured_content_and_its_twin_text) {
    replies r([](context& ctx) { return ctx.result().structured("{ \"a\":\n [1, 2.50] }"); },
              R"({"type":"object","required":["a"]})");
    for (const char* version : all_versions) {
        const parsed p = r.call(version);
        EXPECT_EQ(p.text(), R"({"a":[1,2.50]})");
        EXPECT_EQ(p["result"]["structuredContent"].exists(),
                  std::string_view(version) >= "2025-06-18");
    }
}

TEST(replies, own_text_replaces_the_twin) {
    replies r([](context& ctx) { return ctx.result().text("mine").structured("{}"); });
    const parsed p = r.call("2025-11-25");
    EXPECT_EQ(p["result"]["content"].size(), 1U);
    EXPECT_EQ(p.text(), "mine");
}

TEST(replies, errors_carry_no_structured_content_and_need_none) {
    replies r([](context& ctx) { return ctx.error("x").structured(R"({"wrong":1})"); },
              R"({"type":"object","required":["a"]})");
    for (const char* version : all_versions) {
        const parsed p = r.call(version);
        EXPECT_TRUE(p["result"]["isError"].boolean());
        EXPECT_FALSE(p["result"]["structuredContent"].exists());
    }
}

TEST(replies, structured_content_that_is_no_object_goes_to_modern_clients_only) {
    for (const char* value : {"null", "[1]", "7", "\"s\"", "false"}) {
        replies r([value](context& ctx) { return ctx.result().structured(value); },
                  R"({"$comment":"any"})");
        for (const char* version : all_versions) {
            const parsed p = r.call(version);
            EXPECT_EQ(p.text(), value);
            EXPECT_EQ(p["result"]["structuredContent"].exists(),
                      std::string_view(version) == "2026-07-28")
                << p.raw();
        }
    }
}

TEST(replies, a_broken_promise_is_an_internal_error) {
    const char* wants = R"({"type":"object","required":["a"]})";
    for (const char* value : {"{}", "[]", "{", ""}) {
        replies r([value](context& ctx) { return ctx.result().structured(value); }, wants);
        const parsed p = r.call("2025-11-25");
        EXPECT_EQ(p.code(), -32603) << value;
        EXPECT_EQ(p["error"]["message"].str(), "Internal error");
    }
    replies none([](context& ctx) { return ctx.text("no structure"); }, wants);
    EXPECT_EQ(none.call("2026-07-28").code(), -32603);
}

TEST(replies, bad_utf8_is_replaced_and_control_characters_are_escaped) {
    replies r([](context& ctx) {
        return ctx.result().text("a\xFF\xC0z\n\r\t\x01\xE2\x80\xA8").link("u:\xFE", "\xFF\n");
    });
    for (const char* version : all_versions) {
        const parsed p = r.call(version);
        EXPECT_EQ(p.text(), "a\xEF\xBF\xBD\xEF\xBF\xBDz\n\r\t\x01\xE2\x80\xA8");
        EXPECT_EQ(p.raw().find_first_of("\n\r\t"), std::string::npos);
    }
}

TEST(replies, meta_is_rendered_anew_on_one_line) {
    replies r([](context& ctx) {
        return ctx.text("x")
            .meta("a.b/c", "{\n \"x\" : 1.0 }")
            .meta("broken", "{\"x\":\n")
            .meta("k\n", "true");
    });
    for (const char* version : all_versions) {
        const parsed p = r.call(version);
        const json::view meta = p["result"]["_meta"];
        EXPECT_EQ(meta["a.b/c"]["x"].number_text(), "1.0");
        EXPECT_TRUE(meta["broken"].is_null());
        EXPECT_TRUE(meta["k\n"].boolean());
        EXPECT_EQ(meta["io.modelcontextprotocol/serverInfo"].exists(),
                  std::string_view(version) == "2026-07-28");
    }
}

TEST(replies, modern_results_are_complete_and_say_who_answered) {
    replies r([](context& ctx) { return ctx.text("x"); });
    for (const char* version : all_versions) {
        const parsed p = r.call(version);
        const bool modern = std::string_view(version) == "2026-07-28";
        EXPECT_EQ(p["result"]["resultType"].str(), modern ? "complete" : "");
        EXPECT_EQ(p["result"]["_meta"].exists(), modern);
        EXPECT_FALSE(p["result"]["ttlMs"].exists());
    }
}

TEST(replies, data_of_errors_is_merged_with_the_request_id) {
    struct row {
        const char* data;
        const char* key;
        const char* value;  // as text; "" when it must be missing
    };
    const row rows[] = {
        {"", "a", ""},
        {"{}", "a", ""},
        {R"({"c":1})", "c", ""},
        {R"({"requestId":"x","a":2})", "a", "2"},
        {"{ }", "a", ""},
        {"{ \"a\" :\n 1 }", "a", "1"},
        {R"({"uri":"u:/x/y","reason":"at /x/y"})", "uri", "\"u:/x/y\""},
        {R"({"uri":"u:/x/y","reason":"at /x/y"})", "reason", "\"at [removed]\""},
        {R"({"a":"x","b":{}})", "b", "{}"},
        {"[1, 2]", "value", ""},
        {"7", "value", ""},
        {"{broken", "a", ""},
        {"}{", "a", ""},
    };
    for (const row& want : rows) {
        replies r([&](context& ctx) { return ctx.rpc_error(1234, "m\xFF\n at x", want.data); });
        const parsed p = r.call("2026-07-28");
        SCOPED_TRACE(p.raw());
        EXPECT_EQ(p.code(), 1234);
        EXPECT_EQ(p["error"]["message"].str(), "m\xEF\xBF\xBD");
        EXPECT_TRUE(p["error"]["data"]["requestId"].is_string());
        base::chunk_pool pool;
        base::byte_buffer text(pool);
        const json::view got = p["error"]["data"][want.key];
        if (got.exists()) {
            json::writer(text).value(got);
        }
        EXPECT_EQ(text.view(), want.value);
    }
}

// STANDARD row 80: what the model can read for newer clients, data of an error for older ones; both
// name all faults.
TEST(replies, arguments_that_do_not_fit_by_revision) {
    world_options o;
    o.more = [](server& s) {
        s.tool("weather")
            .input(object()
                       .required("city", string().min(2))
                       .required("days", integer().max(14))
                       .optional("units", string().one_of({"metric", "imperial"})))
            .run([](context& ctx) { return ctx.text("sunny"); });
    };
    world w(o);
    const char* const bad = R"({"city":"x","units":"SECRET","cty":1})";
    for (const char* version : {"2025-11-25", "2026-07-28"}) {
        const bool modern = std::string_view(version) == "2026-07-28";
        const parsed p = w.connect().ask_message(
            modern ? modern_call("1", "weather", bad)
                   : legacy_call(w.open_session(version), "1", "weather", bad));
        EXPECT_TRUE(p["result"]["isError"].boolean()) << p.raw();
        EXPECT_EQ(p["result"]["content"][0]["text"].str(),
                  "Invalid arguments: /city: is too short; characters at least: 2; /units: is none "
                  "of the allowed values: \"metric\", \"imperial\"; /cty: is not a known property; "
                  "known: city, days, units; /days: is required");
    }
    for (const char* version : {"2024-11-05", "2025-06-18"}) {
        const parsed p =
            w.connect().ask_message(legacy_call(w.open_session(version), "1", "weather", bad));
        EXPECT_EQ(p.code(), -32602) << p.raw();
        const json::view data = p["error"]["data"];
        EXPECT_EQ(data["field"].str(), "/city");
        EXPECT_EQ(data["reason"].str(), "range");
        ASSERT_EQ(data["errors"].size(), 4U);
        EXPECT_EQ(data["errors"][3]["field"].str(), "/days");
        EXPECT_EQ(data["errors"][3]["reason"].str(), "required");
        EXPECT_EQ(data["errors"][3]["message"].str(), "is required");
        EXPECT_EQ(p.raw().find("SECRET"), std::string::npos);
    }
}

TEST(replies, a_missing_capability_by_era) {
    world w;
    const http_reply r = w.connect().ask(modern_call("1", "needy"));
    EXPECT_EQ(r.status, 400);
    const parsed p(r.message());
    EXPECT_EQ(p.code(), -32021);
    EXPECT_NE(p.raw().find(R"("requiredCapabilities":{"sampling":{"tools":{}}})"),
              std::string::npos);
    const parsed old =
        w.connect().ask_message(legacy_call(w.open_session("2025-11-25"), "1", "needy"));
    EXPECT_TRUE(old["result"]["isError"].boolean());
}

TEST(replies, completions_are_capped_at_a_hundred) {
    world w;
    const std::string params =
        R"("ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":"n"})";
    const parsed p = w.connect().ask_message(
        modern_post("completion/complete", "", modern_body("1", "completion/complete", params)));
    const json::view c = p["result"]["completion"];
    EXPECT_EQ(c["values"].size(), 100U);
    EXPECT_EQ(c["values"][std::size_t{99}].str(), "n99");
    EXPECT_EQ(c["total"].i64(), 150);
    EXPECT_TRUE(c["hasMore"].boolean());
}

TEST(replies, prompts_and_resources_by_revision) {
    world w;
    for (const char* version : all_versions) {
        const bool modern = std::string_view(version) == "2026-07-28";
        client& c = w.connect();
        const std::string session = modern ? "" : w.open_session(version);
        const auto ask = [&](const char* method, const char* name, const std::string& params) {
            return modern
                       ? c.ask_message(modern_post(method, name, modern_body("1", method, params)))
                       : c.ask_message(legacy_post(session, message("1", method, params)));
        };
        const parsed prompt =
            ask("prompts/get", "greet", R"("name":"greet","arguments":{"name":"Bo"})");
        EXPECT_EQ(prompt["result"]["description"].str(), "Greets");
        EXPECT_EQ(prompt["result"]["messages"][std::size_t{1}]["role"].str(), "assistant");
        EXPECT_EQ(prompt["result"]["messages"][std::size_t{1}]["content"]["text"].str(), "Bo");
        const parsed item =
            ask("resources/read", "test://item/7%20x", R"("uri":"test://item/7%20x")");
        const json::view body = item["result"]["contents"][std::size_t{0}];
        EXPECT_EQ(body["text"].str(), "7 x");
        EXPECT_EQ(body["mimeType"].str(), "text/plain");
        EXPECT_EQ(item["result"]["ttlMs"].exists(), modern);
        EXPECT_EQ(item["result"]["cacheScope"].str(), modern ? "private" : "");
        const parsed none =
            ask("resources/read", "test://item/none", R"("uri":"test://item/none")");
        EXPECT_EQ(none.code(), modern ? -32602 : -32002);
        EXPECT_EQ(none["error"]["data"]["uri"].str(), "test://item/none");
        const parsed foreign = ask("resources/read", "other://x", R"("uri":"other://x")");
        EXPECT_EQ(foreign.code(), modern ? -32602 : -32002);
    }
}

}  // namespace
}  // namespace pillion::mcp::testing
