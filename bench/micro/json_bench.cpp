// json_bench: src/json beside simdjson and RapidJSON, on the same bytes with the same work.
//
// Every parse starts as a request does: the bytes are copied into a padded buffer that is reused
// (the parsers that work in place change it, simdjson needs its padding), and the memory of the
// tree is reused: our arena gives its chunks back to the pool, simdjson keeps its parser, RapidJSON
// its pool and stack. "parse" ends with a whole tree: of ours and RapidJSON's in place, of
// simdjson's DOM. "read" also visits every value and converts every number, which is what
// simdjson's on-demand is to be compared with: it has no tree.
//
// Names are group/case/library; bench/micro/run makes tables of them.

#include <benchmark/benchmark.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <simdjson.h>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "base/arena.hpp"
#include "base/byte_buffer.hpp"
#include "base/chunk.hpp"
#include "json/parser.hpp"
#include "json/writer.hpp"
#include "json_samples.hpp"

namespace {

using pillion::base::arena;
using pillion::base::byte_buffer;
using pillion::base::chunk_pool;
namespace json = pillion::json;

using in_place_document =
    rapidjson::GenericDocument<rapidjson::UTF8<>, rapidjson::MemoryPoolAllocator<>,
                               rapidjson::MemoryPoolAllocator<>>;

void require(bool fact, const char* what) {
    if (!fact) {
        std::fprintf(stderr, "json_bench: %s failed\n", what);
        std::exit(1);
    }
}

// The buffer a message arrives in.
class inbox {
 public:
    explicit inbox(const std::string& text)
        : text_(text), bytes_(new char[text.size() + simdjson::SIMDJSON_PADDING]()) {}

    char* fill() {
        std::memcpy(bytes_.get(), text_.data(), text_.size());
        return bytes_.get();
    }
    std::size_t size() const { return text_.size(); }
    std::size_t capacity() const { return text_.size() + simdjson::SIMDJSON_PADDING; }

