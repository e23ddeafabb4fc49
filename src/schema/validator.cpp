#include "schema/validator.hpp"

#include <utility>

#include "schema/compiler.hpp"
#include "schema/program.hpp"
#include "schema/runner.hpp"

namespace pillion::schema_check {

validator::validator(std::unique_ptr<program> compiled) noexcept : program_(std::move(compiled)) {}
validator::~validator() = default;

std::unique_ptr<validator> validator::compile(json::view schema_root, std::string& fault) {
    json::builder copy;
    copy.value(schema_root);
    result<json::document> owned = json::document::parse(copy.text());
    if (!owned) {
        fault = std::string("#: ") + owned.error().detail;
        return nullptr;
    }
    auto compiled = std::make_unique<program>();
    compiled->schema.emplace(std::move(*owned));
    if (!compiler(*compiled, fault).run()) {
        return nullptr;
    }
    return std::unique_ptr<validator>(new validator(std::move(compiled)));
}

bool validator::validate(json::view instance, base::arena& memory, failure& first) const noexcept {
    return runner(*program_, memory, first).run(instance);
}

}  // namespace pillion::schema_check
