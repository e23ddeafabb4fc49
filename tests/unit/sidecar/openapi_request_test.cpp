// Parameters and bodies: src/sidecar/openapi_{parameters,body,shape,operation}.
#include <gtest/gtest.h>

#include "unit/sidecar/imported.hpp"

namespace pillion::sidecar {
namespace {

using namespace testing;
using places = std::vector<name_and_text>;

std::string parameters(std::string_view list) {
    return one_operation(",\"parameters\":[" + std::string(list) + "]");
}

TEST(openapi_request, the_path) {
    const imported_tool tool = only_tool(description(
        R"({"/users/{user-id}/x:{k}":{"get":{"parameters":[
            {"name":"user-id","in":"path","required":true,"schema":{"type":"integer"}},
            {"name":"k","in":"path","required":true,"schema":{"type":"string"}}]}}})"));
    EXPECT_EQ(tool.http.path, "/users/{user-id}/x:{k}");
    EXPECT_EQ(tool.http.method, "GET");
    EXPECT_EQ(input_of(tool, {"required"}), R"(["user-id","k"])");
    EXPECT_EQ(tool.operation, "GET /users/{user-id}/x:{k}");
    EXPECT_FALSE(takes(tool, R"({"user-id":"a","k":"b"})"));
    EXPECT_FALSE(takes(tool, R"({"user-id":1})"));
    EXPECT_FALSE(takes(tool, R"({"user-id":1,"k":"b","other":1})"));
}

TEST(openapi_request, a_place_that_nobody_describes) {
    const std::string text = description(R"({"/a/{b c}":{"get":{}}})");
    const imported_tool tool = only_tool(text);
    EXPECT_EQ(tool.http.path, "/a/{b_c}");
    EXPECT_EQ(input_of(tool, {"properties"}), R"({"b_c":{"type":"string"}})");
    EXPECT_EQ(input_of(tool, {"required"}), R"(["b_c"])");
    EXPECT_NE(report_of(text).find("no parameter describes {b c}"), std::string::npos);
}

TEST(openapi_request, paths_that_are_none) {
    for (const std::string path :
         {"a", "/a/../b", "/./b", "/..", "/a/%2e%2E/b", "/%zz", "/a?b=c", "/a#b", "/a b", "/{a",
          "/a}", "/{}", "/{a{b}}", "/\xC3\xA4", "//x\\u0000"}) {
        const std::string report = report_of(description("{\"" + path + "\":{\"get\":{}}}"));
        EXPECT_NE(report.find("skipped"), std::string::npos) << path;
    }
    EXPECT_NE(report_of(parameters(R"({"name":"p","in":"path"})")).find("no place in the path"),
              std::string::npos);
}

