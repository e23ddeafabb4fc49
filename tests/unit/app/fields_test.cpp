// Structs as arguments and results of tools (include/pillion/fields.hpp).
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <pillion/testing.hpp>

#include "json/document.hpp"

namespace weather {

enum class unit { celsius, fahrenheit };
constexpr auto enum_names(unit) { return pillion::names("celsius", "fahrenheit"); }

struct place {
    std::string_view city;
    std::optional<std::string> country;
    static constexpr auto fields =
        pillion::fields(pillion::field("city", &place::city, "City name").range(1, 8),
                        pillion::field("country", &place::country).pattern("^[A-Z]{2}$"));
};

struct forecast_args {
    place where;
    int days = 3;
    std::optional<unit> scale;
    std::vector<std::string> tags;
    std::map<std::string, double> weights;
    static constexpr auto fields = pillion::fields(
        pillion::field("where", &forecast_args::where),
        pillion::field("days", &forecast_args::days, "Days ahead").range(1, 14).defaulted(),
        pillion::field("scale", &forecast_args::scale),
        pillion::field("tags", &forecast_args::tags).max(2).defaulted(),
        pillion::field("weights", &forecast_args::weights).defaulted());
};

struct forecast {
    std::string text;
    std::vector<double> highs;
    std::optional<unit> scale;
    bool certain = false;
    static constexpr auto fields = pillion::fields(
        pillion::field("text", &forecast::text), pillion::field("highs", &forecast::highs),
        pillion::field("scale", &forecast::scale), pillion::field("certain", &forecast::certain));
};

struct widths {
    std::int8_t small = 0;
    std::uint8_t positive = 0;
    std::int64_t wide = 0;
    std::uint64_t widest = 0;
    float real = 0;
    static constexpr auto fields =
        pillion::fields(pillion::field("small", &widths::small).defaulted(),
                        pillion::field("positive", &widths::positive).defaulted(),
                        pillion::field("wide", &widths::wide).max(9007199254740992.0).defaulted(),
                        pillion::field("widest", &widths::widest).defaulted(),
                        pillion::field("real", &widths::real).defaulted());
};

struct tree {
    std::string_view name;
    std::vector<tree> children;
    pillion::json::view extra;
    static constexpr auto fields =
        pillion::fields(pillion::field("name", &tree::name),
                        pillion::field("children", &tree::children).defaulted(),
                        pillion::field("extra", &tree::extra).defaulted());
};

struct measured {
    double mean = 0;
    std::map<std::string, float> by_hour;
    unit scale = unit::celsius;
    std::vector<std::optional<int>> counts;
    static constexpr auto fields =
        pillion::fields(pillion::field("mean", &measured::mean),
                        pillion::field("by_hour", &measured::by_hour).defaulted(),
                        pillion::field("scale", &measured::scale).defaulted(),
                        pillion::field("counts", &measured::counts).defaulted());
};

struct bounded {
    int value = 0;
    static constexpr auto fields =
        pillion::fields(pillion::field("value", &bounded::value).range(0, 10));
};

}  // namespace weather

