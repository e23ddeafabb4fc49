#include <string>

#include <gtest/gtest.h>

#include <pillion/ask.hpp>

#include "mcp/client_call.hpp"

namespace pillion {
namespace {

TEST(ask, a_question_to_the_model_needs_little) {
    sample_request request(100);
    request.user("Hello");
    EXPECT_EQ(request.params_json(),
              R"({"messages":[{"role":"user","content":{"type":"text","text":"Hello"}}],)"
              R"("maxTokens":100})");
}

TEST(ask, a_conversation_keeps_its_order) {
    sample_request request(1);
    request.user("one").assistant("two").user_image(std::string_view("\x00\xff\x10", 3),
                                                    "image/png");
    EXPECT_EQ(request.params_json(),
              R"({"messages":[{"role":"user","content":{"type":"text","text":"one"}},)"
              R"({"role":"assistant","content":{"type":"text","text":"two"}},)"
              R"({"role":"user","content":{"type":"image","data":"AP8Q",)"
              R"("mimeType":"image/png"}}],"maxTokens":1})");
}

TEST(ask, whatever_is_wished_for_is_told) {
    sample_request request(7);
    request.system("Be brief").temperature(0.5).stop_at("\n").stop_at("END");
    request.hint("small").hint("any").prefer(0, 0.25, 1);
    EXPECT_EQ(request.params_json(),
              R"({"messages":[],"maxTokens":7,"systemPrompt":"Be brief","temperature":0.5,)"
              R"("stopSequences":["\n","END"],"modelPreferences":{)"
              R"("hints":[{"name":"small"},{"name":"any"}],)"
              R"("costPriority":0,"speedPriority":0.25,"intelligencePriority":1}})");
}

TEST(ask, hints_and_priorities_stand_alone) {
    sample_request hinted(1);
    hinted.hint("x");
    EXPECT_EQ(hinted.params_json(),
              R"({"messages":[],"maxTokens":1,"modelPreferences":{"hints":[{"name":"x"}]}})");
    sample_request preferring(1);
    preferring.prefer(1, 0, 0);
    EXPECT_EQ(preferring.params_json(),
              R"({"messages":[],"maxTokens":1,"modelPreferences":{)"
              R"("costPriority":1,"speedPriority":0,"intelligencePriority":0}})");
}

TEST(ask, a_temperature_of_zero_is_told) {
    sample_request request(1);
    request.temperature(0);
    EXPECT_EQ(request.params_json(), R"({"messages":[],"maxTokens":1,"temperature":0})");
}

TEST(ask, text_is_escaped) {
    sample_request request(1);
    request.user("\"\\\n\x01");
    EXPECT_EQ(request.params_json(),
              R"({"messages":[{"role":"user","content":{"type":"text","text":"\"\\\n\u0001"}}],)"
              R"("maxTokens":1})");
}

TEST(ask, a_form_without_fields) {
    EXPECT_EQ(elicit_request("m").form_schema(), R"({"type":"object","properties":{}})");
}

TEST(ask, fields_keep_their_order_and_some_are_required) {
    elicit_request form("Who?");
    form.required("name", string()).optional("age", integer().min(0)).required("ok", boolean());
    EXPECT_EQ(form.form_schema(),
              R"({"type":"object","properties":{"name":{"type":"string"},)"
              R"("age":{"type":"integer","minimum":0},"ok":{"type":"boolean"}},)"
              R"("required":["name","ok"]})");
    EXPECT_EQ(form.message(), "Who?");
    EXPECT_TRUE(form.url().empty());
}

TEST(ask, field_names_are_escaped) {
    elicit_request form("m");
    form.required("a\"b", string());
    EXPECT_EQ(form.form_schema(),
              R"({"type":"object","properties":{"a\"b":{"type":"string"}},"required":["a\"b"]})");
}

TEST(ask, a_page_has_an_address_and_no_fields) {
    const elicit_request page = elicit_request::page("Sign in", "https://example.com/");
    EXPECT_EQ(page.message(), "Sign in");
    EXPECT_EQ(page.url(), "https://example.com/");
}

TEST(ask, questions_have_a_time_limit) {
    using namespace std::chrono_literals;
    EXPECT_EQ(sample_request(1).time_limit(), 5min);
    EXPECT_EQ(elicit_request("m").time_limit(), 5min);
    sample_request request(1);
    EXPECT_EQ(request.limit(7ms).time_limit(), 7ms);
    elicit_request form("m");
    EXPECT_EQ(form.limit(2h).time_limit(), 2h);
}

TEST(ask, ids_name_their_shard) {
    const std::string tail(24, 'a');
    for (std::size_t shard = 0; shard < 256; ++shard) {
        constexpr char hex[] = "0123456789abcdef";
        const std::string id = std::string("q-") + hex[shard / 16] + hex[shard % 16] + tail;
        std::size_t found = 999;
        ASSERT_TRUE(mcp::client_call::parse_id(id, found)) << id;
        EXPECT_EQ(found, shard);
    }
}

TEST(ask, other_ids_are_none_of_ours) {
    const std::string good = "q-1f" + std::string(24, '0');
    std::size_t shard = 0;
    ASSERT_TRUE(mcp::client_call::parse_id(good, shard));
    for (std::size_t length = 0; length < good.size(); ++length) {
        EXPECT_FALSE(mcp::client_call::parse_id(good.substr(0, length), shard)) << length;
    }
    EXPECT_FALSE(mcp::client_call::parse_id(good + "0", shard));
    // The prefix and the shard; the rest is only ever compared.
    for (std::size_t at = 0; at < 4; ++at) {
        for (int c = 0; c < 256; ++c) {
            std::string bad = good;
            bad[at] = static_cast<char>(c);
            const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
            const bool fine = at < 2 ? bad == good : digit;
            EXPECT_EQ(mcp::client_call::parse_id(bad, shard), fine) << bad;
        }
    }
}

}  // namespace
}  // namespace pillion
