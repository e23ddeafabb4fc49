#include "mcp/conventions.hpp"

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "json/document.hpp"

namespace pillion::mcp {

namespace {

// `^[a-z][a-z0-9_]{1,63}$`
bool is_snake_case(std::string_view name) noexcept {
    constexpr std::size_t bytes_min = 2;
    constexpr std::size_t bytes_max = 64;
    const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
    return name.size() >= bytes_min && name.size() <= bytes_max && is_lower(name[0]) &&
           std::all_of(name.begin(), name.end(),
                       [&](char c) { return is_lower(c) || base::is_digit(c) || c == '_'; });
}

std::string lower_case(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(), base::to_lower);
    return out;
}

bool has_word(std::string_view text, std::string_view word) noexcept {
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        if ((at == 0 || !base::is_alnum(text[at - 1])) &&
            (end == text.size() || !base::is_alnum(text[end]))) {
            return true;
        }
    }
    return false;
}

// "Risk: high", "low risk", "medium-risk operation": which one it is must be read by people.
bool names_risk(std::string_view description) {
    const std::string text = lower_case(description);
    return has_word(text, "risk") &&
           (has_word(text, "low") || has_word(text, "medium") || has_word(text, "high"));
}

void check_input(const detail::tool_definition& d, const std::string& where,
                 std::vector<finding>& to) {
    if (d.input_json.empty()) {
        return;
    }
    const auto parsed = json::document::parse(d.input_json);
    if (!parsed) {
        return;  // the registry says so
    }
    const json::view root = parsed->root();
    const json::view others = root["additionalProperties"];
    if (!others.is_bool() || others.boolean()) {
        to.emplace_back(false, where + ": the input schema should say additionalProperties: false");
    }
    for (const json::member m : root["properties"].members()) {
        if (m.value["description"].str().empty()) {
            to.emplace_back(false, where + ": the argument \"" + std::string(m.key) +
                                       "\" should have a description");
        }
    }
}

// What is missing of what a tool tells of its effects outside; empty: nothing.
std::string untold(const external_effects& of) {
    const std::pair<const char*, const std::string*> all[] = {{"idempotency", &of.idempotency},
                                                              {"retries", &of.retries},
                                                              {"timeout", &of.timeout},
                                                              {"audit", &of.audit},
                                                              {"approval", &of.approval}};
    std::string names;
    for (const auto& [name, text] : all) {
        if (text->empty()) {
            names.append(names.empty() ? "" : ", ").append(name);
        }
    }
    return names;
}

// STANDARD row 75. Which effects are outside only the tool knows: it says open_world(), or
// external().
void check_effects_outside(const detail::tool_definition& d, const std::string& where,
                           std::vector<finding>& to) {
    const bool changes = d.open_world.value_or(false) && !d.read_only.value_or(false);
    if (!d.effects.outside && !changes) {
        return;
    }
    const std::string missing = untold(d.effects.outside.value_or(external_effects{}));
    if (!missing.empty()) {
        to.emplace_back(true, where +
                                  ": may change things outside of this server, so external() must "
                                  "tell of them; missing: " +
                                  missing);
    }
}

void check_tool(const detail::tool_definition& d, std::vector<finding>& to) {
    const std::string where = "tool \"" + d.name + "\"";
    if (!is_snake_case(d.name)) {
        to.emplace_back(true, where + ": a name is 2 to 64 of a-z, 0-9 and _, a letter first");
    }
    if (d.description.empty()) {
        to.emplace_back(true, where + ": needs a description");
    } else if (!d.read_only.value_or(false) && !d.effects.risk && !names_risk(d.description)) {
        to.emplace_back(true, where +
                                  ": may change things (it is not read_only()), so it must say its "
                                  "risk(), or its description tell the effects and the risk, such "
                                  "as \"Risk: low\", \"Risk: medium\" or \"Risk: high\"");
    }
    check_effects_outside(d, where, to);
    if (d.title.empty()) {
        to.emplace_back(false, where + ": should have a title");
    }
    check_input(d, where, to);
}

// A scheme holds no "_" (RFC 3986 §3.1).
std::string scheme_of_server(std::string_view name) {
    std::string scheme = lower_case(name);
    std::replace(scheme.begin(), scheme.end(), '_', '-');
    return scheme;
}

constexpr std::string_view common_uris[] = {"use://auth", "use://http-headers", "project://version",
                                            "doc://readme"};

}  // namespace

bool is_own_uri(std::string_view uri, std::string_view server_name) noexcept {
    const std::size_t end = uri.find("://");
    if (end == uri.npos) {
        return false;
    }
    const std::string_view scheme = uri.substr(0, end);
    const auto same = [](char a, char b) {
        return base::to_lower(a) == (b == '_' ? '-' : base::to_lower(b));
    };
    if (std::equal(scheme.begin(), scheme.end(), server_name.begin(), server_name.end(), same)) {
        return true;
    }
    return std::find(std::begin(common_uris), std::end(common_uris), uri) != std::end(common_uris);
}

std::vector<finding> check_conventions(const detail::definitions& from) {
    std::vector<finding> found;
    // Those that are new are about this.
    std::size_t known = 0;
    const auto about = [&found, &known](const char* section, const std::string& name) {
        for (; known < found.size(); ++known) {
            found[known].section = section;
            found[known].name = name;
        }
    };
    for (const auto& tool : from.tools) {
        check_tool(*tool, found);
        about("tools", tool->name);
    }
    for (const auto& prompt : from.prompts) {
        if (prompt->description.empty()) {
            found.emplace_back(false, "prompt \"" + prompt->name + "\": should have a description");
        }
        about("prompts", prompt->name);
    }
    for (const auto& resource : from.resources) {
        if (!is_own_uri(resource->uri, from.info.name)) {
            found.emplace_back(true, "resource \"" + resource->uri + "\": its scheme must be " +
                                         scheme_of_server(from.info.name) +
                                         "://, or it is use://auth, use://http-headers, "
                                         "project://version or doc://readme");
        }
        about("resources", resource->uri);
    }
    return found;
}

}  // namespace pillion::mcp
