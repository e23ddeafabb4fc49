// Results that are larger than they may be: cut where that helps, kept whole for a while, refused
// elsewhere; and requests that hold more than they may. Never an abort, never a broken message.
#include <algorithm>

#include <gtest/gtest.h>

#include "base/base64.hpp"
#include "base/utf8.hpp"
#include "mcp/result_store.hpp"
#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {
namespace {

constexpr std::size_t limit = 32 * 1024;

// A world with one tool, prompt and resource, and small limits.
class limited_world {
 public:
    using body = std::function<tool_result(context&)>;

    explicit limited_world(body run, const char* output = nullptr,
                           std::function<void(service_options&)> set = {})
        : w(options(std::move(run), output, std::move(set))) {}

    // The whole HTTP reply to a call.
    http_reply call(std::string_view version) {
        return ask(version, "tools/call", "it", R"("name":"it","arguments":{})");
    }
    http_reply read(std::string_view version, std::string_view uri) {
        return ask(version, "resources/read", uri, R"("uri":")" + std::string(uri) + "\"");
    }
    http_reply ask(std::string_view version, std::string_view method, std::string_view name,
                   std::string_view params) {
        if (version == "2026-07-28") {
            return w.connect().ask(modern_post(method, name, modern_body("7", method, params)));
        }
        std::string& session = sessions_[std::string(version)];
        if (session.empty()) {
            session = w.open_session(version);
        }
        return w.connect().ask(legacy_post(session, message("7", method, params)));
    }
    // All parts behind a link, joined; contents that are bytes decoded.
    std::string whole(std::string_view version, std::string uri) {
        std::string all;
        while (!uri.empty()) {
            const http_reply r = read(version, uri);
            EXPECT_LE(r.body.size(), limit);
            const parsed p(r.message());
            EXPECT_TRUE(p["result"]["contents"].exists()) << p.raw().substr(0, 300);
            for (const json::view one : p["result"]["contents"].elements()) {
                EXPECT_EQ(one["uri"].str(), uri);
                EXPECT_FALSE(one["mimeType"].str().empty());
                all += one["text"].str();
                std::string bytes(one["blob"].str().size(), '\0');
                const auto size = base::base64::decode(one["blob"].str(), bytes.data());
                EXPECT_TRUE(size.has_value());
                all.append(bytes, 0, size.value_or(0));
            }
            uri = p["result"]["_meta"]["pillion/next"].str();
        }
        return all;
    }

    world w;

 private:
    static world_options options(body run, const char* output,
                                 std::function<void(service_options&)> set) {
        world_options o;
        o.more = [run = std::move(run), output](server& s) {
            auto t = s.tool("it");
            if (output != nullptr) {
                t.output(schema::raw(output));
            }
            t.run([run](context& ctx) { return run(ctx); });
        };
        o.set = [set = std::move(set)](service_options& to) {
            to.result_bytes_max = limit;
            if (set) {
                set(to);
            }
        };
        return o;
    }

    std::map<std::string, std::string> sessions_;
};

std::string long_text(std::size_t bytes) {
    std::string out;
    for (std::size_t i = 0; out.size() < bytes; ++i) {
        out += "line " + std::to_string(i) + " \"\xE2\x82\xAC\"\n";
    }
    return out;
}

// The URI in the last text of a result: "… All of it for 600 s: world://results/…"
std::string link_in(const parsed& p) {
    std::string uri;
    for (const json::view block : p["result"]["content"].elements()) {
        const std::string_view text = block["text"].str();
        const std::size_t at = text.rfind("world://results/");
        if (text.starts_with("[truncated") && at != text.npos) {
            uri = text.substr(at, text.find_first_of(" ]", at) - at);
        }
    }
    return uri;
}

