// What a modern POST must satisfy, and in which order (REVISIONS §2.4, §5.7).
#include "mcp/modern_checks.hpp"

#include <gtest/gtest.h>

#include "base/base64.hpp"
#include "unit/mcp/world.hpp"

namespace pillion::mcp::testing {
namespace {

// A POST that is wrong in many ways; each step mends one of them.
struct post {
    std::string meta = R"("_meta":7)";
    header_list headers;
    std::string method = "nonsense";
    std::string params;

    std::string text() const {
        return http_request("POST", headers, message("1", method, joined(meta, params)));
    }
    void set(const char* name, const char* value) {
        for (auto& h : headers) {
            if (h.first == name) {
                h.second = value;
                return;
            }
        }
        headers.emplace_back(name, value);
    }
};

TEST(modern_checks, faults_are_found_in_the_order_of_the_specification) {
    world w;
    client& c = w.connect();
    post p;
    // Only the header makes it modern so far.
    p.set("MCP-Protocol-Version", "2026-07-28");
    const auto expect = [&](int status, int code, const char* what) {
        const http_reply r = c.ask(p.text());
        EXPECT_EQ(r.status, status) << what << ": " << r.body;
        EXPECT_EQ(parsed(r.body).code(), code) << what << ": " << r.body;
        EXPECT_EQ(parsed(r.body).id(), "1");
        EXPECT_FALSE(r.headers.contains("mcp-session-id"));
    };
    expect(400, -32602, "no _meta");
    p.meta = R"("_meta":{})";
    expect(400, -32602, "empty _meta");
    p.meta = R"("_meta":{"io.modelcontextprotocol/clientCapabilities":{}})";
    expect(400, -32602, "no version");
    p.meta = R"("_meta":{"io.modelcontextprotocol/protocolVersion":3,)"
             R"("io.modelcontextprotocol/clientCapabilities":{}})";
    expect(400, -32602, "the version is no string");
    p.meta = R"("_meta":{"io.modelcontextprotocol/protocolVersion":"v999"})";
    expect(400, -32602, "no capabilities");
    p.meta = R"("_meta":{"io.modelcontextprotocol/protocolVersion":"v999",)"
             R"("io.modelcontextprotocol/clientCapabilities":{}})";
    expect(400, -32020, "header and body name different versions");
    p.set("MCP-Protocol-Version", "v999");
    expect(400, -32022, "both name an unknown version");
    p.set("MCP-Protocol-Version", "2026-07-28");
    p.meta = modern_meta();
    expect(400, -32020, "no Mcp-Method");
    p.set("Mcp-Method", "Nonsense");
    expect(400, -32020, "Mcp-Method differs in case");
    p.set("Mcp-Method", "nonsense");
    expect(404, -32601, "unknown method");
    p.method = "tools/call";
    p.set("Mcp-Method", "tools/call");
    p.meta = modern_meta(R"("io.modelcontextprotocol/logLevel":"loud")");
    expect(400, -32020, "no Mcp-Name");
    p.params = call_params("located", R"("nothing")");
    p.set("Mcp-Name", "Located");
    expect(400, -32020, "Mcp-Name differs in case");
    p.set("Mcp-Name", "located");
    expect(200, -32602, "unknown log level");
    p.meta = modern_meta(R"("progressToken":1.5)");
    expect(200, -32602, "fractional progress token");
    p.meta = modern_meta();
    expect(200, -32602, "arguments are no object");
    p.params = call_params("located", R"({"region":"eu","count":42,"flag":true,"more":1})");
    expect(400, -32020, "no Mcp-Param-*");
    p.set("Mcp-Param-Region", "eu");
    p.set("Mcp-Param-Count", "42");
    p.set("Mcp-Param-Flag", "true");
    p.set("Mcp-Param-Stranger", "x");
    const http_reply misfit = c.ask(p.text());
    EXPECT_TRUE(parsed(misfit.body)["result"]["isError"].boolean()) << misfit.body;
    p.params = call_params("located", R"({"region":"eu","count":42,"flag":true})");
    EXPECT_EQ(parsed(c.ask(p.text()).body).text(), "there");
}

TEST(modern_checks, removed_and_unoffered_methods_are_404) {
    world w;
    client& c = w.connect();
    for (const char* method :
         {"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
          "tasks/result", "tasks/list", "tasks/get", "sampling/createMessage", ""}) {
        const http_reply r = c.ask(modern_post(method, "", modern_body("1", method)));
        EXPECT_EQ(r.status, 404) << method;
    }
}

struct name_row {
    std::string header;  // "-": none
    std::string name;    // JSON
    bool good;
};

TEST(modern_checks, mcp_name_is_compared_after_decoding) {
    const name_row rows[] = {
        {"test://a", R"("test://a")", true},
        {"=?base64?dGVzdDovL2E=?=", R"("test://a")", true},
        {"=?base64?dGVzdDovL2E?=", R"("test://a")", false},         // padding is required
        {"=?base64?dGVzdDovL2E=", R"("test://a")", false},          // a literal
        {"=?BASE64?dGVzdDovL2E=?=", R"("test://a")", false},        // markers keep their case
        {"=?base64?dGVzdDovL2E_?=", R"("test://a\u003f")", false},  // the URL alphabet
        {"=?base64?dGVz dDovL2E=?=", R"("test://a")", false},
        {"TEST://A", R"("test://a")", false},
        {"test://a", R"("test://a ")", false},
        {"test://a", R"(" test://a ")", false},
        {"-", R"("test://a")", false},
        {"", R"("test://a")", false},
        {"test://a", "7", false},
        {"test://\xC3\xA9", "\"test://\xC3\xA9\"", false},  // not plain ASCII: must be wrapped
    };
    world w;
    client& c = w.connect();
    for (const name_row& row : rows) {
        header_list h;
        if (row.header != "-") {
            h.emplace_back("Mcp-Name", row.header);
        }
        const http_reply r = c.ask(modern_post(
            "resources/read", "", modern_body("1", "resources/read", R"("uri":)" + row.name), h));
        EXPECT_EQ(r.status, row.good ? 200 : 400) << row.header << " " << r.body;
        EXPECT_EQ(parsed(r.body).code(), row.good ? 0 : -32020) << r.body;
    }
    const http_reply twice = c.ask(modern_post(
        "resources/read", "test://a", modern_body("1", "resources/read", R"("uri":"test://a")"),
        {{"Mcp-Name", "test://a"}}));
    EXPECT_EQ(twice.status, 400);
}

TEST(modern_checks, names_beyond_ascii_arrive_wrapped) {
    world_options o;
    o.more = [](server& s) {
        s.tool("=?base64?x?=").run([](context& ctx) { return ctx.text("wrapped"); });
        s.tool("t\xC3\xA9 \n").run([](context& ctx) { return ctx.text("accented"); });
    };
    world w(o);
    client& c = w.connect();
    const auto call = [&](std::string_view name, std::string_view json) {
        std::string text(64, '\0');
        text.resize(base::base64::encode(name, text.data()));
        return c.ask_message(modern_post("tools/call", "=?base64?" + text + "?=",
                                         modern_body("1", "tools/call", call_params(json, "{}"))));
    };
    EXPECT_EQ(call("=?base64?x?=", "=?base64?x?=").text(), "wrapped");
    EXPECT_EQ(call("t\xC3\xA9 \n", R"(t\u00e9 \n)").text(), "accented");
    EXPECT_EQ(call("\xFF", R"(\ufffd)").code(), -32020);  // not UTF-8
}

struct param_row {
    std::string header;  // "-": none
    std::string arguments;
    bool good;
};

void check_params(const char* name, const std::vector<param_row>& rows) {
    world w;
    client& c = w.connect();
    for (const param_row& row : rows) {
        header_list h;
        if (row.header != "-") {
            h.emplace_back(name, row.header);
        }
        const http_reply r = c.ask(
            modern_post("tools/call", "located",
                        modern_body("1", "tools/call", call_params("located", row.arguments)), h));
        EXPECT_EQ(r.status, row.good ? 200 : 400) << row.header << " for " << row.arguments;
        EXPECT_EQ(parsed(r.body).code(), row.good ? 0 : -32020) << row.header << r.body;
    }
}

TEST(modern_checks, string_parameters) {
    check_params("mCP-pARAM-rEGION", {
                                         {"eu", R"({"region":"eu"})", true},
                                         {"EU", R"({"region":"eu"})", false},
                                         {"", R"({"region":""})", true},
                                         {"-", R"({"region":""})", false},
                                         {"-", "{}", true},
                                         {"eu", "{}", false},
                                         {"=?base64?w6k=?=", R"({"region":"\u00e9"})", true},
                                         {"=?base64?IHgg?=", R"({"region":" x "})", true},
                                         {"x", R"({"region":" x "})", false},
                                         {"=?base64?", R"({"region":"=?base64?"})", true},
                                         {"=?base64?x?=", R"({"region":"=?base64?x?="})", false},
                                         {"a b\tc", R"({"region":"a b\tc"})", true},
                                     });
}

TEST(modern_checks, integer_parameters_compare_as_numbers) {
    check_params("Mcp-Param-Count",
                 {
                     {"42", R"({"count":42})", true},
                     {"42.0", R"({"count":42})", true},
                     {"4.2e1", R"({"count":42})", true},
                     {"42", R"({"count":42.0})", true},
                     {"420E-1", R"({"count":42})", true},
                     {"-0", R"({"count":0})", true},
                     {"42.5", R"({"count":42})", false},
                     {"43", R"({"count":42})", false},
                     {"", R"({"count":0})", false},
                     {"0x2a", R"({"count":42})", false},
                     {"42 1", R"({"count":42})", false},
                     {"9007199254740991", R"({"count":9007199254740991})", true},
                     {"-9007199254740991", R"({"count":-9007199254740991})", true},
                     {"9007199254740992", R"({"count":9007199254740992})", false},
                     {"1e400", R"({"count":1})", false},
                     {"42", "{}", false},
                     {"-", "{}", true},
                 });
}

TEST(modern_checks, boolean_parameters_are_words) {
    check_params("Mcp-Param-Flag", {
                                       {"true", R"({"flag":true})", true},
                                       {"false", R"({"flag":false})", true},
                                       {"True", R"({"flag":true})", false},
                                       {"1", R"({"flag":true})", false},
                                       {"false", R"({"flag":true})", false},
                                       {"-", R"({"flag":false})", false},
                                   });
}

TEST(modern_checks, null_arguments_have_no_header) {
    world_options o;
    o.more = [](server& s) {
        s.tool("open")
            .input(schema::raw(R"({"type":"object","properties":{"a":{"type":["string","null"]},)"
                               R"("in":{"type":"object","properties":)"
                               R"({"b":{"type":"string","x-mcp-header":"B"}}}}})"))
            .run([](context& ctx) { return ctx.text("ok"); });
    };
    world w(o);
    client& c = w.connect();
    const auto call = [&](const char* arguments, header_list h) {
        return c
            .ask(modern_post("tools/call", "open",
                             modern_body("1", "tools/call", call_params("open", arguments)),
                             std::move(h)))
            .status;
    };
    EXPECT_EQ(call(R"({"in":{"b":"x"}})", {{"Mcp-Param-B", "x"}}), 200);
    EXPECT_EQ(call(R"({"in":{"b":"x"}})", {}), 400);
    EXPECT_EQ(call(R"({"in":{"b":null}})", {{"Mcp-Param-B", "x"}}), 400);
    EXPECT_EQ(call(R"({"in":7})", {}), 200);
    EXPECT_EQ(call(R"({"b":"x"})", {}), 200);
}

TEST(modern_checks, an_unknown_tool_is_told_before_its_parameters) {
    world w;
    const http_reply r = w.connect().ask(modern_post(
        "tools/call", "nobody", modern_body("1", "tools/call", call_params("nobody", "{}")),
        {{"Mcp-Param-Region", "eu"}}));
    EXPECT_EQ(r.status, 200);
    EXPECT_EQ(parsed(r.body).code(), -32602);
}

TEST(modern_checks, decoding_takes_markers_only_in_pairs) {
    base::chunk_pool pool;
    base::arena memory(pool);
    std::string_view out;
    for (const char* literal : {"", "=?base64?", "?=", "=?base64?=", "x=?base64?QQ==?=",
                                "=?base64?QQ==?=x", "=?Base64?QQ==?="}) {
        EXPECT_TRUE(decode_mirrored(literal, memory, out));
        EXPECT_EQ(out, literal);
    }
    EXPECT_TRUE(decode_mirrored("=?base64?\?=", memory, out));
    EXPECT_EQ(out, "");
    for (const char* bad : {"=?base64?Q?=", "=?base64?QQ?=", "=?base64?QQ=?=", "=?base64?Q===?=",
                            "=?base64?QR==?=", "=?base64?/w==?=", "=?base64?Q Q=?="}) {
        EXPECT_FALSE(decode_mirrored(bad, memory, out)) << bad;
    }
}

}  // namespace
}  // namespace pillion::mcp::testing
