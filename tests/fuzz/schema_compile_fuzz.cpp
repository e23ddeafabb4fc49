// Any bytes: a schema, with itself as a document it may refer to. What compiles judges itself, and
// twice in the same way; what does not says where and why. The first line alone is also a pattern,
// the rest a text: both ways of matching must agree.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/arena.hpp"
#include "base/chunk.hpp"
#include "base/utf8.hpp"
#include "json/document.hpp"
#include "schema/ecma_pattern.hpp"
#include "schema/formats.hpp"
#include "schema/plain_pattern.hpp"
#include "schema/regex.hpp"
#include "schema/validator.hpp"

using namespace pillion;
using namespace pillion::schema_check;

namespace {

void require(bool fact) {
    if (!fact) {
        std::abort();
    }
}

void try_schema(std::string_view text) {
    const auto parsed = json::document::parse(text);
    if (!parsed) {
        return;
    }
    const schema_document self{"https://x.test/self", parsed->root()};
    for (const bool draft7 : {false, true}) {
        compile_options how;
        how.assert_formats = true;
        how.draft7_by_default = draft7;
        how.documents = {&self, 1};
        std::string fault;
        const auto compiled = validator::compile(parsed->root(), fault, how);
        require((compiled == nullptr) == !fault.empty());
        if (compiled == nullptr) {
            require(fault.find('#') != std::string::npos && fault.find(": ") != std::string::npos);
            continue;
        }
        base::chunk_pool pool;
        base::arena memory(pool);
        report all;
        failure first;
        const bool holds = compiled->validate(parsed->root(), memory, all);
        require(holds == (all.count == 0));
        const bool again = compiled->validate(parsed->root(), memory, first);
        // Patterns are charged by the time they took, so near the limit two runs may differ.
        const bool limited =
            (!holds && all.errors[0].reason == "limit") || (!again && first.reason == "limit");
        require(limited || holds == again);
        require(again || !first.message.empty());
    }
}

void try_pattern(std::string_view pattern, std::string_view text) {
    translation spelt;
    std::string fault;
    const bool readable = translate_pattern(pattern, spelt, fault);
    require(readable == fault.empty());
    require(!readable || is_ecma_pattern(pattern));
    const auto compiled = regex::compile(pattern, fault);
    require(compiled == nullptr || readable);
    const auto plain = readable ? plain_pattern::make(spelt) : std::nullopt;
    if (compiled == nullptr || !plain) {
        return;
    }
    // An empty group makes it one that RE2 has to match.
    const auto other = regex::compile(std::string(pattern) + "(?:)", fault);
    if (other != nullptr) {
        require(plain->matches(text) == other->matches(text));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try_schema(text);
    if (base::utf8::validate(text)) {
        const std::string_view first = text.substr(0, text.find('\n'));
        const std::string_view rest = text.substr(std::min(first.size() + 1, text.size()));
        try_pattern(first, rest);
        for (const char* name :
             {"date-time", "date", "time", "duration", "email", "idn-email", "hostname",
              "idn-hostname", "ipv4", "ipv6", "uri", "uri-reference", "iri", "iri-reference",
              "uri-template", "uuid", "json-pointer", "relative-json-pointer", "regex"}) {
            find_format(name)(text);
        }
    }
    return 0;
}
