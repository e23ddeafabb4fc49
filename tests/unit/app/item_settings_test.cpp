// item_settings: effects and icons as the configuration says them, of whatever has a name.
#include "app/item_settings.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/config_keys_tools.hpp"
#include "unit/app/config_cases.hpp"

namespace pillion::app {
namespace {

using testing::config_case;

struct item_case : config_case {
    settings made;

    explicit item_case(const std::string& text) {
        read(text);
        made = make_settings(keys, values, "/folder", false, faults);
    }
};

TEST(item_settings, effects_of_tools) {
    const item_case c(
        "tools:\n"
        "  order:\n"
        "    risk: high\n"
        "    side_effects: takes money\n"
        "    external: {idempotency: key, retries: none, timeout: unknown, audit: it, approval: "
        "all}\n"
        "  other: {timeout: 1s}\n");
    EXPECT_EQ(c.said(), "");
    ASSERT_EQ(c.made.tools.size(), 2U);
    const detail::tool_effects& effects = c.made.tools[0].effects;
    EXPECT_EQ(effects.risk, risk_level::high);
    EXPECT_EQ(effects.here, "takes money");
    ASSERT_TRUE(effects.outside.has_value());
    EXPECT_EQ(effects.outside->idempotency + "," + effects.outside->retries + "," +
                  effects.outside->timeout + "," + effects.outside->audit + "," +
                  effects.outside->approval,
              "key,none,unknown,it,all");
    const detail::operator_limits& other = c.made.tools[1];
    EXPECT_EQ(other.timeout, std::chrono::milliseconds(1000));
    EXPECT_FALSE(other.effects.risk || other.effects.outside);
    EXPECT_EQ(item_case("tools: {a: {risk: low}, b: {risk: medium}}").made.tools[1].effects.risk,
              risk_level::medium);
}

TEST(item_settings, icons_of_everything_that_is_shown) {
    const item_case c(
        "tools: {t: {icons: {src: 'https://x.example/t.png'}}}\n"
        "prompts: {p: {scopes: s, icons: [{src: 'data:image/png;base64,AAAA', mime_type: a/b,\n"
        "                                  sizes: [48x48, any], theme: dark},\n"
        "                                 {src: 'http://x.example/2', sizes: any}]}}\n"
        "resources: {'x://r': {icons: [{src: 'https://x.example/r.png'}]}}\n"
        "folders: {f: {path: d, icons: [{src: 'https://x.example/f.png', theme: light}]}}\n");
    EXPECT_EQ(c.said(), "");
    ASSERT_EQ(c.made.tools.size(), 1U);
    EXPECT_EQ(c.made.tools[0].icons, std::vector<icon>{icon("https://x.example/t.png")});
    ASSERT_EQ(c.made.icons.size(), 2U);
    EXPECT_TRUE(c.made.icons[0].of_prompt && c.made.icons[0].name == "p");
    EXPECT_EQ(
        c.made.icons[0].icons,
        (std::vector<icon>{icon("data:image/png;base64,AAAA", "a/b", {"48x48", "any"}, "dark"),
                           icon("http://x.example/2", "", {"any"})}));
    EXPECT_TRUE(!c.made.icons[1].of_prompt && c.made.icons[1].name == "x://r");
    ASSERT_EQ(c.made.guards.size(), 1U);  // scopes are scopes still
    EXPECT_EQ(c.made.guards[0].scopes, std::vector<std::string>{"s"});
    ASSERT_EQ(c.made.folders.size(), 1U);
    EXPECT_EQ(c.made.folders[0].icons,
              std::vector<icon>{icon("https://x.example/f.png", "", {}, "light")});
}

TEST(item_settings, faults_name_what_is_wrong_and_where) {
    struct row {
        const char* text;
        const char* said;
    };
    for (const row& r :
         {row{"tools: {a: {risk: much}}",
              "1:19: tools.a.risk: \"much\" is not low, medium or high\n"},
          row{"tools: {a: {side_effects: ''}}",
              "1:27: tools.a.side_effects: \"\" is not a text, not empty\n"},
          row{"tools: {a: {external: x}}", "1:23: tools.a.external: must be a mapping\n"},
          row{"tools: {a: {external: {retry: x}}}",
              "1:24: tools.a.external: unknown key \"retry\"; there are idempotency, retries, "
              "timeout, audit, approval\n"},
          row{"tools: {a: {icons: x}}", "1:20: tools.a.icons: must be a list of mappings\n"},
          row{"tools: {a: {icons: [{}, 1]}}",
              "1:25: tools.a.icons: must be a list of mappings\n"
              "1:21: tools.a.icons: each needs src\n"},
          row{"tools: {a: {icons: [{src: 'file:///x'}]}}",
              "1:27: tools.a.icons.src: \"file:///x\" is not an http(s) URL or "
              "data:image/...;base64,...\n"
              "1:21: tools.a.icons: each needs src\n"},
          row{"prompts: {a: {icons: {src: 'http://a', sizes: 48}}}",
              "1:47: prompts.a.icons.sizes: \"48\" is not a size such as 48x48, or any; put it in "
              "quotes\n"},
          row{"folders: {a: {path: x, icons: [{theme: light}]}}",
              "1:32: folders.a.icons: each needs src\n"},
          row{"methods: {ping: {icons: []}}",
              "1:18: methods.ping: unknown key \"icons\"; there are scopes\n"},
          row{"upstreams: {u: {url: 'http://a', hedge: 50ms, retries: 0}}",
              "1:41: upstreams.u.hedge: needs retries, of which it is one\n"}}) {
        EXPECT_EQ(item_case(r.text).said(), r.said) << r.text;
    }
}

}  // namespace
}  // namespace pillion::app
