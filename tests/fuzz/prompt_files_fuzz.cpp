// Any bytes: a prompt in a file. It is read, and then each place in it is one of its arguments; or
// it is refused, with places inside of it.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "app/prompt_files.hpp"
#include "base/utf8.hpp"
#include "json/document.hpp"
#include "sidecar/tool_names.hpp"

using namespace pillion;

namespace {

void require(bool fact) {
    if (!fact) {
        std::abort();
    }
}

void check(const sidecar::prompt_file& made) {
    require(sidecar::is_tool_name(made.name));
    require(!made.messages.empty() && made.messages.size() <= sidecar::prompt_file::messages_max);
    json::builder arguments;
    arguments.begin_object();
    for (const sidecar::prompt_argument& one : made.arguments) {
        require(sidecar::is_tool_name(one.name));
        arguments.member(one.name, "{{" + one.name + "}}");
    }
    arguments.end_object();
    const auto given = json::document::parse(arguments.text());
    for (const sidecar::prompt_message& message : made.messages) {
        require(!message.parts.empty());
        for (const sidecar::prompt_part& part : message.parts) {
            require(part.argument == sidecar::prompt_part::no_argument ||
                    part.argument < made.arguments.size());
        }
        require(base::utf8::validate(sidecar::prompt_text(made, message, given->root())));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    sidecar::prompt_file made;
    app::config_faults faults;
    const bool good = app::read_prompt_file("name", text, made, faults);
    require(good == faults.empty());
    if (good) {
        check(made);
    }
    const auto lines = static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n')) + 2;
    for (const app::config_fault& one : faults) {
        require(one.at.line >= 1 && one.at.line <= lines);
        require(!one.text.empty() && one.text.find('\n') == one.text.npos);
    }
    return 0;
}
