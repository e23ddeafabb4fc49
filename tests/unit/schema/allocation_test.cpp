// Once warm, validation takes nothing from the heap, whatever the schema and whether the value
// fits. Counted at malloc, below operator new.
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/arena.hpp"
#include "json/document.hpp"
#include "schema/validator.hpp"
#include "unit/counted_malloc.hpp"

namespace pillion::schema_check {
namespace {

std::size_t allocations(std::string_view schema, std::string_view value) {
    const auto parsed = json::document::parse(schema);
    const auto instance = json::document::parse(value);
    EXPECT_TRUE(parsed && instance);
    std::string fault;
    compile_options how;
    how.assert_formats = true;
    const auto compiled = validator::compile(parsed->root(), fault, how);
    EXPECT_NE(compiled, nullptr) << fault;
    base::chunk_pool pool;
    base::arena memory(pool);
    report why;
    compiled->validate(instance->root(), memory, why);
    memory.release();
    const std::size_t before = mallocs;
    for (int i = 0; i < 100; ++i) {
        compiled->validate(instance->root(), memory, why);
        memory.release();
    }
    return mallocs - before;
}

TEST(allocation, a_counted_malloc_counts) {
    const std::size_t before = mallocs;
    std::free(std::malloc(1));
    EXPECT_EQ(mallocs, before + 1);
}

TEST(allocation, validation_takes_nothing_from_the_heap) {
    std::string large = "{";
    for (int i = 0; i < 200; ++i) {
        large += "\"n" + std::to_string(i) + "\":[" + std::to_string(i) + "],";
    }
    large.back() = '}';
    const std::pair<std::string, std::string> cases[] = {
        {R"({"type":"object","properties":{"a":{"type":"string","minLength":2,"maxLength":9},
            "b":{"enum":[1,"x",[2]]},"c":{"multipleOf":0.1,"minimum":1e-9}},"required":["a"],
            "additionalProperties":false})",
         R"({"a":"abc","b":[2],"c":1.5})"},
        {R"({"type":"object","required":["a","b"],"additionalProperties":false})",
         R"({"c":1,"d":2,"e":{}})"},
        {R"({"uniqueItems":true,"contains":{"const":3},"items":{"type":"integer"}})",
         "[1,2,3,4,5,6,7,8,9]"},
        {R"({"const":)" + large + "}", large},
        {R"({"uniqueItems":true})", "[" + large + "," + large + "]"},
        {R"({"anyOf":[{"properties":{"n1":true}},{"properties":{"n2":true}}],
            "unevaluatedProperties":{"type":"array"}})",
         large},
        {R"({"$id":"https://x.test/r","$ref":"s","$defs":{"t":{"$dynamicAnchor":"n","type":"null"},
            "s":{"$id":"s","items":{"$dynamicRef":"#n"},"$defs":{"d":{"$dynamicAnchor":"n"}}}}})",
         "[null,1]"},
        {R"({"pattern":"^[a-z]+@[a-z]+\\.(com|org)$"})", R"("someone@example.org")"},
        {R"({"patternProperties":{"^x-[a-z]*$":{"pattern":"^\\d{3,5}$"}}})", R"({"x-a":"1234"})"},
        {R"({"items":{"format":"date-time"},"prefixItems":[{"format":"idn-hostname"},
            {"format":"uri"},{"format":"regex"},{"format":"email"},{"format":"ipv6"}]})",
         R"(["b\u00fccher.example","https://x.test/a","(a[b-c]{2})+","a@b.test","::1","x"])"},
        {R"({"not":{"if":{"type":"object"},"then":{"minProperties":500},"else":false}})", large},
    };
    for (const auto& [schema, value] : cases) {
        EXPECT_EQ(allocations(schema, value), 0U) << schema;
    }
}

}  // namespace
}  // namespace pillion::schema_check
