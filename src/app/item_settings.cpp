#include "app/item_settings.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include "app/config_keys_tools.hpp"
#include "app/values_of.hpp"

namespace pillion::app {

namespace {

std::optional<std::size_t> count_of(const config_value& value) {
    return value.given ? std::optional(static_cast<std::size_t>(value.number)) : std::nullopt;
}

std::optional<risk_level> risk_of(const config_value& value) {
    if (!value.given) {
        return std::nullopt;
    }
    return value.text() == "low"      ? risk_level::low
           : value.text() == "medium" ? risk_level::medium
                                      : risk_level::high;
}

external_effects external_of(const config_value& value) {
    const values_of<external_key> say(value.inside);
    external_effects to;
    to.idempotency = say.text(external_key::idempotency);
    to.retries = say.text(external_key::retries);
    to.timeout = say.text(external_key::timeout);
    to.audit = say.text(external_key::audit);
    to.approval = say.text(external_key::approval);
    return to;
}

}  // namespace

std::vector<icon> icons_of(key_reader& from, const config_value& value, const std::string& whose) {
    std::vector<icon> to;
    for (const config_value& one : value.inside) {
        const values_of<icon_key> say(one.inside);
        if (say[icon_key::src].given) {
            to.emplace_back(say.text(icon_key::src), say.text(icon_key::mime_type),
                            say[icon_key::sizes].texts, say.text(icon_key::theme));
        } else {
            from.fault_at(one.places[0], whose + ".icons: each needs src");
        }
    }
    return to;
}

detail::operator_limits operator_word_of(key_reader& from, const named_values& tool) {
    const values_of<tool_key> say(tool.values);
    detail::operator_limits to;
    to.tool = tool.name;
    if (const auto ms = count_of(say[tool_key::timeout])) {
        to.timeout = std::chrono::milliseconds(*ms);
    }
    to.concurrent = count_of(say[tool_key::concurrent]);
    to.queue = count_of(say[tool_key::queue]);
    to.per_second = count_of(say[tool_key::rate]);
    to.burst = count_of(say[tool_key::rate_burst]);
    to.effects.risk = risk_of(say[tool_key::risk]);
    to.effects.here = say.text(tool_key::side_effects);
    if (say[tool_key::external].given) {
        to.effects.outside = external_of(say[tool_key::external]);
    }
    to.icons = icons_of(from, say[tool_key::icons], "tools." + tool.name);
    return to;
}

void read_icons_of(key_reader& from, const named_values& one, settings& to) {
    if (one.section != "prompts" && one.section != "resources") {
        return;
    }
    const values_of<shown_key> say(one.values);
    if (say[shown_key::icons].given) {
        detail::operator_icons made;
        made.of_prompt = one.section == "prompts";
        made.name = one.name;
        made.icons = icons_of(from, say[shown_key::icons], one.section + "." + one.name);
        to.icons.push_back(std::move(made));
    }
}

}  // namespace pillion::app