TEST(openapi_request, the_query) {
    const imported_tool tool = only_tool(parameters(
        R"({"name":"q","in":"query","schema":{"type":"string","nullable":true},"description":"d"},
           {"name":"filter[x]","in":"query","required":true,"schema":{"type":"boolean"}},
           {"name":"ids","in":"query","schema":{"type":"array","items":{"type":"integer"}}},
           {"name":"any","in":"query"},
           {"name":"u","in":"query","schema":{"description":"s"}})"));
    EXPECT_EQ(tool.http.query, (places{{"q", "{q}"},
                                       {"filter[x]", "{filter_x}"},
                                       {"ids", "{ids}"},
                                       {"any", "{any}"},
                                       {"u", "{u}"}}));
    EXPECT_EQ(input_of(tool, {"properties", "q"}), R"({"description":"d","type":"string"})");
    EXPECT_EQ(input_of(tool, {"properties", "u"}),
              R"({"description":"s","type":["string","number","boolean"]})");
    EXPECT_EQ(input_of(tool, {"required"}), R"(["filter_x"])");
    EXPECT_TRUE(takes(tool, R"({"filter_x":true,"ids":[1,2],"any":"a"})"));
    EXPECT_FALSE(takes(tool, R"({"filter_x":true,"q":null})"));
}

TEST(openapi_request, headers) {
    const std::string text = parameters(
        R"({"name":"X-Trace","in":"header","schema":{"type":"string"}},
           {"name":"Authorization","in":"header","required":true,"schema":{"type":"string"}},
           {"name":"Host","in":"header","schema":{"type":"string"}},
           {"name":"X-List","in":"header","schema":{"type":"array"}},
           {"name":"a b","in":"header","schema":{"type":"string"}})");
    EXPECT_EQ(only_tool(text).http.headers, (places{{"X-Trace", "{X-Trace}"}}));
    EXPECT_EQ(report_of(text),
              "POST /x: left out header parameter Authorization: arguments cannot set this header\n"
              "POST /x: left out header parameter Host: arguments cannot set this header\n"
              "POST /x: left out header parameter X-List: it is a list\n"
              "POST /x: left out header parameter a b: it is no name of a header\n");
}

TEST(openapi_request, what_cannot_be_said_is_left_out_or_makes_it_impossible) {
    for (const std::string what :
         {R"("in":"cookie","schema":{"type":"string"})", R"("in":"body","schema":{})",
          R"("in":"query","schema":{"type":"object"})",
          R"("in":"query","style":"deepObject","schema":{"type":"object"})",
          R"("in":"query","style":"pipeDelimited","schema":{"type":"array"})",
          R"("in":"query","explode":false,"schema":{"type":"array"})",
          R"("in":"query","schema":{"type":"array","items":{"type":"object"}})",
          R"("in":"query","schema":{"anyOf":[{"type":"string"},{"properties":{}}]})",
          R"("in":"query","schema":{"enum":["a",{}]})",
          R"("in":"query","content":{"application/json":{"schema":{}}})", R"("schema":{})"}) {
        const std::string name = R"({"name":"p",)" + what;
        EXPECT_NE(report_of(parameters(name + "}")).find("left out"), std::string::npos) << what;
        EXPECT_EQ(imported(parameters(name + "}")).tools.size(), 1U) << what;
        const openapi_import must = imported(parameters(name + R"(,"required":true})"));
        EXPECT_TRUE(must.tools.empty()) << what;
        ASSERT_EQ(must.notes.size(), 1U);
        EXPECT_NE(must.notes[0].reason.find("required"), std::string::npos) << what;
    }
    EXPECT_TRUE(imported(parameters(R"({"$ref":"#/components/parameters/none"})")).tools.empty());
    EXPECT_TRUE(imported(parameters("1")).tools.empty());
}

TEST(openapi_request, the_operation_overrides_its_path_item) {
    const imported_tool tool = only_tool(description(
        R"({"/x":{"parameters":[{"name":"a","in":"query","schema":{"type":"string"}},
                                {"name":"b","in":"query","schema":{"type":"string"}}],
                  "get":{"parameters":[{"$ref":"#/components/parameters/A"}]}}})",
        R"({"parameters":{"A":{"name":"a","in":"query","schema":{"type":"integer"}}}})"));
    EXPECT_EQ(tool.http.query, (places{{"a", "{a}"}, {"b", "{b}"}}));
    EXPECT_EQ(input_of(tool, {"properties", "a"}), R"({"type":"integer"})");
}

TEST(openapi_request, arguments_of_one_name_are_told_apart) {
    const imported_tool tool = only_tool(description(
        R"({"/x/{id}":{"put":{"parameters":[
              {"name":"id","in":"path","required":true,"schema":{"type":"string"}},
              {"name":"id","in":"query","schema":{"type":"string"}},
              {"name":"id","in":"header","schema":{"type":"string"}},
              {"name":"body","in":"query","schema":{"type":"string"}}],
            "requestBody":{"content":{"application/json":{}}}}}})"));
    EXPECT_EQ(tool.http.path, "/x/{id}");
    EXPECT_EQ(tool.http.query, (places{{"id", "{id_query}"}, {"body", "{body_query}"}}));
    EXPECT_EQ(tool.http.headers, (places{{"id", "{id_header}"}}));
    EXPECT_EQ(tool.http.body, "body");
}

