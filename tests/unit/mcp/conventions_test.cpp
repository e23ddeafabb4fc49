#include "mcp/conventions.hpp"

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "app/server_state.hpp"
#include "mcp/error_map.hpp"
#include "mcp/registry.hpp"
#include "unit/mcp/idle_handlers.hpp"

namespace pillion::mcp {
namespace {

using testing::nothing;

// What a corporate server named "my_shop" is refused for; "" when it starts.
std::string refused(const std::function<void(server&)>& fill) {
    server s("my_shop", "1");
    s.profile(server_profile::corporate);
    fill(s);
    std::string fault;
    std::vector<std::string> warnings;
    const auto made = registry::freeze(s.state().defs, fault, warnings);
    EXPECT_EQ(made == nullptr, !fault.empty());
    // The same is good enough for everybody else.
    s.profile(server_profile::generic);
    std::string none;
    EXPECT_NE(registry::freeze(s.state().defs, none, warnings), nullptr) << none;
    return fault;
}

std::string with_name(const std::string& name) {
    return refused([&](server& s) { s.tool(name).about("x").read_only().run(nothing); });
}
std::string with_description(const char* text) {
    return refused([&](server& s) { s.tool("change").about(text).run(nothing); });
}
std::string with_uri(const char* uri) {
    return refused([&](server& s) { s.resource(uri).name("r").text("x"); });
}

// STANDARD row 68
TEST(conventions, names_of_tools_are_snake_case) {
    for (const char* good : {"ab", "a1", "get_weather", "a_",
                             "x23456789012345678901234567890123456"
                             "7890123456789012345678901234"}) {
        EXPECT_EQ(with_name(good), "") << good;
    }
    for (const char* bad : {"a", "Ab", "get-weather", "get.weather", "1a", "_a", "größe", "a b",
                            "x234567890123456789012345678901234567890123456789012345678901234+"}) {
        EXPECT_NE(with_name(bad).find(bad), std::string::npos) << bad;
    }
    EXPECT_NE(with_name(std::string(65, 'a')), "");
}

// STANDARD rows 69, 73, 74
TEST(conventions, what_may_change_things_tells_its_risk) {
    EXPECT_NE(with_description(""), "");
    EXPECT_NE(with_description("Deletes the file."), "");
    EXPECT_NE(with_description("Deletes a slow asterisk."), "");
    EXPECT_NE(with_description("At your own risk."), "");
    for (const char* good :
         {"Deletes the file. Risk: high.", "Low risk: adds a line.", "Sends mail (medium-risk)."}) {
        EXPECT_EQ(with_description(good), "") << good;
    }
    EXPECT_EQ(refused([](server& s) { s.tool("look").about("Looks.").read_only().run(nothing); }),
              "");
}

// STANDARD rows 73, 74
TEST(conventions, a_risk_that_is_said_needs_no_words_for_it) {
    for (const risk_level level : {risk_level::low, risk_level::medium, risk_level::high}) {
        EXPECT_EQ(refused([level](server& s) {
                      s.tool("change").about("Changes.").risk(level).run(nothing);
                  }),
                  "");
    }
    // It stands behind a description and not in its place.
    EXPECT_NE(refused([](server& s) { s.tool("change").risk(risk_level::low).run(nothing); }), "");
}

external_effects all_told() {
    external_effects all;
    all.idempotency = "a key";
    all.retries = "none";
    all.timeout = "it may have happened";
    all.audit = "an event";
    all.approval = "nobody's";
    return all;
}

// STANDARD row 75
TEST(conventions, effects_outside_are_told_in_full) {
    const auto with = [](const std::function<void(tool_builder&)>& say) {
        return refused([&](server& s) {
            tool_builder t = s.tool("change");
            t.about("Changes.").risk(risk_level::low);
            say(t);
            t.run(nothing);
        });
    };
    EXPECT_NE(with([](tool_builder& t) {
                  t.open_world();
              }).find("missing: idempotency, retries, timeout, audit, approval"),
              std::string::npos);
    EXPECT_EQ(with([](tool_builder& t) { t.open_world().external(all_told()); }), "");
    EXPECT_EQ(with([](tool_builder& t) { t.external(all_told()); }), "");
    EXPECT_EQ(with([](tool_builder& t) { t.open_world(false); }), "");
    // Who only looks has none.
    EXPECT_EQ(with([](tool_builder& t) { t.open_world().read_only(); }), "");
    for (std::string external_effects::* const one :
         {&external_effects::idempotency, &external_effects::retries, &external_effects::timeout,
          &external_effects::audit, &external_effects::approval}) {
        external_effects part = all_told();
        (part.*one).clear();
        EXPECT_NE(with([&part](tool_builder& t) { t.external(part); }).find("missing: "),
                  std::string::npos);
    }
}

// STANDARD row 71
TEST(conventions, input_schemas_are_explicit_or_warned_of) {
    server s("shop", "1");
    s.tool("look")
        .title("Look")
        .about("Looks.")
        .read_only()
        .input(schema::raw(R"({"type":"object","properties":{"a":{"type":"string"}}})"))
        .run(nothing);
    const auto found = check_conventions(s.state().defs);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_FALSE(found[0].must);
    EXPECT_NE(found[0].text.find("additionalProperties"), std::string::npos);
    EXPECT_FALSE(found[1].must);
    EXPECT_NE(found[1].text.find("\"a\""), std::string::npos);
}

// STANDARD rows 84, 85
TEST(conventions, resources_have_the_scheme_of_their_server) {
    for (const char* good : {"my-shop://orders", "MY-SHOP://x", "use://auth", "doc://readme",
                             "project://version", "use://http-headers"}) {
        EXPECT_EQ(with_uri(good), "") << good;
    }
    for (const char* bad : {"shop://orders", "my_shop://x", "https://example.com/", "use://other",
                            "doc://readme/2", "project://", "file:///etc/passwd", "orders"}) {
        EXPECT_NE(with_uri(bad).find(bad), std::string::npos) << bad;
    }
}

TEST(conventions, all_that_is_wrong_is_said_at_once) {
    const std::string fault = refused([](server& s) {
        s.tool("Bad").about("x").read_only().run(nothing);
        s.resource("bad://x").name("r").text("x");
    });
    EXPECT_NE(fault.find("\"Bad\""), std::string::npos);
    EXPECT_NE(fault.find("\"bad://x\""), std::string::npos);
}

// A server that changes while it runs stays what it is.
TEST(conventions, hold_for_updates) {
    server s("shop", "1");
    s.profile(server_profile::corporate);
    s.tool("look").about("Looks.").read_only().run(nothing);
    std::string fault;
    EXPECT_FALSE(s.update([](catalog& all) { all.tool("Bad").about("x").read_only().run(nothing); },
                          &fault));
    EXPECT_NE(fault.find("\"Bad\""), std::string::npos);
    EXPECT_TRUE(
        s.update([](catalog& all) { all.tool("good").about("x").read_only().run(nothing); }));
}

// STANDARD row 94
TEST(error_map, every_code_has_its_status) {
    struct row {
        int code;
        int corporate;
    };
    for (const row& want :
         {row{-32700, 400}, row{-32600, 400}, row{-32601, 404}, row{-32602, 400}, row{-32603, 500},
          row{-32000, 500}, row{-32002, 404}, row{-32003, 429}, row{-32004, 504}, row{-32005, 413},
          row{-32006, 503}, row{-32007, 409}, row{1234, 200}}) {
        EXPECT_EQ(http_status_of(want.code, 200, true), want.corporate) << want.code;
        EXPECT_EQ(http_status_of(want.code, 200, false), 200) << want.code;
        // What was decided where it arose stands.
        EXPECT_EQ(http_status_of(want.code, 418, true), 418);
        EXPECT_EQ(http_status_of(want.code, 418, false), 418);
    }
}

TEST(error_map, rate_limits_may_be_told_without_a_code_of_our_own) {
    for (const bool modern : {false, true}) {
        for (const bool strict : {false, true}) {
            EXPECT_EQ(wire_code(-32003, modern, strict), modern && strict ? -32603 : -32003);
            EXPECT_EQ(wire_code(-32004, modern, strict), -32004);
        }
    }
}

}  // namespace
}  // namespace pillion::mcp
