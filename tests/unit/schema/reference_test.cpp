// References: identifiers, anchors, documents that are given along, dynamic scope, vocabularies.
#include <gtest/gtest.h>

#include "checked.hpp"
#include "schema/metaschemas.hpp"
#include "schema/uri.hpp"

namespace pillion::schema_check {
namespace {

// Documents by URI.
class library {
 public:
    library(std::initializer_list<std::pair<const char*, const char*>> texts) {
        for (const auto& [uri, text] : texts) {
            parsed_.push_back(std::move(*json::document::parse(text)));
            views_.push_back({uri, parsed_.back().root()});
        }
    }
    compile_options options() const {
        compile_options how;
        how.documents = views_;
        return how;
    }

 private:
    std::vector<json::document> parsed_;
    std::vector<schema_document> views_;
};

TEST(reference, uris_are_resolved) {
    const std::tuple<const char*, const char*, const char*> cases[] = {
        // RFC 3986 §5.4.
        {"http://a/b/c/d;p?q", "g:h", "g:h"},
        {"http://a/b/c/d;p?q", "g", "http://a/b/c/g"},
        {"http://a/b/c/d;p?q", "./g/", "http://a/b/c/g/"},
        {"http://a/b/c/d;p?q", "/g", "http://a/g"},
        {"http://a/b/c/d;p?q", "//g", "http://g"},
        {"http://a/b/c/d;p?q", "?y", "http://a/b/c/d;p?y"},
        {"http://a/b/c/d;p?q", "g?y#s", "http://a/b/c/g?y"},
        {"http://a/b/c/d;p?q", "#s", "http://a/b/c/d;p?q"},
        {"http://a/b/c/d;p?q", "", "http://a/b/c/d;p?q"},
        {"http://a/b/c/d;p?q", "..", "http://a/b/"},
        {"http://a/b/c/d;p?q", "../../g", "http://a/g"},
        {"http://a/b/c/d;p?q", "../../../g", "http://a/g"},
        {"http://a/b/c/d;p?q", "/./g/../h", "http://a/h"},
        {"http://a", "g", "http://a/g"},
        {"urn:x:y", "#s", "urn:x:y"},
        {"", "a/./b", "a/b"},
        {"", "HTTP://x", "http://x"},
    };
    for (const auto& [base, reference, wanted] : cases) {
        EXPECT_EQ(resolve_uri(base, reference), wanted) << base << ' ' << reference;
    }
}

TEST(reference, documents_refer_to_each_other) {
    const library given{
        {"https://x.test/a.json", R"({"type":"array","items":{"$ref":"b.json#/$defs/n"}})"},
        {"https://x.test/b.json", R"({"$defs":{"n":{"type":"null"}}})"},
        {"https://x.test/elsewhere", R"({"$id":"urn:x:own","type":"string"})"},
        {"https://x.test/broken", R"({"type":"no"})"}};
    const checked check(R"({"$ref":"https://x.test/a.json"})", given.options());
    EXPECT_TRUE(check("[null]").ok);
    EXPECT_EQ(check("[1]").path, "/0");
    // By the place it was given for and by its own name.
    for (const char* uri : {"https://x.test/elsewhere", "urn:x:own"}) {
        EXPECT_FALSE(checked("{\"$ref\":\"" + std::string(uri) + "\"}", given.options())("1").ok);
    }
    // What nobody refers to may be anything; a fault says where it is.
    EXPECT_EQ(fault_of(R"({"$ref":"https://x.test/broken"})", given.options()),
              "https://x.test/broken#/type: is no JSON type");
    EXPECT_EQ(fault_of(R"({"$ref":"https://x.test/none"})", given.options()),
              "#/$ref: refers to https://x.test/none, which is not among the given documents; none "
              "is fetched");
}

TEST(reference, the_metaschemas_are_there) {
    for (const std::string_view uri : {metaschema_2020_12, metaschema_draft_07}) {
        const checked check("{\"$ref\":\"" + std::string(uri) + "\"}");
        EXPECT_TRUE(check(R"({"type":"object","properties":{"a":{"minimum":1}}})").ok) << uri;
        EXPECT_EQ(check(R"({"properties":{"a":{"minimum":"1"}}})").path, "/properties/a/minimum");
        EXPECT_TRUE(check(metaschema(uri)).ok) << uri;
    }
    EXPECT_EQ(metaschema("https://json-schema.org/draft/2019-09/schema"), "");
}

TEST(reference, embedded_resources_have_their_own_base) {
    const checked check(R"({"$id":"https://x.test/root","properties":{
        "a":{"$ref":"inner"},"b":{"$ref":"inner#n"},"c":{"$ref":"#/$defs/i/$defs/s"}},
        "$defs":{"i":{"$id":"inner","$defs":{"s":{"$anchor":"n","type":"string"}},
            "$ref":"#/$defs/s"}}})");
    EXPECT_TRUE(check(R"({"a":"x","b":"x","c":"x"})").ok);
    for (const char* value : {R"({"a":1})", R"({"b":1})", R"({"c":1})"}) {
        EXPECT_FALSE(check(value).ok) << value;
    }
    // An anchor belongs to its resource.
    EXPECT_EQ(fault_of(R"({"$ref":"#n","$defs":{"i":{"$id":"i","$anchor":"n"}}})"),
              "#/$ref: refers to an anchor that is not there");
}

TEST(reference, a_dynamic_reference_looks_outside_first) {
    const checked tree(R"({"$id":"https://x.test/strict","$dynamicAnchor":"node","$ref":"tree",
        "unevaluatedProperties":false,
        "$defs":{"t":{"$id":"tree","$dynamicAnchor":"node","type":"object",
            "properties":{"v":true,"below":{"items":{"$dynamicRef":"#node"}}}}}})");
    EXPECT_TRUE(tree(R"({"v":1,"below":[{"v":2}]})").ok);
    EXPECT_EQ(tree(R"({"v":1,"below":[{"w":2}]})").path, "/below/0/w");
}

TEST(reference, a_vocabulary_that_is_left_out_asserts_nothing) {
    const library given{
        {"https://x.test/no-validation",
         R"({"$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/core":true,
             "https://json-schema.org/draft/2020-12/vocab/applicator":true,
             "https://x.test/own":false}})"},
        {"https://x.test/formats",
         R"({"$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/core":true,
             "https://json-schema.org/draft/2020-12/vocab/format-assertion":true}})"},
        {"https://x.test/own", R"({"$vocabulary":{"https://x.test/own":true}})"},
        {"https://x.test/heir", R"({"$schema":"http://json-schema.org/draft-07/schema#"})"},
        {"https://x.test/turn", R"({"$schema":"https://x.test/turn"})"}};
    const auto with = [&](const std::string& metaschema, const std::string& rest) {
        return "{\"$schema\":\"https://x.test/" + metaschema + "\"," + rest + "}";
    };
    const checked lax(
        with("no-validation", R"("properties":{"a":false},"type":"null","pattern":"(?=")"),
        given.options());
    EXPECT_TRUE(lax("1").ok);
    EXPECT_FALSE(lax(R"({"a":1})").ok);
    EXPECT_FALSE(checked(with("formats", R"("format":"ipv4")"), given.options())(R"("x")").ok);
    EXPECT_TRUE(checked(with("formats", R"("items":false)"), given.options())("[1]").ok);
    EXPECT_FALSE(checked(with("heir", R"("items":[false])"), given.options())("[1]").ok);
    EXPECT_EQ(fault_of(with("own", R"("a":1)"), given.options()),
              "#/$schema: the metaschema https://x.test/own requires the vocabulary "
              "https://x.test/own, which is not known");
    EXPECT_EQ(fault_of(with("turn", R"("a":1)"), given.options()),
              "#/$schema: the metaschemas of https://x.test/turn come to no end");
}

// STANDARD row 70
TEST(reference, each_resource_speaks_its_own_dialect) {
    const checked check(R"({"properties":{"a":{"$id":"https://x.test/old","items":[{"type":"null"}],
        "$schema":"http://json-schema.org/draft-07/schema#"},
        "b":{"prefixItems":[{"type":"null"}]}}})");
    EXPECT_FALSE(check(R"({"a":[1]})").ok);
    EXPECT_FALSE(check(R"({"b":[1]})").ok);
    EXPECT_TRUE(check(R"({"a":[null,1],"b":[null,1]})").ok);
    // Nobody refers to the unknown one.
    EXPECT_EQ(fault_of(R"({"$defs":{"a":{"$id":"x","$schema":"https://x.test/none"}}})"), "");
    EXPECT_NE(fault_of(R"({"$defs":{"a":{"$id":"x","$schema":"https://x.test/none"}},"$ref":"x"})"),
              "");
}

TEST(reference, pointers_reach_what_is_no_subschema_elsewhere) {
    const checked check(R"({"own":{"a/b":[{},{"type":"null","$ref":"#/own/c%25~0"}],
        "c%~":{"minLength":1}},"$ref":"#/own/a~1b/1"})");
    EXPECT_TRUE(check("null").ok);
    EXPECT_FALSE(check("1").ok);
    std::string wide = R"({"$defs":{"x":[)";
    for (int i = 0; i < 100; ++i) {
        wide += "{\"const\":" + std::to_string(i) + "},";
    }
    wide.back() = ']';
    const checked last(wide + R"(},"$ref":"#/$defs/x/99"})");
    EXPECT_TRUE(last("99").ok);
    EXPECT_FALSE(last("98").ok);
    EXPECT_NE(fault_of(wide + R"(},"$ref":"#/$defs/x/100"})"), "");
    EXPECT_NE(fault_of(wide + R"(},"$ref":"#/$defs/x/-"})"), "");
}

}  // namespace
}  // namespace pillion::schema_check