TEST(openapi_request, a_body_of_json) {
    const imported_tool tool = only_tool(
        one_operation(R"(,"requestBody":{"$ref":"#/components/requestBodies/B"})",
                      R"({"requestBodies":{"B":{"description":"all","required":true,"content":{
             "multipart/form-data":{},"application/json; charset=utf-8":{"schema":
             {"type":"object","required":["a"]}}}}}})"));
    EXPECT_EQ(tool.http.sends, http_spec::body_kind::one);
    EXPECT_EQ(tool.http.body, "body");
    EXPECT_EQ(tool.http.content_type, "");
    EXPECT_EQ(input_of(tool, {"properties"}),
              R"({"body":{"description":"all","type":"object","required":["a"]}})");
    EXPECT_EQ(input_of(tool, {"required"}), R"(["body"])");
    EXPECT_EQ(input_of(only_tool(one_operation(R"(,"requestBody":{"content":{"*/*":{}}})")), {}),
              R"({"type":"object","properties":{"body":true},"required":[],)"
              R"("additionalProperties":false})");
    EXPECT_EQ(only_tool(one_operation(
                            R"(,"requestBody":{"content":{"application/merge-patch+json":{}}})"))
                  .http.content_type,
              "application/merge-patch+json");
}

TEST(openapi_request, a_form) {
    const std::string text = one_operation(
        R"(,"parameters":[{"name":"name","in":"query","schema":{"type":"string"}}],
            "requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":
              {"$ref":"#/components/schemas/F"},"encoding":{"e":{"contentType":"x/y"}}}}})",
        R"({"schemas":{"F":{"required":["name"],"properties":{"name":{"type":"string"},
            "a-[b]":{"type":"integer"},"list":{"type":"array"},"e":{"type":"string"},
            "id":{"readOnly":true}}}}})");
    const imported_tool tool = only_tool(text);
    EXPECT_EQ(tool.http.sends, http_spec::body_kind::form);
    EXPECT_EQ(tool.http.query, (places{{"name", "{name_query}"}}));
    EXPECT_EQ(input_of(tool, {"properties"}),
              R"({"name_query":{"type":"string"},"name":{"type":"string"},)"
              R"("a-[b]":{"type":"integer"}})");
    EXPECT_EQ(input_of(tool, {"required"}), R"(["name"])");
    EXPECT_EQ(report_of(text),
              "POST /x: left out: field list of its form is a list or an object\n"
              "POST /x: left out: field e of its form has an encoding of its own\n");
}

TEST(openapi_request, a_text) {
    const imported_tool tool = only_tool(one_operation(
        R"(,"requestBody":{"content":{"text/markdown":{"schema":{"type":"string"}}}})"));
    EXPECT_EQ(tool.http.sends, http_spec::body_kind::text);
    EXPECT_EQ(tool.http.body, "{body}");
    EXPECT_EQ(tool.http.content_type, "text/markdown");
    EXPECT_EQ(input_of(tool, {"required"}), R"(["body"])");
}

TEST(openapi_request, bodies_that_are_not_sent) {
    const auto report = [](std::string_view content) {
        return report_of(
            one_operation(R"(,"requestBody":{"content":)" + std::string(content) + "}"));
    };
    EXPECT_EQ(report(R"({"multipart/form-data":{}})"),
              "POST /x: skipped: its body can only be multipart/form-data, which is not sent\n");
    EXPECT_NE(report(R"({"a/b":{},"c/d":{},"e/f":{},"g/h":{}})").find("a/b, c/d, e/f, ..."),
              std::string::npos);
    EXPECT_NE(report("{}").find("no media type"), std::string::npos);
    EXPECT_NE(report(R"({"text/x\r\ny: z":{}})").find("skipped"), std::string::npos);
    EXPECT_NE(report(R"({"application/json":1})").find("skipped"), std::string::npos);
    EXPECT_NE(report(R"({"application/x-www-form-urlencoded":{"schema":{"allOf":[]}}})")
                  .find("not a plain object"),
              std::string::npos);
    EXPECT_NE(report(R"({"application/x-www-form-urlencoded":{"schema":{"properties":
                        {"a":{"type":"object"}},"required":["a"]}}})")
                  .find("required field a"),
              std::string::npos);
    const std::string get =
        description(R"({"/x":{"get":{"requestBody":{"content":{"application/json":{}}}}}})");
    EXPECT_EQ(only_tool(get).http.sends, http_spec::body_kind::none);
    EXPECT_EQ(report_of(get), "GET /x: left out: a body, which GET has not\n");
}

TEST(openapi_request, answers) {
    const imported_tool tool = only_tool(one_operation(
        R"(,"responses":{"200":{"content":{"text/html":{},"application/hal+json":{},
            "application/json":{}}},"404":{"$ref":"#/components/responses/None"},
            "4XX":{"description":"x"},"500":{"description":" a \n b "},"503":{},"304":
            {"description":"y"},"99999999999999999999":{"description":"z"}})",
        R"({"responses":{"None":{"description":"No such thing"}}})"));
    EXPECT_EQ(tool.http.headers, (places{{"accept", "application/json"}}));
    EXPECT_EQ(tool.http.errors, (std::map<int, std::string>{{404, "No such thing"}, {500, "a b"}}));
    EXPECT_TRUE(
        only_tool(one_operation(R"(,"responses":{"200":{"content":{"application/json;{x}":{}}}})"))
            .http.headers.empty());
    EXPECT_TRUE(
        only_tool(
            one_operation(R"(,"responses":{"200":{"content":{"application/json;\r\nA: b":{}}}})"))
            .http.headers.empty());
}

}  // namespace
}  // namespace pillion::sidecar
