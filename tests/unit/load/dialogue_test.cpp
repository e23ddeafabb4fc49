// Goal: several requests that are measured as one end as they should, and not before; what a server
// leaves out, or does twice, is an error.

#include "bench/load/dialogue.hpp"

#include <gtest/gtest.h>

#include "json/document.hpp"

namespace pillion::load {
namespace {

class dialogue_test : public ::testing::Test {
 protected:
    void begin(pattern how, revision rev, std::int64_t poll_ns = -1) {
        what.how = how;
        what.rev = rev;
        talk = make_dialogue(what, poll_ns);
        ASSERT_NE(talk, nullptr);
        talk->begin(call);
    }
    fault take(const std::string& result) {
        const auto parsed = json::document::parse(result);
        EXPECT_TRUE(parsed) << result;
        return talk->take(parsed->root()).what;
    }
    void hear(const std::string& message) {
        const auto parsed = json::document::parse(message);
        EXPECT_TRUE(parsed) << message;
        talk->hear(parsed->root());
    }
    void progress(const char* token, double value) {
        json::builder b;
        b.begin_object().member("method", "notifications/progress").key("params").begin_object();
        b.member("progressToken", token).member("progress", value).end_object().end_object();
        hear(std::string(b.text()));
    }

    scenario what;
    question call{action::tools_call, "t", R"({"a":1})"};
    std::unique_ptr<dialogue> talk;
};

constexpr const char* done = R"({"resultType":"complete","content":[]})";
constexpr const char* begun = R"({"resultType":"task","taskId":"x","status":"working"})";

TEST_F(dialogue_test, plain_scenarios_have_none) { EXPECT_EQ(make_dialogue(what, -1), nullptr); }

TEST_F(dialogue_test, progress_is_counted_and_must_rise) {
    begin(pattern::progress, revision::r2026_07_28);
    progress("p", 0);
    progress("p", 0.5);
    progress("other", 9);
    hear(R"({"method":"notifications/message","params":{}})");
    progress("p", 3);
    EXPECT_EQ(take(done), fault::none);
    EXPECT_EQ(talk->next(), nullptr);
    EXPECT_EQ(talk->events(), 3U);
    talk->begin(call);
    EXPECT_EQ(talk->events(), 0U);
    EXPECT_EQ(take(done), fault::incomplete);
    talk->begin(call);
    progress("p", 2);
    progress("p", 2);
    EXPECT_EQ(take(done), fault::wrong_shape);
    talk->begin(call);
    progress("p", 2);
    EXPECT_EQ(take(R"({"resultType":"complete","content":[],"isError":true})"), fault::tool_error);
}

TEST_F(dialogue_test, a_task_of_2026_07_28_is_looked_at_until_it_has_ended) {
    begin(pattern::tasks, revision::r2026_07_28);
    EXPECT_EQ(take(R"({"resultType":"task","taskId":"x","status":"working","pollIntervalMs":30})"),
              fault::none);
    for (int i = 0; i < 2; ++i) {
        const question* const look = talk->next();
        ASSERT_NE(look, nullptr);
        EXPECT_EQ(look->what, action::tasks_get);
        EXPECT_EQ(look->name, "x");
        EXPECT_EQ(talk->pause_ns(), 30'000'000);
        EXPECT_EQ(take(R"({"resultType":"complete","taskId":"x","status":"working",
                           "pollIntervalMs":30})"),
                  fault::none);
    }
    ASSERT_NE(talk->next(), nullptr);
    EXPECT_EQ(take(R"({"resultType":"complete","taskId":"x","status":"completed",
                       "result":{"resultType":"complete","content":[]}})"),
              fault::none);
    EXPECT_EQ(talk->next(), nullptr);
    EXPECT_EQ(talk->events(), 3U);
}

TEST_F(dialogue_test, ends_of_tasks) {
    const std::pair<const char*, fault> ends[] = {
        {R"("status":"completed","result":{"content":[],"isError":true})", fault::tool_error},
        {R"("status":"completed")", fault::wrong_shape},
        {R"("status":"failed","error":{"code":-32603,"message":"x"})", fault::rpc_error},
        {R"("status":"cancelled")", fault::tool_error},
        {R"("status":"melted")", fault::wrong_shape},
        {R"("nothing":1)", fault::wrong_shape},
    };
    for (const auto& [text, how] : ends) {
        begin(pattern::tasks, revision::r2026_07_28, 5);
        EXPECT_EQ(take(begun), fault::none);
        ASSERT_NE(talk->next(), nullptr);
        EXPECT_EQ(talk->pause_ns(), 5);
        EXPECT_EQ(take(std::string(R"({"resultType":"complete",)") + text + "}"), how) << text;
        EXPECT_EQ(talk->next(), nullptr) << text;
    }
    begin(pattern::tasks, revision::r2026_07_28);
    EXPECT_EQ(take(done), fault::incomplete);
    EXPECT_EQ(talk->next(), nullptr);
}

