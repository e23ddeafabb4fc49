// checked: compiles a schema text and validates value texts, for the tests of this folder.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <pillion/json.hpp>

#include "base/arena.hpp"
#include "json/document.hpp"
#include "schema/validator.hpp"

namespace pillion::schema_check {

// What became of a value: the texts of a failure, or ok.
struct verdict {
    bool ok = false;
    std::string path;
    std::string declared_path;
    std::string keyword;
    std::string reason;
    std::string message;
};

// The fault of compiling `schema`; empty when it compiles.
inline std::string fault_of(std::string_view schema, const compile_options& how = {}) {
    auto parsed = json::document::parse(schema);
    EXPECT_TRUE(parsed) << schema;
    std::string fault;
    const auto compiled = validator::compile(parsed->root(), fault, how);
    EXPECT_EQ(compiled == nullptr, !fault.empty()) << schema;
    return fault;
}

class checked {
 public:
    explicit checked(std::string_view schema, const compile_options& how = {}) {
        auto parsed = json::document::parse(schema);
        EXPECT_TRUE(parsed) << schema;
        std::string fault;
        compiled_ = validator::compile(parsed->root(), fault, how);
        EXPECT_NE(compiled_, nullptr) << schema << ' ' << fault;
    }

    // Validates one value given as JSON text.
    verdict operator()(std::string_view text) const {
        auto value = json::document::parse(text);
        EXPECT_TRUE(value) << text;
        base::chunk_pool pool;
        base::arena memory(pool);
        failure first;
        verdict out;
        if (compiled_ == nullptr) {
            return out;
        }
        out.ok = compiled_->validate(value->root(), memory, first);
        out.path = first.path;
        out.declared_path = first.declared_path;
        out.keyword = first.keyword;
        out.reason = first.reason;
        out.message = first.message;
        return out;
    }

    // All reasons against a value, one a line: "path keyword: message".
    std::string all(std::string_view text) const {
        auto value = json::document::parse(text);
        EXPECT_TRUE(value) << text;
        base::chunk_pool pool;
        base::arena memory(pool);
        report why;
        std::string out;
        const bool ok = compiled_->validate(value->root(), memory, why);
        EXPECT_EQ(ok, why.count == 0);
        for (std::size_t i = 0; i < why.count; ++i) {
            const failure& one = why.errors[i];
            EXPECT_TRUE(one.path.starts_with(one.declared_path));
            out += std::string(one.path) + " " + std::string(one.keyword) + ": " +
                   std::string(one.message) + "\n";
        }
        return out;
    }

 private:
    std::unique_ptr<validator> compiled_;
};

}  // namespace pillion::schema_check
