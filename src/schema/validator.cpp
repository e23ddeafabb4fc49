#include "schema/validator.hpp"

#include <utility>

#include "schema/compiler.hpp"
#include "schema/program.hpp"
#include "schema/runner.hpp"

namespace pillion::schema_check {

validator::validator(std::unique_ptr<program> compiled) noexcept : program_(std::move(compiled)) {}
validator::~validator() = default;

std::unique_ptr<validator> validator::compile(json::view schema_root, std::string& fault,
                                              const compile_options& how) {
    auto compiled = std::make_unique<program>();
    if (!compiler(*compiled, fault, how).run(schema_root)) {
        return nullptr;
    }
    return std::unique_ptr<validator>(new validator(std::move(compiled)));
}

bool validator::validate(json::view instance, base::arena& memory, failure& first) const noexcept {
    std::size_t count = 0;
    return runner(*program_, memory, std::span(&first, 1), count).run(instance);
}

bool validator::validate(json::view instance, base::arena& memory, report& why) const noexcept {
    why.count = 0;
    return runner(*program_, memory, why.errors, why.count).run(instance);
}

}  // namespace pillion::schema_check