namespace pillion {
namespace {

using testing::answer;
using testing::client;
using testing::client_options;

std::string canonical(std::string_view text) {
    auto parsed = json::document::parse(text);
    json::builder b;
    b.value(parsed ? parsed->root() : json::view{});
    return std::string(b.text());
}

template <class T>
std::optional<T> read(std::string_view text, json::document& keeps, decode_fault* fault = nullptr) {
    auto parsed = json::document::parse(text);
    EXPECT_TRUE(parsed) << text;
    keeps = std::move(*parsed);
    T out{};
    return from_json(keeps.root(), out, fault) ? std::optional<T>(std::move(out)) : std::nullopt;
}

json::document empty_document() { return std::move(*json::document::parse("{}")); }

TEST(Fields, TheSchemaOfAStruct) {
    EXPECT_EQ(canonical(schema_of<weather::forecast_args>().json()), canonical(R"({
        "type":"object","properties":{
          "where":{"type":"object","properties":{
            "city":{"type":"string","description":"City name","minLength":1,"maxLength":8},
            "country":{"type":"string","pattern":"^[A-Z]{2}$"}},
            "required":["city"],"additionalProperties":false},
          "days":{"type":"integer","description":"Days ahead","minimum":1,"maximum":14,"default":3},
          "scale":{"type":"string","enum":["celsius","fahrenheit"]},
          "tags":{"type":"array","items":{"type":"string"},"maxItems":2,"default":[]},
          "weights":{"type":"object","additionalProperties":{"type":"number"},"default":{}}},
        "required":["where"],"additionalProperties":false})"));
}

TEST(Fields, AStructInsideItselfIsPublishedAsAnything) {
    EXPECT_EQ(canonical(schema_of<weather::tree>().json()), canonical(R"({
        "type":"object","properties":{"name":{"type":"string"},
          "children":{"type":"array","items":{},"default":[]},
          "extra":{"default":null}},
        "required":["name"],"additionalProperties":false})"));
}

TEST(Fields, ReadsWhatFits) {
    json::document keeps = empty_document();
    const auto a = read<weather::forecast_args>(
        R"({"tags":["a","b"],"where":{"city":"Zürich","country":"CH"},"scale":"fahrenheit",
            "weights":{"sun":0.5,"rain":2}})",
        keeps);
    ASSERT_TRUE(a);
    EXPECT_EQ(a->where.city, "Zürich");
    EXPECT_EQ(a->where.country, "CH");
    EXPECT_EQ(a->days, 3);
    EXPECT_EQ(a->scale, weather::unit::fahrenheit);
    EXPECT_EQ(a->tags, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(a->weights.at("sun"), 0.5);
    EXPECT_EQ(a->weights.at("rain"), 2);
}

TEST(Fields, RefusesWhatDoesNot) {
    const std::pair<const char*, const char*> cases[] = {
        {R"({})", "where"},
        {R"([])", ""},
        {R"({"where":{}})", "city"},
        {R"({"where":{"city":1}})", "city"},
        {R"({"where":{"city":""}})", "city"},
        {R"({"where":{"city":"123456789"}})", "city"},
        {R"({"where":{"city":"x","country":null}})", "country"},
        {R"({"where":{"city":"x","town":"y"}})", "town"},
        {R"({"where":{"city":"x"},"days":0})", "days"},
        {R"({"where":{"city":"x"},"days":15})", "days"},
        {R"({"where":{"city":"x"},"days":1.5})", "days"},
        {R"({"where":{"city":"x"},"days":"2"})", "days"},
        {R"({"where":{"city":"x"},"scale":"kelvin"})", "scale"},
        {R"({"where":{"city":"x"},"scale":0})", "scale"},
        {R"({"where":{"city":"x"},"tags":["a","b","c"]})", "tags"},
        {R"({"where":{"city":"x"},"tags":{}})", "tags"},
        {R"({"where":{"city":"x"},"tags":[1]})", "tags"},
        {R"({"where":{"city":"x"},"weights":[]})", "weights"},
        {R"({"where":{"city":"x"},"weights":{"a":true}})", "weights"},
    };
    json::document keeps = empty_document();
    for (const auto& [text, field] : cases) {
        decode_fault fault;
        EXPECT_FALSE(read<weather::forecast_args>(text, keeps, &fault)) << text;
        EXPECT_EQ(fault.field, field) << text;
    }
}

TEST(Fields, NumbersKeepTheirWidth) {
    json::document keeps = empty_document();
    const auto a = read<weather::widths>(
        R"({"small":-128,"positive":255,"wide":-9223372036854775808,
            "widest":18446744073709551615,"real":1.5})",
        keeps);
    ASSERT_TRUE(a);
    EXPECT_EQ(a->small, -128);
    EXPECT_EQ(a->positive, 255);
    EXPECT_EQ(a->wide, std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(a->widest, std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(a->real, 1.5F);
    EXPECT_TRUE(read<weather::widths>(R"({"small":1e1,"positive":2.0})", keeps));
    for (const char* text :
         {R"({"small":128})", R"({"small":-129})", R"({"positive":-1})", R"({"positive":256})",
          R"({"wide":9223372036854775808})", R"({"widest":18446744073709551616})",
          R"({"widest":-1})", R"({"wide":9007199254740993})", R"({"real":"1"})"}) {
        EXPECT_FALSE(read<weather::widths>(text, keeps)) << text;
    }
}

TEST(Fields, TreesAndAnything) {
    json::document keeps = empty_document();
    const auto t = read<weather::tree>(
        R"({"name":"a","children":[{"name":"b","children":[{"name":"c"}]}],"extra":{"x":[1]}})",
        keeps);
    ASSERT_TRUE(t);
    EXPECT_EQ(t->children[0].children[0].name, "c");
    EXPECT_EQ(t->extra["x"][std::size_t{0}].i64(), 1);
    EXPECT_FALSE(read<weather::tree>(R"({"name":"a","children":[{"name":1}]})", keeps));
}

TEST(Fields, TheLastOfTwoEqualKeysCounts) {
    json::document keeps = empty_document();
    const auto t = read<weather::bounded>(R"({"value":1,"value":2})", keeps);
    ASSERT_TRUE(t);
    EXPECT_EQ(t->value, 2);
}

TEST(Fields, WritesWhatItReads) {
    weather::forecast f;
    f.text = "Sunny \"and\" warm";
    f.highs = {20.5, 21};
    json::builder b;
    to_json(b, f);
    EXPECT_EQ(b.text(), R"({"text":"Sunny \"and\" warm","highs":[20.5,21],"certain":false})");
    f.scale = weather::unit::celsius;
    b.clear();
    to_json(b, f);
    json::document keeps = empty_document();
    const auto back = read<weather::forecast>(b.text(), keeps);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->highs, f.highs);
    EXPECT_EQ(back->scale, f.scale);
}