// Refused: the end of a text was lost, and there was no way to get it.
TEST(result_limit, a_long_text_is_cut_and_the_whole_can_be_read) {
    const std::string text = long_text(3 * limit);
    limited_world l([&](context& ctx) { return ctx.text(text); });
    for (const char* version : all_versions) {
        const http_reply r = l.call(version);
        EXPECT_LE(r.body.size(), limit) << version;
        EXPECT_GE(r.body.size(), limit / 2);
        const parsed p(r.message());
        ASSERT_TRUE(p.good());
        EXPECT_EQ(p.code(), 0);
        EXPECT_FALSE(p["result"]["isError"].boolean());
        EXPECT_TRUE(p["result"]["_meta"]["truncated"].boolean());
        EXPECT_TRUE(text.starts_with(p.text()) && base::utf8::validate(p.text()));
        const std::string uri = link_in(p);
        ASSERT_FALSE(uri.empty()) << version;
        const json::view blocks = p["result"]["content"];
        const json::view last = blocks[blocks.size() - 1];
        const bool links = version >= std::string_view("2025-06-18");
        EXPECT_EQ(last["type"].str(), links ? "resource_link" : "text");
        EXPECT_EQ(last["uri"].str(), links ? uri : "");
        EXPECT_EQ(l.whole(version, uri), text) << version;
    }
}

TEST(result_limit, what_fits_exactly_is_whole) {
    std::size_t size = limit;
    limited_world l([&](context& ctx) { return ctx.text(std::string(size, 'x')); });
    const auto cut = [&] {
        const http_reply r = l.call("2026-07-28");
        EXPECT_LE(r.body.size(), limit) << size;
        return parsed(r.message())["result"]["_meta"]["truncated"].boolean();
    };
    EXPECT_TRUE(cut());
    for (size = limit - 4096; size < limit; size += 64) {
        cut();
    }
    size = limit - 4096;
    EXPECT_FALSE(cut());
}

TEST(result_limit, escapes_count) {
    // 20 KiB that take 120 KiB on the wire.
    limited_world l([](context& ctx) { return ctx.text(std::string(20 * 1024, '\x01')); });
    const http_reply r = l.call("2026-07-28");
    EXPECT_LE(r.body.size(), limit);
    const parsed p(r.message());
    EXPECT_TRUE(p["result"]["_meta"]["truncated"].boolean());
    EXPECT_EQ(l.whole("2026-07-28", link_in(p)), std::string(20 * 1024, '\x01'));
}

TEST(result_limit, bytes_are_left_out_whole_and_can_be_read) {
    std::string bytes;
    for (std::size_t i = 0; i < 2 * limit; ++i) {
        bytes += static_cast<char>(i * 7 + i / 256);
    }
    limited_world l([&](context& ctx) {
        return ctx.result().text("before ").image(bytes, "image/png").text("after");
    });
    for (const char* version : all_versions) {
        const parsed p(l.call(version).message());
        EXPECT_EQ(p.text(), "before ");
        EXPECT_EQ(p["result"]["content"][1]["text"].str(), "after");
        EXPECT_EQ(p.raw().find("\"image\""), std::string::npos);
        EXPECT_NE(p.raw().find("among them 1 content whole"), std::string::npos);
        EXPECT_EQ(l.whole(version, link_in(p)), "before " + bytes + "after");
    }
}

std::string big_object(std::size_t bytes = 2 * limit) {
    return R"({"n":1,"text":")" + std::string(bytes, 'x') + "\"}";
}

// Larger than the limit, and too large beside its twin text.
TEST(result_limit, a_structure_that_does_not_fit_is_flagged) {
    for (const std::size_t bytes : {2 * limit, limit - 5000}) {
        const std::string object = big_object(bytes);
        limited_world l([&](context& ctx) { return ctx.result().structured(object); });
        for (const char* version : {"2025-06-18", "2025-11-25", "2026-07-28"}) {
            const parsed p(l.call(version).message());
            EXPECT_TRUE(p["result"]["structuredContent"]["truncated"].boolean()) << version;
            EXPECT_FALSE(p["result"]["isError"].boolean());
            EXPECT_TRUE(object.starts_with(p.text()) && p.text().size() > limit / 2);
            EXPECT_EQ(l.whole(version, link_in(p)), object);
        }
        const parsed old(l.call("2025-03-26").message());
        EXPECT_FALSE(old["result"]["structuredContent"].exists());
        EXPECT_EQ(old["result"]["_meta"]["truncated"].boolean(), bytes > limit);
    }
}

