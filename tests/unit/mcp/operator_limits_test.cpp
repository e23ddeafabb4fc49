// operator_limits: what the operator says of things wins over what their definitions say, key by
// key. The limits themselves are tested where they count (limits_test).
#include "mcp/operator_limits.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/server_state.hpp"
#include "json/document.hpp"
#include "mcp/render.hpp"
#include "mcp/revision.hpp"
#include "unit/mcp/idle_handlers.hpp"

namespace pillion::mcp {
namespace {

using testing::no_prompt;
using testing::nothing;

constexpr revision latest = static_cast<revision>(revisions - 1);

std::string description_of(const detail::tool_definition& of, revision r = latest) {
    const auto made = json::document::parse(render_tool(of, false, r));
    return std::string(made->root()["description"].str());
}

// STANDARD rows 73, 74, 75
TEST(operator_limits, effects_stand_behind_the_description_in_every_revision) {
    server s("n", "1");
    external_effects outside;
    outside.idempotency = "the argument key";
    outside.retries = "with the same key";
    outside.timeout = "unknown, look it up";
    outside.audit = "order.placed in the log of orders";
    outside.approval = "the user's";
    s.tool("order")
        .about("Places an order.")
        .side_effects("takes money")
        .risk(risk_level::high)
        .external(outside)
        .deprecated("2027-03-31")
        .run(nothing);
    for (std::size_t i = 0; i < revisions; ++i) {
        EXPECT_EQ(description_of(*s.state().defs.tools[0], static_cast<revision>(i)),
                  "[DEPRECATED] To be removed after 2027-03-31. Places an order.\n"
                  "Side effects: takes money\nRisk: high\nIdempotency: the argument key\n"
                  "Retries: with the same key\nTimeout: unknown, look it up\n"
                  "Audit: order.placed in the log of orders\nApproval: the user's");
    }
}

TEST(operator_limits, effects_win_key_by_key) {
    server s("n", "1");
    external_effects outside;
    outside.audit = "a";
    outside.retries = "r";
    s.tool("x").about("X.").side_effects("s").risk(risk_level::low).external(outside).run(nothing);
    s.tool("y").run(nothing);
    detail::operator_limits said;
    said.tool = "x";
    said.effects.risk = risk_level::medium;
    said.effects.outside.emplace().audit = "b";
    s.state().defs.operators.push_back(said);
    said.tool = "y";
    said.effects.here = "all";
    s.state().defs.operators.push_back(said);
    std::vector<std::string> warnings;
    apply_operator_limits(s.state().defs, warnings);
    EXPECT_TRUE(warnings.empty());
    EXPECT_EQ(description_of(*s.state().defs.tools[0]),
              "X.\nSide effects: s\nRisk: medium\nRetries: r\nAudit: b");
    EXPECT_EQ(description_of(*s.state().defs.tools[1]),
              "Side effects: all\nRisk: medium\nAudit: b");
}

TEST(operator_limits, icons_stand_in_place_of_others) {
    server s("n", "1");
    s.tool("t").add_icon(icon("https://old.example/i.png")).run(nothing);
    s.tool("u").add_icon(icon("https://old.example/i.png")).run(nothing);
    s.prompt("p").add_icon(icon("https://old.example/i.png")).run(no_prompt);
    s.resource("x://r").name("r").text("r");
    detail::definitions& all = s.state().defs;
    const std::vector<icon> icons = {icon("https://new.example/i.png", "", {"any"}, "dark")};
    detail::operator_limits& tool = all.operators.emplace_back();
    tool.tool = "t";
    tool.icons = icons;
    all.operators.emplace_back().tool = "u";
    all.icons = {{true, "p", icons}, {false, "x://r", icons}, {true, "none", icons}};
    std::vector<std::string> warnings;
    apply_operator_limits(all, warnings);
    apply_operator_icons(all, warnings);
    EXPECT_EQ(warnings, std::vector<std::string>{"prompts.none.icons: there is nothing of that "
                                                 "name"});
    const auto source = [](const std::vector<icon>& of) { return of.at(0).src; };
    EXPECT_EQ(source(all.tools[0]->icons), "https://new.example/i.png");
    EXPECT_EQ(source(all.tools[1]->icons), "https://old.example/i.png");
    EXPECT_EQ(source(all.prompts[0]->icons), "https://new.example/i.png");
    EXPECT_EQ(source(all.resources[0]->icons), "https://new.example/i.png");
}

}  // namespace
}  // namespace pillion::mcp