TEST_F(dialogue_test, the_result_of_a_task_of_2025_11_25_is_asked_for) {
    begin(pattern::tasks, revision::r2025_11_25, 5);
    EXPECT_EQ(take(R"({"content":[]})"), fault::incomplete);
    talk->begin(call);
    EXPECT_EQ(take(R"({"task":{"taskId":"x","status":"working"}})"), fault::none);
    ASSERT_NE(talk->next(), nullptr);
    EXPECT_EQ(take(R"({"taskId":"x","status":"completed"})"), fault::none);
    const question* const result = talk->next();
    ASSERT_NE(result, nullptr);
    EXPECT_EQ(result->what, action::tasks_result);
    EXPECT_EQ(talk->pause_ns(), 0);
    EXPECT_EQ(take(R"({"content":[]})"), fault::none);
    EXPECT_EQ(talk->next(), nullptr);
}

TEST_F(dialogue_test, questions_are_answered_and_the_call_is_made_again) {
    begin(pattern::rounds, revision::r2026_07_28);
    EXPECT_EQ(take(R"({"resultType":"input_required","requestState":"s\"1","inputRequests":{
                       "a":{"method":"elicitation/create","params":{"message":"?","requestedSchema":
                           {"type":"object","properties":{"name":{"type":"string"}},
                            "required":["name"]}}},
                       "b":{"method":"roots/list"},
                       "c":{"method":"sampling/createMessage","params":{}}}})"),
              fault::none);
    const question* const again = talk->next();
    ASSERT_NE(again, nullptr);
    EXPECT_EQ(again->name, "t");
    EXPECT_EQ(again->arguments, call.arguments);
    const auto more = json::document::parse("{" + again->more.substr(1) + "}");
    ASSERT_TRUE(more);
    const json::view answers = more->root()["inputResponses"];
    EXPECT_EQ(answers["a"]["action"].str(), "accept");
    EXPECT_TRUE(answers["a"]["content"]["name"].is_string());
    EXPECT_TRUE(answers["b"]["roots"].is_array());
    EXPECT_EQ(answers["c"]["role"].str(), "assistant");
    EXPECT_EQ(more->root()["requestState"].str(), "s\"1");
    EXPECT_EQ(take(done), fault::none);
    EXPECT_EQ(talk->next(), nullptr);
    EXPECT_EQ(talk->events(), 3U);
    // The next one begins without answers.
    talk->begin(call);
    EXPECT_EQ(take(done), fault::incomplete);
    talk->begin(call);
    EXPECT_EQ(take(R"({"resultType":"input_required"})"), fault::wrong_shape);
    EXPECT_EQ(talk->next(), nullptr);
}

// Each form is allowed; an answer of many large ones took what memory there was.
TEST_F(dialogue_test, a_server_that_asks_for_too_much_is_left) {
    begin(pattern::rounds, revision::r2026_07_28);
    std::string asked;
    for (int i = 0; i < 20; ++i) {
        asked += (i == 0 ? "\"" : ",\"") + std::to_string(i) +
                 R"(":{"method":"elicitation/create","params":{"requestedSchema":
                      {"type":"string","minLength":900000}}})";
    }
    EXPECT_EQ(take(R"({"resultType":"input_required","inputRequests":{)" + asked + "}}"),
              fault::incomplete);
    EXPECT_EQ(talk->next(), nullptr);
}

TEST_F(dialogue_test, a_server_that_never_has_enough_is_left) {
    begin(pattern::rounds, revision::r2026_07_28);
    fault how = fault::none;
    int rounds = 0;
    while (how == fault::none && rounds < 1000) {
        how = take(R"({"resultType":"input_required","requestState":"s"})");
        ++rounds;
    }
    EXPECT_EQ(how, fault::incomplete);
    EXPECT_EQ(talk->next(), nullptr);
}

}  // namespace
}  // namespace pillion::load