TEST(result_limit, a_structure_that_was_promised_is_an_error_of_the_tool) {
    limited_world l([](context& ctx) { return ctx.result().structured(big_object()); },
                    R"({"type":"object","required":["n","text"]})");
    for (const char* version : {"2025-06-18", "2025-11-25", "2026-07-28"}) {
        const parsed p(l.call(version).message());
        EXPECT_FALSE(p["result"]["structuredContent"].exists());
        EXPECT_TRUE(p["result"]["isError"].boolean());
        EXPECT_EQ(l.whole(version, link_in(p)), big_object());
    }
}

TEST(result_limit, a_structure_that_fits_stays_when_the_rest_does_not) {
    limited_world l([](context& ctx) {
        return ctx.result().structured(R"({"n":1})").text(std::string(2 * limit, 'x'));
    });
    const parsed p(l.call("2025-11-25").message());
    EXPECT_EQ(p["result"]["structuredContent"]["n"].i64(), 1);
    EXPECT_TRUE(p["result"]["_meta"]["truncated"].boolean());
}

TEST(result_limit, only_who_got_it_may_read_it) {
    limited_world l([](context& ctx) { return ctx.text(std::string(2 * limit, 'x')); });
    const std::string modern = link_in(parsed(l.call("2026-07-28").message()));
    const std::string legacy = link_in(parsed(l.call("2025-06-18").message()));
    ASSERT_FALSE(modern.empty() || legacy.empty());
    for (const auto& [version, uri] : {std::pair<const char*, std::string>{"2026-07-28", legacy},
                                       {"2025-11-25", legacy},
                                       {"2025-11-25", modern},
                                       {"2026-07-28", modern + "x"},
                                       {"2026-07-28", modern + "?part=0"},
                                       {"2026-07-28", modern + "?part=99"},
                                       {"2026-07-28", modern + "?part=x"},
                                       {"2026-07-28", modern + "?port=1"},
                                       {"2026-07-28", "world://results/"}}) {
        const parsed p(l.read(version, uri).message());
        EXPECT_EQ(p.code(), std::string_view(version) == "2026-07-28" ? -32602 : -32002) << uri;
    }
    EXPECT_EQ(l.whole("2025-06-18", legacy).size(), 2 * limit);
    EXPECT_EQ(l.whole("2026-07-28", modern + "?part=1").size(), 2 * limit);
}

