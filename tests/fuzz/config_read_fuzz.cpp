// Any bytes: a configuration file. It is read, or refused with places inside of it; what the reader
// takes, the published schema takes as well; what a variable held is never said.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "app/config_schema.hpp"
#include "base/arena.hpp"
#include "base/chunk.hpp"
#include "json/document.hpp"
#include "schema/validator.hpp"
#include "unit/app/config_cases.hpp"

using namespace pillion;
using namespace pillion::app;

namespace {

void require(bool fact) {
    if (!fact) {
        std::abort();
    }
}

// A byte that no file may hold, so that it must come from a variable.
constexpr char secret = '\x01';

struct published {
    app::testing::config_case keys;
    std::unique_ptr<schema_check::validator> schema;

    published() {
        const auto text = json::document::parse(config_schema(keys.keys, "fuzz"));
        require(static_cast<bool>(text));
        std::string fault;
        schema = schema_check::validator::compile(text->root(), fault);
        require(schema != nullptr);
        keys.variables = {{"S", std::string(1, secret)}, {"N", "7"}, {"E", ""}, {"D", "30s"}};
    }
};

void check_places(const config_faults& faults, std::string_view text) {
    const auto lines = static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n')) + 1;
    for (const config_fault& f : faults) {
        require(f.at.line >= 1 && f.at.line <= lines && f.at.column >= 1);
        require(f.at.column <= text.size() + 1);
        require(!f.text.empty() && f.text.find('\n') == f.text.npos);
        require(f.text.find(secret) == f.text.npos);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static published all;
    const std::string text(reinterpret_cast<const char*>(data), size);
    all.keys.read(text);
    check_places(all.keys.faults, text);
    for (const config_value& value : all.keys.values) {
        require(value.places.size() == value.texts.size());
        for (const std::string& one : value.texts) {
            require(one.find('\0') == one.npos);
        }
    }
    if (!all.keys.faults.empty()) {
        return 0;
    }
    const auto json = json::document::parse(text);
    if (json) {
        base::chunk_pool pool;
        base::arena memory(pool);
        schema_check::failure why;
        require(all.schema->validate(json->root(), memory, why));
    }
    return 0;
}
