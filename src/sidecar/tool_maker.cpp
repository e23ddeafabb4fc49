#include "sidecar/tool_maker.hpp"

#include <utility>

#include <pillion/schema.hpp>

#include "sidecar/command_tool.hpp"
#include "sidecar/http_tool.hpp"

namespace pillion::sidecar {

bool check(const tool_spec& what, std::string& fault) {
    if (what.command && what.http) {
        fault = "is either a command or http, not both";
        return false;
    }
    return what.command ? check(*what.command, fault) : !what.http || check(*what.http, fault);
}

void add_tool(tool_builder to, const tool_spec& what) {
    const auto say = [&to](const std::optional<bool>& hint,
                           tool_builder& (tool_builder::*set)(bool)) {
        if (hint) {
            (to.*set)(*hint);
        }
    };
    if (!what.title.empty()) {
        to.title(what.title);
    }
    if (!what.description.empty()) {
        to.about(what.description);
    }
    if (!what.input_json.empty()) {
        to.input(schema::raw(what.input_json));
    }
    if (!what.output_json.empty()) {
        to.output(schema::raw(what.output_json));
    }
    if (what.read_only.value_or(false)) {
        to.read_only();
    }
    say(what.destructive, &tool_builder::destructive);
    say(what.idempotent, &tool_builder::idempotent);
    say(what.open_world, &tool_builder::open_world);
    if (!what.deprecated.empty()) {
        to.deprecated(what.deprecated, what.instead);
    }
    for (const icon& one : what.icons) {
        to.add_icon(one);
    }
    if (what.command) {
        to.run(command_handler(*what.command));
    } else {
        to.run(http_handler(*what.http));
    }
}

}  // namespace pillion::sidecar
