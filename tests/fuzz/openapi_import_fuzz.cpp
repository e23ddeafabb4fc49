// Any bytes: an OpenAPI description; of a first line that ends in '!' the words are patterns to
// include. What is imported can be registered and called: names are names, each apart, each schema
// compiles, each place of a template is an argument. What is not says why, on one line.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "base/utf8.hpp"
#include "json/document.hpp"
#include "schema/validator.hpp"
#include "sidecar/openapi_import.hpp"
#include "sidecar/text_template.hpp"
#include "sidecar/tool_names.hpp"

using namespace pillion;
using namespace pillion::sidecar;

namespace {

void require(bool fact) {
    if (!fact) {
        std::abort();
    }
}

bool has(json::view list, std::string_view name) {
    for (const json::view one : list.elements()) {
        if (one.str() == name) {
            return true;
        }
    }
    return false;
}

// The places of `text` are properties; where they cannot be missing, they are required.
void check_template(const std::string& text, bool may_vanish, json::view input) {
    text_template parsed;
    std::string fault;
    require(text_template::parse(text, parsed, fault));
    for (const template_part& part : parsed.parts()) {
        if (part.argument) {
            require(input["properties"][part.text].exists());
            require(may_vanish || has(input["required"], part.text));
        }
    }
}

void check_tool(const imported_tool& tool) {
    require(is_tool_name(tool.name));
    require(!tool.description.empty() && base::utf8::validate(tool.description));
    const auto input = json::document::parse(tool.input_json);
    require(static_cast<bool>(input));
    require(input->root()["type"].str() == "object");
    std::string fault;
    require(schema_check::validator::compile(input->root(), fault) != nullptr);
    const http_spec& http = tool.http;
    require(http.path.starts_with('/') && http.path.find_first_of(" ?#\r\n") == http.path.npos);
    check_template(http.path, false, input->root());
    for (const auto* const list : {&http.query, &http.headers}) {
        for (const auto& [name, text] : *list) {
            require(!name.empty() && text.find_first_of("\r\n") == text.npos);
            check_template(text, true, input->root());
        }
    }
    for (const auto& [name, text] : http.headers) {
        require(name.find_first_of(" :\r\n") == name.npos);
    }
    require(http.content_type.find_first_of("\r\n") == http.content_type.npos);
    if (http.sends == http_spec::body_kind::one) {
        require(input->root()["properties"][http.body].exists());
    } else if (http.sends == http_spec::body_kind::text) {
        check_template(http.body, false, input->root());
    }
}

void check(std::string_view text, const import_options& how) {
    openapi_import made;
    std::string fault;
    const bool good = import_openapi(text, how, made, fault);
    require(good == fault.empty());
    require(made.tools.size() + made.skipped + made.not_asked == made.operations || !good);
    std::set<std::string> names;
    for (const imported_tool& tool : made.tools) {
        check_tool(tool);
        require(names.insert(tool.name).second);
    }
    for (const import_note& note : made.notes) {
        require(!note.reason.empty());
        require(describe(note).find_first_of("\r\n") == std::string::npos);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    import_options how;
    const std::size_t line = text.find('\n');
    if (line != text.npos && line > 0 && text[line - 1] == '!') {
        for (std::string_view words = text.substr(0, line - 1); !words.empty();) {
            const std::size_t end = std::min(words.find(','), words.size());
            how.include.emplace_back(words.substr(0, end));
            words.remove_prefix(std::min(end + 1, words.size()));
        }
        how.prefix = "p_";
        how.rename = {{"GET /**", "renamed"}};
        text.remove_prefix(line + 1);
    }
    check(text, how);
    return 0;
}
