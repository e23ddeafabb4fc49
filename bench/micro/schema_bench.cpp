// Validation of tool arguments beside valijson over RapidJSON: the same draft-07 schemas, the same
// parsed values, one thread. Both are compiled before; neither parse nor compilation is measured.
#include <benchmark/benchmark.h>
#include <rapidjson/document.h>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <valijson/adapters/rapidjson_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "base/arena.hpp"
#include "base/chunk.hpp"
#include "json/document.hpp"
#include "schema/validator.hpp"

namespace {

struct sample {
    const char* name;
    const char* schema;
    const char* value;
    bool valid;
};

constexpr char six[] = R"({"$schema":"http://json-schema.org/draft-07/schema#","type":"object",
    "properties":{"city":{"type":"string","minLength":1,"maxLength":100},
        "days":{"type":"integer","minimum":1,"maximum":14},
        "units":{"type":"string","enum":["metric","imperial","scientific"]},
        "detailed":{"type":"boolean"},
        "threshold":{"type":"number","minimum":0,"exclusiveMaximum":1},
        "tags":{"type":"array","items":{"type":"string","maxLength":20},"maxItems":10}},
    "required":["city","days"],"additionalProperties":false})";
constexpr char six_good[] = R"({"city":"Oslo","days":3,"units":"metric","detailed":true,
    "threshold":0.25,"tags":["wind","rain"]})";
constexpr char six_bad[] = R"({"city":"Oslo","days":99,"units":"metric","detailed":true,
    "threshold":0.25,"tags":["wind","rain"]})";
constexpr char nested[] = R"({"$schema":"http://json-schema.org/draft-07/schema#","type":"object",
    "definitions":{"point":{"type":"object","required":["x","y"],
        "properties":{"x":{"type":"number"},"y":{"type":"number"},
            "label":{"type":"string","pattern":"^[a-z][a-z0-9_-]{0,31}$"}}}},
    "properties":{"shape":{"oneOf":[
        {"type":"object","required":["kind","points"],"properties":{"kind":{"const":"line"},
            "points":{"type":"array","items":{"$ref":"#/definitions/point"},"minItems":2}}},
        {"type":"object","required":["kind","centre"],"properties":{"kind":{"const":"circle"},
            "centre":{"$ref":"#/definitions/point"},"radius":{"type":"number","minimum":0}}}]}},
    "patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false})";
constexpr char nested_good[] = R"({"shape":{"kind":"line","points":[{"x":1,"y":2,"label":"a1"},
    {"x":3.5,"y":-2},{"x":0,"y":0,"label":"end_point"}]},"x-note":"hello"})";

constexpr sample samples[] = {{"six_properties", six, six_good, true},
                              {"six_properties_one_bad", six, six_bad, false},
                              {"one_of_and_patterns", nested, nested_good, true}};

void ours(benchmark::State& state, const sample& one) {
    using namespace pillion;
    const auto schema = json::document::parse(one.schema);
    const auto value = json::document::parse(one.value);
    std::string fault;
    const auto compiled = schema_check::validator::compile(schema->root(), fault);
    base::chunk_pool pool;
    base::arena memory(pool);
    for (auto _ : state) {
        schema_check::failure first;
        const bool holds = compiled->validate(value->root(), memory, first);
        if (holds != one.valid) {
            std::abort();
        }
        benchmark::DoNotOptimize(first);
        memory.release();
    }
}

void with_valijson(benchmark::State& state, const sample& one) {
    rapidjson::Document schema_document;
    schema_document.Parse(one.schema);
    rapidjson::Document value;
    value.Parse(one.value);
    valijson::Schema schema;
    valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
    parser.populateSchema(valijson::adapters::RapidJsonAdapter(schema_document), schema);
    valijson::Validator validator;
    const valijson::adapters::RapidJsonAdapter target(value);
    for (auto _ : state) {
        if (validator.validate(schema, target, nullptr) != one.valid) {
            std::abort();
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    for (const sample& one : samples) {
        const std::string name = std::string("schema/") + one.name;
        benchmark::RegisterBenchmark((name + "/pillion").c_str(), ours, one);
        benchmark::RegisterBenchmark((name + "/valijson").c_str(), with_valijson, one);
    }
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}