TEST(result_limit, the_whole_is_kept_for_a_while_and_in_bounds) {
    limited_world l([](context& ctx) { return ctx.text(std::string(2 * limit, 'x')); }, nullptr,
                    [](service_options& o) {
                        o.kept_result_ms = 5000;
                        o.kept_result_bytes_max = 5 * limit;
                    });
    std::vector<std::string> links;
    for (int i = 0; i < 3; ++i) {
        links.push_back(link_in(parsed(l.call("2026-07-28").message())));
    }
    EXPECT_EQ(parsed(l.read("2026-07-28", links[0]).message()).code(), -32602);
    EXPECT_EQ(l.whole("2026-07-28", links[2]).size(), 2 * limit);
    l.w.pass_ms(5001);
    EXPECT_EQ(parsed(l.read("2026-07-28", links[2]).message()).code(), -32602);
    l.w.pass_ms(40'000);
    EXPECT_EQ(l.w.service->results().count(), 0U);
}

TEST(result_limit, what_the_store_cannot_hold_is_cut_without_a_link) {
    limited_world l([](context& ctx) { return ctx.text(std::string(2 * limit, 'x')); }, nullptr,
                    [](service_options& o) { o.kept_result_bytes_max = limit; });
    const parsed p(l.call("2026-07-28").message());
    EXPECT_TRUE(p["result"]["_meta"]["truncated"].boolean());
    EXPECT_EQ(link_in(p), "");
    EXPECT_NE(p.raw().find("[truncated: "), std::string::npos);
}

TEST(result_limit, prompts_and_resources_are_refused) {
    world_options o;
    o.set = [](service_options& to) { to.result_bytes_max = limit; };
    o.more = [](server& s) {
        s.prompt("big").run([](context& ctx, json::view) -> task<prompt_result> {
            prompt_result out = ctx.prompt();
            out.user(std::string(2 * limit, 'x'));
            co_return out;
        });
        s.resource("test://big")
            .name("big")
            .run([](context& ctx, std::string_view uri) -> task<resource_result> {
                resource_result out = ctx.contents();
                out.blob(uri, "image/png", std::string(limit - 1024, 'x'));
                co_return out;
            });
    };
    world w(o);
    client& c = w.connect();
    for (const http_reply& r :
         {c.ask(modern_post("prompts/get", "big",
                            modern_body("1", "prompts/get", R"("name":"big")"))),
          c.ask(modern_post("resources/read", "test://big",
                            modern_body("1", "resources/read", R"("uri":"test://big")")))}) {
        EXPECT_EQ(r.status, 200);
        EXPECT_EQ(parsed(r.message()).code(), -32603);
        EXPECT_EQ(parsed(r.message())["error"]["data"]["reason"].str(), "too_large");
    }
    EXPECT_EQ(w.left(), "");
}

TEST(result_limit, holds_for_tasks_and_pipes) {
    world_options o;
    o.set = [](service_options& to) { to.result_bytes_max = limit; };
    o.more = [](server& s) {
        s.tool("it").as_task(task_support::optional).run([](context& ctx) {
            return ctx.text(std::string(2 * limit, 'x'));
        });
    };
    world w(o);
    pipe_end p(w);
    p.ask(initialize_body("2025-11-25"));
    const parsed plain = p.ask(call_body("1", "it"));
    EXPECT_LE(plain.raw().size(), limit);
    EXPECT_TRUE(plain["result"]["_meta"]["truncated"].boolean());
    // The status follows the answer.
    const parsed made =
        p.ask(message("2", "tools/call", call_params("it", "{}") + R"(,"task":{})"));
    const std::string id(made["params"]["taskId"].str());
    const parsed outcome = p.ask(message("3", "tasks/result", R"("taskId":")" + id + "\""));
    EXPECT_LE(outcome.raw().size(), limit);
    EXPECT_TRUE(outcome["result"]["_meta"]["truncated"].boolean());
    const std::string uri = link_in(outcome);
    EXPECT_TRUE(
        p.ask(message("4", "resources/read", R"("uri":")" + uri + "\""))["result"]["contents"]
            .exists());
}

// ---- what one request may hold ----

constexpr std::size_t memory = 256 * 1024;

void little_memory(service_options& o) { o.request_memory_bytes_max = memory; }

// A result of 5 GiB ended the process; one of 100 MiB took it all.
TEST(request_memory, a_result_beyond_it_is_cut) {
    for (const bool in_one : {true, false}) {
        limited_world l(
            [in_one](context& ctx) {
                const std::string text(2 * memory, 'x');
                return in_one ? ctx.text(text) : ctx.result().text("a").text(text).text("lost");
            },
            nullptr, little_memory);
        for (const char* version : all_versions) {
            const http_reply r = l.call(version);
            EXPECT_LE(r.body.size(), limit);
            const parsed p(r.message());
            EXPECT_TRUE(p["result"]["_meta"]["truncated"].boolean()) << version;
            EXPECT_GT(r.body.size(), limit / 2);
            EXPECT_EQ(link_in(p), "");
        }
    }
}

TEST(request_memory, bytes_and_structures_beyond_it_are_left_out) {
    {
        limited_world bytes(
            [](context& ctx) {
                return ctx.result().image(std::string(2 * memory, 'x'), "image/png");
            },
            nullptr, little_memory);
        const parsed p(bytes.call("2026-07-28").message());
        EXPECT_TRUE(p["result"]["_meta"]["truncated"].boolean());
        EXPECT_NE(p.text().find("left out"), std::string::npos);
    }
    limited_world object(
        [](context& ctx) {
            return ctx.result().structured(R"({"x":")" + std::string(2 * memory, 'x') + "\"}");
        },
        nullptr, little_memory);
    const parsed q(object.call("2026-07-28").message());
    EXPECT_TRUE(q["result"]["structuredContent"]["truncated"].boolean()) << q.raw();
}

TEST(request_memory, many_small_contents_end_somewhere) {
    limited_world l(
        [](context& ctx) {
            tool_result out = ctx.result();
            for (int i = 0; i < 50'000; ++i) {
                out.text("a content").meta("k", "1");
            }
            return out;
        },
        nullptr, little_memory);
    const http_reply r = l.call("2026-07-28");
    EXPECT_LE(r.body.size(), limit);
    EXPECT_TRUE(parsed(r.message())["result"]["_meta"]["truncated"].boolean());
}

TEST(request_memory, what_a_handler_cannot_keep_is_an_error_with_a_code) {
    limited_world l(
        [](context& ctx) {
            EXPECT_EQ(ctx.keep(std::string(2 * memory, 'x')), "");
            return ctx.text("done");
        },
        nullptr, little_memory);
    for (const char* version : all_versions) {
        const http_reply r = l.call(version);
        EXPECT_EQ(r.status, 200);
        EXPECT_EQ(parsed(r.message()).code(), -32603);
        EXPECT_EQ(parsed(r.message())["error"]["data"]["reason"].str(), "too_large");
    }
    EXPECT_EQ(l.w.left(), "");
}

// Lists what it was given.
class told_entries final : public resource_provider {
 public:
    explicit told_entries(std::string meta) : meta_(std::move(meta)) {}
    bool owns(std::string_view /*uri*/) const noexcept override { return false; }
    task<result<bool>> list(context& /*ctx*/, std::string_view after,
                            resource_page& page) override {
        resource_entry entry("told://1", "one");
        entry.meta = meta_;
        co_return !after.empty() || !page.add(entry);
    }
    task<resource_result> read(context& ctx, std::string_view /*uri*/) override {
        co_return ctx.not_found();
    }

 private:
    std::string meta_;
};

parsed listed_with(std::string meta) {
    world_options o;
    o.more = [&meta](server& s) { s.provide(std::make_shared<told_entries>(std::move(meta))); };
    o.set = [](service_options& to) { to.request_memory_bytes_max = memory; };
    world w(o);
    const std::string body = modern_body("7", "resources/list", "");
    return parsed(w.connect().ask(modern_post("resources/list", "", body)).message());
}

// An entry would have stood in the list without what it says.
TEST(request_memory, a_list_that_cannot_be_held_is_an_error) {
    const parsed good = listed_with(R"({"a":1})");
    EXPECT_NE(good.raw().find(R"("name":"one","_meta":{"a":1}})"), std::string::npos) << good.raw();
    const parsed p = listed_with(R"({"a":")" + std::string(2 * memory, 'x') + "\"}");
    EXPECT_EQ(p.code(), -32603);
    EXPECT_EQ(p["error"]["data"]["reason"].str(), "too_large");
}

TEST(request_memory, an_entry_s_meta_is_an_object_on_one_line_or_none) {
    for (const char* const bad : {"5", "{", "[1]", "{\"a\":1}}", "x"}) {
        EXPECT_EQ(listed_with(bad).raw().find("_meta\":{\"a"), std::string::npos) << bad;
        EXPECT_NE(listed_with(bad).raw().find(R"("name":"one"})"), std::string::npos) << bad;
    }
    EXPECT_NE(listed_with("{\n\"a\" : 1 }").raw().find(R"("_meta":{"a":1})"), std::string::npos);
}

constexpr std::size_t line_bytes = 10'000;
constexpr std::size_t lines = 300;

task<tool_result> says_much(context& ctx) {
    const std::string line = R"({"line":")" + std::string(line_bytes, 'x') + "\"}";
    for (std::size_t i = 0; i < lines; ++i) {
        co_await ctx.log_json(log_level::info, line);
    }
    co_return ctx.text("done");
}

// Each stayed in the request's memory, wanted or not: when that was full, what went out was no JSON
// and the result an error.
TEST(request_memory, log_messages_do_not_stay_in_it) {
    world_options o;
    o.more = [](server& s) { s.tool("says_much").run(&says_much); };
    o.set = [](service_options& to) { to.request_memory_bytes_max = 1024 * 1024; };
    world w(o);
    EXPECT_EQ(parsed(w.connect().ask(modern_call("1", "says_much")).message()).text(), "done");
    const http_reply r = w.connect().ask(modern_call("1", "says_much", "{}", log_level_info));
    EXPECT_EQ(parsed(r.message()).text(), "done");
    ASSERT_EQ(r.events.size(), lines + 1);
    for (std::size_t i = 0; i < lines; ++i) {
        const parsed said(r.events[i]);
        ASSERT_EQ(said["params"]["data"]["line"].str().size(), line_bytes) << i;
    }
    EXPECT_EQ(w.left(), "");
}

}  // namespace
}  // namespace pillion::mcp::testing