 private:
    const std::string& text_;
    std::unique_ptr<char[]> bytes_;
};

// ---- reading everything: the sum keeps the work from being optimised away ----

double read_all(json::view v) {
    switch (v.type()) {
        case json::kind::object: {
            double sum = 0;
            for (const json::member m : v.members()) {
                sum += static_cast<double>(m.key.size()) + read_all(m.value);
            }
            return sum;
        }
        case json::kind::array: {
            double sum = 0;
            for (const json::view e : v.elements()) {
                sum += read_all(e);
            }
            return sum;
        }
        case json::kind::string:
            return static_cast<double>(v.str().size());
        case json::kind::number:
            return v.num();
        case json::kind::boolean:
            return v.boolean() ? 1 : 0;
        default:
            return 0;
    }
}

double read_all(simdjson::dom::element v) {
    using type = simdjson::dom::element_type;
    double sum = 0;
    switch (v.type()) {
        case type::OBJECT:
            for (const auto field : simdjson::dom::object(v)) {
                sum += static_cast<double>(field.key.size()) + read_all(field.value);
            }
            return sum;
        case type::ARRAY:
            for (const auto e : simdjson::dom::array(v)) {
                sum += read_all(e);
            }
            return sum;
        case type::STRING:
            return static_cast<double>(std::string_view(v).size());
        case type::NULL_VALUE:
            return 0;
        case type::BOOL:
            return bool(v) ? 1 : 0;
        default:
            return double(v);
    }
}

template <class Value>
double read_on_demand(Value&& v) {
    using type = simdjson::ondemand::json_type;
    double sum = 0;
    switch (v.type().value()) {
        case type::object:
            for (auto field : v.get_object()) {
                sum += static_cast<double>(field.unescaped_key().value().size());
                sum += read_on_demand(field.value().value());
            }
            return sum;
        case type::array:
            for (auto e : v.get_array()) {
                sum += read_on_demand(e.value());
            }
            return sum;
        case type::string:
            return static_cast<double>(v.get_string().value().size());
        case type::number:
            return v.get_double().value();
        case type::boolean:
            return v.get_bool().value() ? 1 : 0;
        default:
            require(v.is_null(), "null");
            return 0;
    }
}

double read_all(const in_place_document::ValueType& v) {
    double sum = 0;
    switch (v.GetType()) {
        case rapidjson::kObjectType:
            for (const auto& m : v.GetObject()) {
                sum += static_cast<double>(m.name.GetStringLength()) + read_all(m.value);
            }
            return sum;
        case rapidjson::kArrayType:
            for (const auto& e : v.GetArray()) {
                sum += read_all(e);
            }
            return sum;
        case rapidjson::kStringType:
            return static_cast<double>(v.GetStringLength());
        case rapidjson::kNumberType:
            return v.GetDouble();
        case rapidjson::kTrueType:
            return 1;
        default:
            return 0;
    }
}

// ---- parsing ----

void finish(benchmark::State& state, std::size_t bytes) {
    state.SetBytesProcessed(static_cast<std::int64_t>(bytes) *
                            static_cast<std::int64_t>(state.iterations()));
}

void parse_ours(benchmark::State& state, const std::string& text, bool read) {
    chunk_pool pool;
    arena memory(pool);
    inbox in(text);
    for (auto turn : state) {
        memory.release();
        const json::parse_result parsed = json::parse(in.fill(), in.size(), memory);
        require(parsed.ok, "pillion");
        if (read) {
            benchmark::DoNotOptimize(read_all(parsed.root));
        }
        benchmark::DoNotOptimize(parsed.root.raw());
    }
    memory.release();
    finish(state, text.size());
}

void parse_simdjson_dom(benchmark::State& state, const std::string& text, bool read) {
    simdjson::dom::parser parser;
    inbox in(text);
    for (auto turn : state) {
        simdjson::dom::element root;
        const auto error = parser.parse(in.fill(), in.size(), false).get(root);
        require(error == simdjson::SUCCESS, "simdjson DOM");
        if (read) {
            benchmark::DoNotOptimize(read_all(root));
        }
        benchmark::DoNotOptimize(root);
    }
    finish(state, text.size());
}

void read_simdjson_on_demand(benchmark::State& state, const std::string& text) {
    simdjson::ondemand::parser parser;
    inbox in(text);
    for (auto turn : state) {
        auto document = parser.iterate(in.fill(), in.size(), in.capacity());
        require(document.error() == simdjson::SUCCESS, "simdjson on-demand");
        benchmark::DoNotOptimize(read_on_demand(document.get_value().value()));
    }
    finish(state, text.size());
}

void parse_rapidjson(benchmark::State& state, const std::string& text, bool read) {
    std::string pool(text.size() * 4 + 65536, '\0');
    std::string stack(65536, '\0');
    inbox in(text);
    for (auto turn : state) {
        rapidjson::MemoryPoolAllocator<> values(pool.data(), pool.size());
        rapidjson::MemoryPoolAllocator<> frames(stack.data(), stack.size());
        in_place_document document(&values, 4096, &frames);
        document.ParseInsitu(in.fill());
        require(!document.HasParseError(), "RapidJSON");
        if (read) {
            benchmark::DoNotOptimize(read_all(document));
        }
        benchmark::DoNotOptimize(document);
    }
    finish(state, text.size());
}

// ---- writing ----

void write_document_ours(benchmark::State& state, const std::string& text) {
    chunk_pool pool;
    arena memory(pool);
    inbox in(text);
    const json::parse_result parsed = json::parse(in.fill(), in.size(), memory);
    require(parsed.ok, "pillion");
    byte_buffer out(pool);
    for (auto turn : state) {
        out.clear();
        json::writer(out).value(parsed.root);
        benchmark::DoNotOptimize(out.data());
        benchmark::ClobberMemory();
    }
    memory.release();
    finish(state, out.size());
}

void write_document_rapidjson(benchmark::State& state, const std::string& text) {
    rapidjson::Document document;
    document.Parse(text.c_str());
    rapidjson::StringBuffer out;
    for (auto turn : state) {
        out.Clear();
        rapidjson::Writer<rapidjson::StringBuffer> writer(out);
        document.Accept(writer);
        benchmark::DoNotOptimize(out.GetString());
        benchmark::ClobberMemory();
    }
    finish(state, out.GetSize());
}

void write_text_ours(benchmark::State& state, const std::string& text) {
    chunk_pool pool;
    byte_buffer out(pool);
    for (auto turn : state) {
        out.clear();
        json::writer(out).string(text);
        benchmark::DoNotOptimize(out.data());
        benchmark::ClobberMemory();
    }
    finish(state, text.size());
}

void write_text_memcpy(benchmark::State& state, const std::string& text) {
    chunk_pool pool;
    byte_buffer out(pool);
    for (auto turn : state) {
        out.clear();
        std::memcpy(out.reserve(text.size()), text.data(), text.size());
        out.commit(text.size());
        benchmark::DoNotOptimize(out.data());
        benchmark::ClobberMemory();
    }
    finish(state, text.size());
}

void write_text_rapidjson(benchmark::State& state, const std::string& text) {
    rapidjson::StringBuffer out;
    for (auto turn : state) {
        out.Clear();
        rapidjson::Writer<rapidjson::StringBuffer> writer(out);
        writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
        benchmark::DoNotOptimize(out.GetString());
        benchmark::ClobberMemory();
    }
    finish(state, text.size());
}

// Registered texts live as long as the process.
template <class Bench, class... Args>
void add(const std::string& name, Bench bench, const std::string& text, Args... args) {
    benchmark::RegisterBenchmark(
        name.c_str(), [=, &text](benchmark::State& state) { bench(state, text, args...); });
}

void add_document(const std::string& name, const std::string& text) {
    for (const bool read : {false, true}) {
        const std::string group = (read ? "read/" : "parse/") + name + "/";
        add(group + "pillion", parse_ours, text, read);
        add(group + "simdjson-dom", parse_simdjson_dom, text, read);
        if (read) {
            add(group + "simdjson-ondemand", read_simdjson_on_demand, text);
        }
        add(group + "rapidjson-insitu", parse_rapidjson, text, read);
    }
    add("write/" + name + "/pillion", write_document_ours, text);
    add("write/" + name + "/rapidjson", write_document_rapidjson, text);
}

void add_text(const std::string& name, const std::string& text) {
    add("text/" + name + "/pillion", write_text_ours, text);
    add("text/" + name + "/memcpy", write_text_memcpy, text);
    add("text/" + name + "/rapidjson", write_text_rapidjson, text);
}

}  // namespace

int main(int argc, char** argv) {
    using namespace pillion::bench;
    const std::string documents[] = {call_300(),   call_dense(),   list_10k(),  mixed_1m(),
                                     string_32k(), cyrillic_32k(), lines_32k(), map_64k()};
    const char* const names[] = {"call-290B",    "call-dense-300B", "list-10KB",   "mixed-1MiB",
                                 "string-32KiB", "cyrillic-32KiB",  "lines-32KiB", "map-64KiB"};
    for (std::size_t i = 0; i < std::size(documents); ++i) {
        add_document(names[i], documents[i]);
    }
    const std::string clean(32 * 1024, 'x');
    const std::string lines = repeated("    const int value = next(\"thing\");\n", 32 * 1024);
    add_text("clean-32KiB", clean);
    add_text("lines-32KiB", lines);
    benchmark::AddCustomContext("simdjson", SIMDJSON_STRINGIFY(SIMDJSON_VERSION) " " +
                                                simdjson::get_active_implementation()->name());
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
        return 1;
    }
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