// ---- through a server ----

weather::forecast predict(const weather::forecast_args& args) {
    weather::forecast f;
    f.text.append(args.where.city).append(" ").append(std::to_string(args.days));
    f.highs.assign(static_cast<std::size_t>(args.days), 20);
    f.scale = args.scale;
    return f;
}
weather::forecast plain(context&, const weather::forecast_args& args) { return predict(args); }
task<weather::forecast> waits(context& ctx, const weather::forecast_args& args) {
    co_await ctx.sleep(std::chrono::seconds(1));
    co_return predict(args);
}
task<result<weather::forecast>> fails(context& ctx, weather::forecast_args args) {
    co_await ctx.sleep(std::chrono::seconds(1));
    if (args.days > 7) {
        co_return error(errc::unavailable, "the future is unclear");
    }
    co_return predict(args);
}
task<tool_result> texts(context& ctx, const weather::forecast_args& args) {
    co_return ctx.text(args.where.city);
}
weather::bounded unbounded(context&, json::view args) {
    return weather::bounded{static_cast<int>(args["value"].i64().value_or(0))};
}
weather::widths narrow(context&, const weather::widths& given) { return given; }

// What has no JSON: each call one of them.
weather::measured measure(context&, json::view args) {
    constexpr float endless = std::numeric_limits<float>::infinity();
    const std::string_view what = args["what"].str();
    weather::measured out;
    if (what == "nan") {
        out.mean = std::numeric_limits<double>::quiet_NaN();
    } else if (what == "infinity") {
        out.by_hour = {{"1", 1.5F}, {"2", -endless}};
    } else if (what == "no name") {
        out.scale = static_cast<weather::unit>(2);
    } else if (what == "a gap") {
        out.counts = {1, std::nullopt, 3};
    }
    return out;
}

class TypedTools : public ::testing::Test {
 protected:
    TypedTools() : s("typed", "1") {
        s.tool("plain").about("a").run(plain);
        s.tool("waits").about("b").run(waits);
        s.tool("fails").about("c").run(fails);
        s.tool("texts").about("d").run(texts);
        s.tool("lambda").about("e").run([](context& ctx, const weather::bounded& b) {
            return ctx.text(b.value > 5 ? "big" : "small");
        });
        s.tool("given")
            .about("f")
            .input(schema::raw(R"({"type":"object","maxProperties":1})"))
            .run(plain);
        s.tool("unbounded").about("g").input(object().open()).run(unbounded);
        s.tool("narrow").about("h").run(narrow);
        s.tool("measure").about("i").input(object().open()).run(measure);
    }
    server s;
};

