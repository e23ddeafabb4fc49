// The bytes choose a schema and a value among the likely ones. Whatever they are: the answer is the
// same each time, wrapped in allOf, anyOf, oneOf and twice in not; reasons are bounded and lead
// into the value.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "base/arena.hpp"
#include "base/chunk.hpp"
#include "base/utf8.hpp"
#include "json/document.hpp"
#include "json/pointer.hpp"
#include "schema/validator.hpp"

using namespace pillion;
using namespace pillion::schema_check;

namespace {

void require(bool fact) {
    if (!fact) {
        std::abort();
    }
}

// Turns bytes into JSON text. When they run out, everything is the first choice.
class writer {
 public:
    writer(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

    std::string schema(int depth) {
        const unsigned kind = next(8);
        if (depth == 0 || kind == 0) {
            return kind % 2 == 0 ? "true" : "false";
        }
        std::string out = "{";
        for (unsigned left = 1 + next(3); left > 0; --left) {
            out += out.size() > 1 ? "," : "";
            out += keyword(depth - 1);
        }
        return out + "}";
    }

    std::string value(int depth) {
        switch (next(depth == 0 ? 4 : 6)) {
            case 0:
                return number();
            case 1:
                return name();
            case 2:
                return next(2) == 0 ? "true" : "null";
            case 3:
                return R"("\u00e9\ud83d\udc32")";
            case 4:
                return list('[', ']', [&] { return value(depth - 1); });
            default:
                return object(depth - 1);
        }
    }

 private:
    unsigned next(unsigned count) { return at_ == end_ ? 0 : *at_++ % count; }
    std::string name() {
        constexpr const char* all[] = {"\"a\"", "\"b\"", "\"ab\"", "\"c/~\"", "\"\""};
        return all[next(5)];
    }
    std::string number() {
        constexpr const char* all[] = {"0", "1", "2.0", "-1", "1.5", "1e2", "9007199254740993"};
        return all[next(7)];
    }
    // No name twice: a path leads to the last of its name, but all are checked.
    std::string object(int depth) {
        std::string out = "{";
        for (const char* one : {"\"a\":", "\"b\":", "\"ab\":", "\"c/~\":", "\"\":", "\"d\":"}) {
            if (next(3) == 1) {
                out += out.size() > 1 ? "," : "";
                out += one;
                out += value(depth);
            }
        }
        return out + "}";
    }
    std::string count() { return std::string(1, static_cast<char>('0' + next(4))); }
    template <class Make>
    std::string list(char open, char close, Make make, unsigned least = 0) {
        std::string out(1, open);
        for (unsigned left = least + next(4); left > 0; --left) {
            out += out.size() > 1 ? "," : "";
            out += make();
        }
        return out + close;
    }
    std::string named_schemas(int depth) {
        unsigned number = 0;
        constexpr const char* all[] = {
            "\"a\":", "\"b\":", "\"ab\":", "\"c/~\":", "\"\":", "\"d\":"};
        return list('{', '}', [&] { return all[number++ % 6] + schema(depth); });
    }
    std::string keyword(int depth) {
        constexpr const char* types[] = {"\"object\"", "\"array\"", "\"string\"", "\"integer\"",
                                         "[\"number\",\"null\"]"};
        constexpr const char* patterns[] = {"\"^a\"", "\"b$\"", "\"^[a-c]+$\"", "\"(a|b)*c\"",
                                            "\"\\\\p{L}\""};
        constexpr const char* in_value[] = {"additionalProperties",
                                            "propertyNames",
                                            "items",
                                            "contains",
                                            "not",
                                            "if",
                                            "then",
                                            "else",
                                            "unevaluatedProperties",
                                            "unevaluatedItems"};
        constexpr const char* in_list[] = {"allOf", "anyOf", "oneOf", "prefixItems"};
        constexpr const char* counted[] = {"minLength",   "maxLength",     "minItems",
                                           "maxItems",    "minProperties", "maxProperties",
                                           "minContains", "maxContains"};
        constexpr const char* bounds[] = {"minimum", "maximum", "exclusiveMinimum",
                                          "exclusiveMaximum"};
        constexpr const char* targets[] = {"#", "#/$defs/a", "#n", "#/properties/a"};
        const auto member = [](std::string name, const std::string& what) {
            return "\"" + std::move(name) + "\":" + what;
        };
        // The order in which operands are made is the compiler's choice, so each has a statement.
        switch (next(16)) {
            case 0:
                return member("type", types[next(5)]);
            case 1:
            case 2:
            case 3: {
                const char* const name = in_value[next(10)];
                return member(name, schema(depth));
            }
            case 4:
            case 5: {
                const char* const name = in_list[next(4)];
                return member(name, list('[', ']', [&] { return schema(depth); }, 1));
            }
            case 6: {
                const char* const name = counted[next(8)];
                return member(name, count());
            }
            case 7: {
                const char* const name = bounds[next(4)];
                return member(name, number());
            }
            case 8:
                return member("properties", named_schemas(depth));
            case 9: {
                const std::string pattern = patterns[next(5)];
                return member("patternProperties", "{" + pattern + ":" + schema(depth) + "}");
            }
            case 10:
                return next(2) == 0 ? member("uniqueItems", "true") : member("const", value(2));
            case 11:
                return member("enum", list('[', ']', [&] { return value(2); }));
            case 12:
                return member("required", list('[', ']', [&] { return name(); }));
            case 13:
                return next(2) == 0 ? member("dependentSchemas", named_schemas(depth))
                                    : member("dependentRequired", "{\"a\":[\"b\"]}");
            case 14:
                return next(2) == 0 ? member("pattern", patterns[next(5)])
                                    : member("$dynamicAnchor", "\"n\"");
            default: {
                const char* const name = next(2) == 0 ? "$ref" : "$dynamicRef";
                return member(name, "\"" + std::string(targets[next(4)]) + "\"");
            }
        }
    }

    const std::uint8_t* at_;
    const std::uint8_t* end_;
};

enum class answer : std::uint8_t { no, yes, limit };

void check_reasons(const report& all, json::view value) {
    for (std::size_t i = 0; i < all.count; ++i) {
        const failure& one = all.errors[i];
        require(one.path.starts_with(one.declared_path) && json::is_pointer(one.path));
        require(!one.message.empty() && one.message.size() <= message_bytes_max);
        require(base::utf8::validate(one.message));
        const std::string_view parent = one.path.substr(0, one.path.rfind('/'));
        require(json::resolve(value, one.reason == "required" ? parent : one.path).exists());
    }
}

answer ask(std::string_view schema, json::view document, json::view value) {
    const auto parsed = json::document::parse(schema);
    require(static_cast<bool>(parsed));
    const schema_document given{"https://x.test/s", document};
    compile_options how;
    how.documents = {&given, 1};
    std::string fault;
    const auto compiled = validator::compile(parsed->root(), fault, how);
    require(compiled != nullptr);
    base::chunk_pool pool;
    base::arena memory(pool);
    report all;
    failure first;
    const bool holds = compiled->validate(value, memory, all);
    require(holds == (all.count == 0));
    require(compiled->validate(value, memory, first) == holds);
    check_reasons(all, value);
    return holds ? answer::yes : all.errors[0].reason == "limit" ? answer::limit : answer::no;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    writer bytes(data, size);
    std::string text = bytes.schema(4);
    if (text.starts_with("{")) {
        text.insert(1, R"("$defs":{"a":{"type":"object"},"n":{"$anchor":"n"}},)");
    }
    const auto schema = json::document::parse(text);
    const auto value = json::document::parse(bytes.value(4));
    require(schema && value);
    std::string fault;
    if (validator::compile(schema->root(), fault) == nullptr) {
        require(!fault.empty());
        return 0;
    }
    const auto under = [&](const char* wrapped) {
        return ask(wrapped, schema->root(), value->root());
    };
    const answer plain = under(R"({"$ref":"https://x.test/s"})");
    for (const char* same : {R"({"allOf":[{"$ref":"https://x.test/s"},true]})",
                             R"({"anyOf":[{"$ref":"https://x.test/s"},false]})",
                             R"({"oneOf":[false,{"$ref":"https://x.test/s"}]})",
                             R"({"not":{"not":{"$ref":"https://x.test/s"}}})",
                             R"({"if":{"$ref":"https://x.test/s"},"else":false})"}) {
        require(under(same) == plain || plain == answer::limit);
    }
    return 0;
}