constexpr const char* good = R"({"where":{"city":"Oslo"},"days":2,"scale":"celsius"})";

TEST_F(TypedTools, EveryFormOfHandler) {
    client c(s);
    ASSERT_EQ(c.fault(), "");
    for (const char* name : {"plain", "waits", "fails"}) {
        const answer a = c.call(name, good);
        ASSERT_TRUE(a.ok()) << name << a.raw();
        EXPECT_EQ(a.structured()["text"].str(), "Oslo 2");
        EXPECT_EQ(a.structured()["scale"].str(), "celsius");
        EXPECT_EQ(
            canonical(a.text()),
            canonical(R"({"text":"Oslo 2","highs":[20,20],"scale":"celsius","certain":false})"));
    }
    EXPECT_EQ(c.call("texts", good).text(), "Oslo");
    EXPECT_EQ(c.call("lambda", R"({"value":6})").text(), "big");
    const answer failed = c.call("fails", R"({"where":{"city":"x"},"days":8})");
    EXPECT_FALSE(failed.ok());
    EXPECT_NE(failed.text().find("unclear"), failed.text().npos);
}

TEST_F(TypedTools, SchemasAreListed) {
    client c(s, client_options().revision("2025-06-18"));
    const answer list = c.request("tools/list");
    const json::view tool = list.result()["tools"][std::size_t{0}];
    EXPECT_EQ(tool["inputSchema"]["properties"]["days"]["maximum"].i64(), 14);
    EXPECT_EQ(tool["outputSchema"]["properties"]["highs"]["type"].str(), "array");
}

TEST_F(TypedTools, MisfitsAreReportedLikeAnyOther) {
    client c(s, client_options().revision("2025-06-18"));
    const answer a = c.call("plain", R"({"where":{"city":"Oslo"},"days":99})");
    EXPECT_EQ(a.error_code(), -32602);
    EXPECT_EQ(a.error()["data"]["field"].str(), "/days");
    EXPECT_EQ(a.error()["data"]["reason"].str(), "range");
    // One that waits gets no further either.
    const answer b = c.call("waits", R"({"where":{"city":"Oslo","x":1}})");
    EXPECT_EQ(b.error_code(), -32602);
    EXPECT_LT(c.elapsed(), std::chrono::seconds(1));
    client newer(s);
    EXPECT_TRUE(newer.call("plain", "{}").result()["isError"].boolean());
}

TEST_F(TypedTools, ATypeNarrowerThanItsSchemaSaysWhere) {
    client c(s, client_options().revision("2025-06-18"));
    const answer a = c.call("narrow", R"({"small":1000})");
    EXPECT_EQ(a.error_code(), -32602);
    EXPECT_EQ(a.error()["data"]["field"].str(), "/small");
    EXPECT_EQ(a.error()["data"]["reason"].str(), "range");
}

TEST_F(TypedTools, ASchemaOfOnesOwnIsCheckedToo) {
    client c(s);
    EXPECT_TRUE(c.call("given", R"({"where":{"city":"Oslo"}})").ok());
    EXPECT_FALSE(c.call("given", good).ok());
}

TEST_F(TypedTools, ResultsOutsideTheirBoundsNeverLeave) {
    client c(s);
    EXPECT_EQ(c.call("unbounded", R"({"value":3})").structured()["value"].i64(), 3);
    EXPECT_EQ(c.call("unbounded", R"({"value":11})").error_code(), -32603);
}

// They went out as null, or as a name of nothing, against the schema that clients were shown.
TEST_F(TypedTools, ResultsThatAreNoneOfTheirTypeNeverLeave) {
    client c(s);
    EXPECT_EQ(c.call("measure", R"({"what":"nothing odd"})").structured()["mean"].f64(), 0);
    for (const char* const what : {"nan", "infinity", "no name", "a gap"}) {
        const answer a = c.call("measure", R"({"what":")" + std::string(what) + "\"}");
        EXPECT_EQ(a.error_code(), -32603) << what << a.raw();
    }
}

}  // namespace
}  // namespace pillion
